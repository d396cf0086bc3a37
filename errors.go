package keyfill

import (
	"errors"
	"fmt"
	"strings"
)

// Error says that an INSERT into a configured table was not sent, or that a key
// could not be made. Its text never holds a key, an argument or the query.
//
// errors.Is finds the cause: a [rewrite.Reason], an error of this package or of
// package keysource, or the error of the context.
type Error struct {
	Table  string // the name that the policy matched; "" when no table is concerned
	Column string // the key column; "" when none is concerned
	Offset int    // the place in the query, in bytes from 0; -1 when there is none
	Err    error  // the cause, never nil
}

// Error returns one line, for example
//
//	keyfill: table "orders": byte 42: the INSERT has no column list …
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
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// newError makes an Error, unless err is one.
func newError(table, column string, offset int, err error) error {
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	return &Error{Table: table, Column: column, Offset: offset, Err: err}
}
