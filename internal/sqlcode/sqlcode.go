// Package sqlcode finds, in an error of any driver, the code that the engine gave it: an
// SQLSTATE or a number. The texts of errors are in the language of the server or of the
// login, and do not identify an error.
//
// A driver is recognised by the methods and fields of its errors, so that a fork or a
// wrapper of it is recognised too:
//
//	SQLState() string       pgx v4 and v5, lib/pq, and others for PostgreSQL
//	SQLErrorNumber() int32  go-mssqldb
//	MySQLError.Number       go-sql-driver/mysql
//	Code() int              modernc.org/sqlite, glebarez/go-sqlite, godror
//	ExtendedCode()          ncruces/go-sqlite3
//	ExtendedCode, Code      the fields of mattn/go-sqlite3
//	ErrCode                 the field of go-ora
//
// Fields are read by reflection, since the module depends on no driver.
//
// # Caveats
//
// The meaning of a code depends on the engine: see package dialect.
package sqlcode

import (
	"reflect"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Code is the engine's code of an error.
type Code struct {
	State  string // the SQLSTATE; empty if the driver reports none
	Number int    // the engine's number, which is the extended code of SQLite; zero if the driver reports none
	Index  string // the constraint or unique index, if the driver reports it apart from the text

	// Lost is true if the code is about the connection (SQLSTATE class 08, the codes of
	// MySQL's client library that a proxy passes on): it is then not known whether the
	// statement has had an effect.
	Lost bool

	// Limit is the limit of the server or the user that was reached.
	Limit Limit
}

// Limit is a limit of a server or a user that an error is about.
type Limit uint8

// The limits.
const (
	NoLimit         Limit = iota
	LimitConnection       // the number of connections at a time
	LimitHourly           // a user's limit in an hour, on MySQL and MariaDB
	LimitDisk             // the server's storage: a disk is full
)

// Of returns the code of err, or of the first error in its tree that has a code, and
// reports whether there is one. err may be nil.
func Of(err error) (Code, bool) {
	for err != nil {
		if c, ok := own(err); ok {
			return c, true
		}
		switch u := err.(type) {
		case interface{ Unwrap() error }:
			err = u.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range u.Unwrap() {
				if c, ok := Of(e); ok {
					return c, true
				}
			}
			return Code{}, false
		default:
			return Code{}, false
		}
	}
	return Code{}, false
}

// Answered reports whether err is the engine's answer to a statement, and not a broken
// connection. A statement that failed so has stored nothing, if the engine's statements are
// atomic.
func Answered(err error) bool {
	c, ok := Of(err)
	return ok && !c.Lost
}

// ClassOf returns the class of an error on an engine, such as [dialect.ErrorLock].
func ClassOf(d *dialect.Dialect, err error) dialect.ErrorClass {
	c, ok := Of(err)
	if !ok {
		return dialect.ErrorOther
	}
	class := c.Class(d)
	if class == dialect.ErrorOther && d.Errors.Generic != 0 && c.Number == d.Errors.Generic {
		class = d.Errors.Class(c.State, c.Number, err.Error())
	}
	if class == dialect.ErrorOther && c.Lost {
		class = dialect.ErrorPassing
	}
	return class
}

// Class returns the class of the code on an engine.
func (c Code) Class(d *dialect.Dialect) dialect.ErrorClass {
	return d.Errors.Class(c.State, c.Number, "")
}

// own returns the code of err itself. It does not look at errors that err wraps.
func own(err error) (Code, bool) {
	switch e := err.(type) {
	case *ConnectError:
		return e.Code, e.Answered
	case interface{ SQLState() string }:
		state := e.SQLState()
		return Code{State: state, Index: index(err), Limit: limitOfState(state), Lost: strings.HasPrefix(state, "08") || state == "40003"}, state != ""
	case interface{ SQLErrorNumber() int32 }:
		return Code{Number: int(e.SQLErrorNumber())}, true
	}
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return Code{}, false
		}
		v = v.Elem()
	}
	switch t := v.Type(); {
	case strings.Contains(t.PkgPath(), "sqlite"):
		n, ok := sqliteCode(err, v)
		return Code{Number: n}, ok
	case v.Kind() != reflect.Struct:
		return Code{}, false
	case t.Name() == "MySQLError":
		n, ok := integer(v.FieldByName("Number"))
		return Code{Number: n, Lost: mysqlLost(n), Limit: mysqlLimit(n, err.Error())}, ok
	case t.Name() == "OracleError", strings.Contains(t.PkgPath(), "godror"):
		n, ok := integer(v.FieldByName("ErrCode"))
		if coded, is := err.(interface{ Code() int }); is {
			n, ok = coded.Code(), true
		}
		return Code{Number: n, Lost: slices.Contains(oracleLost, n)}, ok && n != 0
	}
	return Code{}, false
}

