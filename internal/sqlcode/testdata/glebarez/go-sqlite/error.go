// Package sqlite has the error of glebarez/go-sqlite, by what it has.
package sqlite

// Error is a result code of SQLite's, the extended one.
type Error struct{ N int }

func (e *Error) Error() string { return "glebarez" }

// Code returns the extended code.
func (e *Error) Code() int { return e.N }
