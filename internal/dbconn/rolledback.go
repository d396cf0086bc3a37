package dbconn

import (
	"errors"
	"reflect"
	"strings"
)

// Numbers of errors by which an engine has rolled back a transaction that may
// succeed when it is made again, where its driver's errors have no SQLSTATE.
var (
	// A deadlock, or on a Galera cluster another node's transaction; a row that was
	// changed since the snapshot; a group that did not certify the transaction:
	// https://mariadb.com/kb/en/mariadb-error-code-reference/, MySQL 8.4 Error
	// Reference, 3101.
	rolledBackMySQL = map[int64]bool{1213: true, 1020: true, 3101: true}

	// The victim of a deadlock; a conflict under SNAPSHOT.
	rolledBackSQLServer = map[int64]bool{1205: true, 3960: true}

	// A deadlock; a transaction that cannot be serialized.
	rolledBackOracle = map[int64]bool{60: true, 8177: true}
)

// errorNumbers are the fields in which drivers' errors keep their number, by the
// type of the error, and the numbers that count.
var errorNumbers = map[string]struct {
	field   string
	numbers map[int64]bool
}{
	"github.com/go-sql-driver/mysql.MySQLError":      {"Number", rolledBackMySQL},
	"github.com/sijms/go-ora/v2/network.OracleError": {"ErrCode", rolledBackOracle},
}

// RolledBack reports whether the engine has answered that it rolled a transaction
// back for the sake of others, so that nothing of it has happened and it may be
// made again: SQLSTATE class 40, or the engine's number of such an error.
func RolledBack(err error) bool {
	if err == nil {
		return false
	}
	var stated interface{ SQLState() string }
	if errors.As(err, &stated) {
		return strings.HasPrefix(stated.SQLState(), "40")
	}
	var numbered interface{ SQLErrorNumber() int32 }
	if errors.As(err, &numbered) {
		return rolledBackSQLServer[int64(numbered.SQLErrorNumber())]
	}
	for ; err != nil; err = errors.Unwrap(err) {
		v := reflect.ValueOf(err)
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			continue
		}
		known, ok := errorNumbers[v.Type().PkgPath()+"."+v.Type().Name()]
		if !ok {
			continue
		}
		switch n := v.FieldByName(known.field); {
		case n.CanInt():
			return known.numbers[n.Int()]
		case n.CanUint():
			return known.numbers[int64(n.Uint())]
		}
	}
	return false
}
