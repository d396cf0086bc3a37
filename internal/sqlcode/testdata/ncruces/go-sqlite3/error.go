// Package sqlite3 has the errors of ncruces/go-sqlite3, by what they have.
package sqlite3

// ErrorCode and ExtendedErrorCode are result codes of SQLite's, and errors themselves.
type (
	ErrorCode         uint8
	ExtendedErrorCode uint16
)

func (ErrorCode) Error() string         { return "ncruces" }
func (ExtendedErrorCode) Error() string { return "ncruces" }

// Error holds the extended code, of which the primary one is a part.
type Error struct{ N uint16 }

func (e *Error) Error() string { return "ncruces" }

// Code returns the primary code.
func (e *Error) Code() ErrorCode { return ErrorCode(e.N) }

// ExtendedCode returns the extended code.
func (e *Error) ExtendedCode() ExtendedErrorCode { return ExtendedErrorCode(e.N) }
