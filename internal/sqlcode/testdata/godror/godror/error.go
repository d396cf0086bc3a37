// Package godror has the error of godror, by what it has.
package godror

// OraErr is an error of Oracle's, whose number its method tells alone.
type OraErr struct{ N int }

func (e *OraErr) Error() string { return "godror" }

// Code returns the number.
func (e *OraErr) Code() int { return e.N }
