package sqllog

import (
	"bufio"
	"io"

	"github.com/keyfill/keyfill/internal/anchor"
)

// lines reads the lines of a log.
type lines struct {
	r      *bufio.Reader
	most   int // the greatest length of a message in bytes
	number int // the number of the line that was read last, from 1
	long   []byte
	again  []byte // a line that next returns once more; nil if there is none
}

func newLines(r io.Reader, most int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 256<<10), most: most}
}

// next returns the next line with its line end, or io.EOF. The line is valid until the next
// call.
func (l *lines) next() ([]byte, error) {
	if line := l.again; line != nil {
		l.again = nil
		l.number++
		return line, nil
	}
	line, err := l.r.ReadSlice('\n')
	l.number++
	if err == nil {
		return line, nil
	}
	l.long = append(l.long[:0], line...)
	for err == bufio.ErrBufferFull {
		if len(l.long) > l.most {
			return nil, l.tooLong(l.number)
		}
		line, err = l.r.ReadSlice('\n')
		l.long = append(l.long, line...)
	}
	if err == io.EOF && len(l.long) > 0 {
		err = nil
	}
	return l.long, err
}

// back makes next return the given line again, which it has returned last.
func (l *lines) back(line []byte) {
	l.again = line
	l.number--
}

// grow appends piece to a message. begun is the line in which the message begins.
func (l *lines) grow(message, piece []byte, begun int) ([]byte, error) {
	if len(message)+len(piece) > l.most {
		return nil, l.tooLong(begun)
	}
	return append(message, piece...), nil
}

func (l *lines) tooLong(line int) error {
	return anchor.Errorf("command", "line %d: the message that begins here is longer than %d bytes: cut it out, or say the right --format", line, l.most)
}

// withoutEnd returns a line without its line end.
func withoutEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}
