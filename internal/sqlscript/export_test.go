package sqlscript

import (
	"io"
	"iter"

	"github.com/keyfill/keyfill/dialect"
)

// StatementsOf is Statements with another limit for the bytes of a statement.
func StatementsOf(d *dialect.Dialect, r io.Reader, most int) iter.Seq2[Statement, error] {
	return statements(d, r, most)
}