// mysqlLost reports whether a number is one of MySQL's client library. A proxy that has
// lost its server in the middle of a statement passes such an error on.
func mysqlLost(n int) bool { return 2000 <= n && n < 3000 }

// mysqlLimit returns the limit that an error of MySQL or MariaDB is about. Error 1226 is
// for several limits, whose names are in its text in every language.
func mysqlLimit(n int, text string) Limit {
	switch {
	case n == 1040, n == 1203, n == 1226 && strings.Contains(text, "'max_user_connections'"):
		return LimitConnection
	case n == 1226:
		return LimitHourly
	case n == 1021, n == 1114, strings.Contains(text, "(errno: 28 "), strings.Contains(text, "(errno: 135 "), strings.Contains(text, "(Errcode: 28 "):
		return LimitDisk // ENOSPC or HA_ERR_RECORD_FILE_FULL, inside an error about a file
	}
	return NoLimit
}

// limitOfState returns the limit that an SQLSTATE of PostgreSQL is about.
func limitOfState(state string) Limit {
	switch state {
	case "53300": // too_many_connections
		return LimitConnection
	case "53100": // disk_full
		return LimitDisk
	}
	return NoLimit
}

// oracleLost are ORA-03113 and other errors after which a connection is broken.
var oracleLost = []int{28, 3113, 3114, 3135, 12537, 12547, 12570}

// sqliteCode returns the extended code of SQLite, or the primary one if the driver has no
// extended code. An error may be the code itself: ErrNo of mattn/go-sqlite3, ErrorCode of
// ncruces/go-sqlite3.
func sqliteCode(err error, v reflect.Value) (int, bool) {
	if coded, ok := err.(interface{ Code() int }); ok {
		return coded.Code(), true
	}
	if n, ok := integer(v); ok {
		return n, true
	}
	if m := reflect.ValueOf(err).MethodByName("ExtendedCode"); m.IsValid() && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
		return integer(m.Call(nil)[0])
	}
	if v.Kind() != reflect.Struct {
		return 0, false
	}
	n, ok := integer(v.FieldByName("ExtendedCode"))
	if !ok || n == 0 {
		n, ok = integer(v.FieldByName("Code"))
	}
	return n, ok
}

// integer returns the value of an integer of any type.
func integer(v reflect.Value) (int, bool) {
	switch {
	case !v.IsValid():
		return 0, false
	case v.CanInt():
		return int(v.Int()), true
	case v.CanUint():
		return int(v.Uint()), true
	}
	return 0, false
}

// index returns the constraint that an error of PostgreSQL is about: pgconn calls
// the field ConstraintName, lib/pq Constraint.
func index(err error) string {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return ""
	}
	for _, name := range []string{"ConstraintName", "Constraint"} {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
	}
	return ""
}

// Is reports whether err is the engine's error with the given number.
func Is(err error, number int) bool {
	code, ok := Of(err)
	return ok && code.Number == number
}
