package sqllog

import (
	"io"
	"iter"
)

// StatementsOf is Statements with another limit for the bytes of a message.
func StatementsOf(f Format, r io.Reader, most int) iter.Seq2[Statement, error] {
	return statements(f, r, most)
}
