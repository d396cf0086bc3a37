package keyfill

//row:changes | the text of an error | beside its code, or `errors.go`; of a refusal `rewrite/errors.go`

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/rewrite"
)

// Error means that an INSERT into a configured table was not sent, or that a key could
// not be made. Its text never holds a key, an argument or the query.
//
// The text ends in the section of docs/errors.md that explains the cause and the cure.
//
// errors.Is finds the cause: a [rewrite.Reason], an error of this package or of package
// keysource, or the error of the context.
type Error struct {
	Table  string // the name that the policy matched; empty if no table is concerned
	Column string // the key column; empty if no column is concerned
	Offset int    // the place in the query, in bytes from 0; -1 if it is not known
	Err    error  // the cause of the Error, never nil
}

// Error returns one line, for example
//
//	keyfill: table "orders": byte 42: the INSERT has no column list … [docs/errors.md#no_column_list]
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("keyfill: ")
	if e.Table != "" {
		fmt.Fprintf(&b, "table %q: ", e.Table)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, "byte %d: ", e.Offset)
	}
	b.WriteString(strings.TrimPrefix(e.Err.Error(), "keyfill: "))
	return anchor.Mark(b.String(), sectionOf(e.Err))
}

// sectionOf returns the section of docs/errors.md for the cause of an Error.
func sectionOf(err error) string {
	var reason rewrite.Reason
	if errors.As(err, &reason) {
		return string(reason)
	}
	return cmp.Or(anchor.Of(err), anchor.Marked(err.Error()), anchor.Beneath)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// newError returns an Error with err as its cause, or err itself if it has an Error
// already.
func newError(table, column string, offset int, err error) error {
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	return &Error{Table: table, Column: column, Offset: offset, Err: err}
}
