package sqlscript

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/anchor"
)

// leastRead is the least number of bytes that the reader is asked for at a time.
const leastRead = 64 << 10

// window is the part of a script that is in memory: everything from the beginning of the
// current statement on, or from pos on if no statement has begun.
type window struct {
	r    io.Reader
	text string
	base int64 // the offset of text in the script
	done bool  // whether the reader has no more bytes

	pos   int // the offset in text up to which it was read
	start int // the offset of the statement in text; -1 if none has begun

	line      int  // the number of the line that pos is in, from 1
	lineStart bool // whether only white space precedes pos in its line
}

// first reads the beginning of the script, and skips a byte order mark of UTF-8.
func (w *window) first() error {
	if err := w.more(); err != nil {
		return err
	}
	if strings.HasPrefix(w.text, "\xff\xfe") || strings.HasPrefix(w.text, "\xfe\xff") {
		return anchor.New("command", "the file is UTF-16: write it as UTF-8")
	}
	if mark := string(utf8.AppendRune(nil, 0xFEFF)); strings.HasPrefix(w.text, mark) {
		w.pos = len(mark)
	}
	return nil
}

// more reads more of the script: as many bytes as are kept, so that each byte is copied
// only a few times. It drops the text before the current statement.
func (w *window) more() error {
	keep := w.pos
	if w.start >= 0 {
		keep = w.start
	}
	rest := w.text[keep:]
	buffer := make([]byte, len(rest)+max(leastRead, len(rest)))
	copy(buffer, rest)
	n := len(rest)
	for n < len(buffer) && !w.done {
		got, err := w.r.Read(buffer[n:])
		n += got
		if err == io.EOF {
			w.done = true
		} else if err != nil {
			return err
		}
	}
	w.text = string(buffer[:n])
	w.base += int64(keep)
	w.pos -= keep
	if w.start >= 0 {
		w.start = 0
	}
	return nil
}

// ensure reads more of the script until n bytes follow pos, or the script ends.
func (w *window) ensure(n int) error {
	for len(w.text)-w.pos < n && !w.done {
		if err := w.more(); err != nil {
			return err
		}
	}
	return nil
}

// consume moves pos by n bytes.
func (w *window) consume(n int) {
	piece := w.text[w.pos : w.pos+n]
	w.pos += n
	if i := strings.LastIndexByte(piece, '\n'); i >= 0 {
		w.line += strings.Count(piece, "\n")
		w.lineStart = isBlank(piece[i+1:])
	} else if !isBlank(piece) {
		w.lineStart = false
	}
}

// restOfLine consumes the line that pos is in, from pos on. It returns the beginning of the
// consumed text, without the line end.
func (w *window) restOfLine() (string, error) {
	if err := w.ensure(leastRead); err != nil {
		return "", err
	}
	begin := ""
	for n := 0; ; n++ {
		rest := w.text[w.pos:]
		i := strings.IndexByte(rest, '\n')
		if i >= 0 {
			rest = rest[:i+1]
		}
		if n == 0 {
			begin = strings.Clone(strings.TrimRight(rest, "\r\n"))
		}
		w.consume(len(rest))
		if i >= 0 || w.done && w.pos == len(w.text) {
			return begin, nil
		}
		if err := w.more(); err != nil {
			return "", err
		}
	}
}

// isBlank reports whether a piece of text is white space.
func isBlank(piece string) bool { return strings.Trim(piece, " \t\r\n\f\v") == "" }

// isLine reports whether the line has only white space, digits and a comment after the n
// bytes at pos.
func (w *window) isLine(n int) (bool, error) {
	if err := w.ensure(n + 256); err != nil {
		return false, err
	}
	line, _, _ := strings.Cut(w.text[w.pos+n:], "\n")
	line = strings.Trim(line, " \t\r0123456789")
	return line == "" || strings.HasPrefix(line, "--"), nil
}
