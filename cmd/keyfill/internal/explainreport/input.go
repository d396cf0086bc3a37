package explainreport

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqllog"
	"github.com/keyfill/keyfill/internal/sqlscript"
)

// FormatSQL is the format of a file of statements.
const FormatSQL = "sql"

// LogFormats returns the formats of logs that are read.
func LogFormats() (names []string) {
	for _, one := range sqllog.Formats() {
		names = append(names, string(one))
	}
	return names
}

// standardInput is the name of standard input in -f and in the output.
const standardInput = "-"

// inputStatement is one statement of an input.
type inputStatement struct {
	file string
	line int
	text string
	log  bool // whether the text is from a log, so that it may hold users' data
}

// where returns the place of a statement.
func (s *inputStatement) where() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

// input reads the statements of files, of which standard input may be one.
type input struct {
	files   []string
	format  string
	dialect *dialect.Dialect
	stdin   io.Reader
	read    atomic.Int64 // bytes
}

// size returns how many bytes the files have together, 0 if that is not known.
func (i *input) size() (total int64) {
	for _, name := range i.files {
		info, err := os.Stat(name)
		if file, is := i.stdin.(*os.File); is && name == standardInput {
			info, err = file.Stat()
		}
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		total += info.Size()
	}
	return total
}

// statements yields the statements of all files. It stops after an error.
func (i *input) statements() iter.Seq2[inputStatement, error] {
	return func(yield func(inputStatement, error) bool) {
		for _, name := range i.files {
			if !i.file(name, yield) {
				return
			}
		}
	}
}

// file yields the statements of a file, and reports whether to read the next file.
func (i *input) file(name string, yield func(inputStatement, error) bool) bool {
	source := i.stdin
	if name != standardInput {
		file, err := os.Open(name)
		if err != nil {
			yield(inputStatement{}, fmt.Errorf("-f: %w", err))
			return false
		}
		defer file.Close()
		source = file
	}
	r, format, err := i.opened(source)
	if err != nil {
		yield(inputStatement{}, fmt.Errorf("%s: %w", name, unpackError(err)))
		return false
	}
	if err := i.speaks(format); err != nil {
		yield(inputStatement{}, fmt.Errorf("%s: %w", name, err))
		return false
	}
	if format == "" || format == FormatSQL {
		for one, err := range sqlscript.Statements(i.dialect, r) {
			if err != nil {
				err = fmt.Errorf("%s: %w", name, unpackError(err))
			}
			if !yield(inputStatement{name, one.Line, one.Text, false}, err) || err != nil {
				return false
			}
		}
		return true
	}
	for one, err := range sqllog.Statements(sqllog.Format(format), r) {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, unpackError(err))
		}
		if !yield(inputStatement{name, one.Line, one.Text, true}, err) || err != nil {
			return false
		}
	}
	return true
}

// opened returns a reader of the text of a file, and the file's format.
func (i *input) opened(source io.Reader) (r *bufio.Reader, format string, err error) {
	if r, err = plainText(&countingReader{source, &i.read}); err != nil || i.format != "" {
		return r, i.format, err
	}
	head, err := r.Peek(headSize)
	if err != nil && err != io.EOF {
		return nil, "", err
	}
	if first, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n")); bytes.HasPrefix(first, []byte("{")) && bytes.Contains(first, []byte(`"sql"`)) {
		return nil, "", usage.Errorf("this is JSON, a request in each line: say --json, and give it on standard input")
	}
	return r, string(sqllog.Detect(head)), nil
}

// writers maps the format of a log to the engine whose servers write it.
var writers = map[sqllog.Format]struct {
	dialect *dialect.Dialect
	title   string
}{
	sqllog.CSV:     {dialect.PostgreSQL(), "PostgreSQL"},
	sqllog.JSON:    {dialect.PostgreSQL(), "PostgreSQL"},
	sqllog.Stderr:  {dialect.PostgreSQL(), "PostgreSQL"},
	sqllog.General: {dialect.MySQL(), "MySQL or MariaDB"},
	sqllog.Slow:    {dialect.MySQL(), "MySQL or MariaDB"},
}

// speaks returns an error if only servers of another engine write logs of the format: what
// is a string in that engine's log may be a name in the policy's dialect, so that users'
// data would not be masked.
func (i *input) speaks(format string) error {
	writer, isLog := writers[sqllog.Format(format)]
	if !isLog || writer.dialect.SharesFamily(i.dialect) {
		return nil
	}
	return fmt.Errorf("a log of the format %s is of %s, and the dialect is %s: take the policy of that server, or say the right --format", format, writer.title, i.dialect.Name)
}

// headSize is how many bytes of an input are read to detect its format.
const headSize = 64 << 10

// plainText returns a reader of the text of a file. It unpacks a file that gzip has
// compressed, as programs that rotate logs do.
func plainText(r io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, headSize)
	magic, err := b.Peek(2)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if string(magic) != "\x1f\x8b" {
		return b, nil
	}
	unpacked, err := gzip.NewReader(b)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(unpacked, headSize), nil
}

// unpackError explains the error of reading a compressed file that is truncated or changed.
// It returns other errors as they are.
func unpackError(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt) {
		return errors.New("gzip cannot unpack the file, which is cut off or changed: take a whole copy")
	}
	return err
}

// countingReader counts the bytes that are read.
type countingReader struct {
	r    io.Reader
	read *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// argumentInput yields the whole argument as one statement, as it would be sent.
func argumentInput(text string) iter.Seq2[inputStatement, error] {
	return func(yield func(inputStatement, error) bool) {
		if strings.TrimSpace(text) != "" {
			yield(inputStatement{file: standardInput, line: 1, text: text}, nil)
		}
	}
}
