package sqlcode_test

import (
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	sqlite "github.com/keyfill/keyfill/internal/sqlcode/testdata/glebarez/go-sqlite"
	"github.com/keyfill/keyfill/internal/sqlcode/testdata/godror/godror"
	sqlite3 "github.com/keyfill/keyfill/internal/sqlcode/testdata/ncruces/go-sqlite3"
)

// The errors of drivers that are no dependency of this module, by their fields. Errors
// that are recognized by the path of their package are in testdata, below the like paths.
// Errors of the drivers that are here are asked of real engines in e2e.
type (
	pgErrorV4 struct{ Code, ConstraintName string } // pgx v4's pgconn.PgError
	pqError   struct{ Code, Constraint string }

	// MySQLError is go-sql-driver/mysql's before version 1.7.
	MySQLError struct {
		Number  uint16
		Message string
	}
	mssqlError struct{ Number int32 }

	// OracleError is go-ora's.
	OracleError struct{ ErrCode int }

	codeOfNoEngine struct{}
)

func (e *pgErrorV4) Error() string         { return "pg" }
func (e *pgErrorV4) SQLState() string      { return e.Code }
func (e *pqError) Error() string           { return "pq" }
func (e *pqError) SQLState() string        { return e.Code }
func (e *MySQLError) Error() string        { return e.Message }
func (e mssqlError) Error() string         { return "mssql" }
func (e mssqlError) SQLErrorNumber() int32 { return e.Number }
func (e *OracleError) Error() string       { return "ora" }
func (codeOfNoEngine) Error() string       { return "an application's" }
func (codeOfNoEngine) Code() int           { return 1062 }

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want sqlcode.Code
		ok   bool
	}{
		{"nil", nil, sqlcode.Code{}, false},
		{"no engine's", errors.New("Error 1062: Duplicate entry"), sqlcode.Code{}, false},
		{"a nil pointer", (*MySQLError)(nil), sqlcode.Code{}, false},
		{"an application's code", codeOfNoEngine{}, sqlcode.Code{}, false},
		{"pgx v4", &pgErrorV4{"23505", "t_pkey"}, sqlcode.Code{State: "23505", Index: "t_pkey"}, true},
		{"lib/pq", &pqError{"42P01", ""}, sqlcode.Code{State: "42P01"}, true},
		{"a broken connection", &pqError{"08006", ""}, sqlcode.Code{State: "08006", Lost: true}, true},
		{"an unknown outcome", &pqError{"40003", ""}, sqlcode.Code{State: "40003", Lost: true}, true},
		{"a limit of PostgreSQL", &pqError{"53300", ""}, sqlcode.Code{State: "53300", Limit: sqlcode.LimitConnection}, true},
		{"a full disk of PostgreSQL", &pqError{"53100", ""}, sqlcode.Code{State: "53100", Limit: sqlcode.LimitDisk}, true},
		{"a full table", &MySQLError{Number: 1114}, sqlcode.Code{Number: 1114, Limit: sqlcode.LimitDisk}, true},
		{"no room for a table", &MySQLError{Number: 1005, Message: "Can't create table `a`.`b` (errno: 135 \"No more room in record file\")"}, sqlcode.Code{Number: 1005, Limit: sqlcode.LimitDisk}, true},
		{"a table that cannot be made", &MySQLError{Number: 1005, Message: "Can't create table `a`.`b` (errno: 150 \"Foreign key constraint is incorrectly formed\")"}, sqlcode.Code{Number: 1005}, true},
		{"a limit of a server", &MySQLError{Number: 1040}, sqlcode.Code{Number: 1040, Limit: sqlcode.LimitConnection}, true},
		{"a limit of a user", &MySQLError{Number: 1226, Message: "User 'a' has exceeded the 'max_user_connections' resource (current value: 1)"}, sqlcode.Code{Number: 1226, Limit: sqlcode.LimitConnection}, true},
		{"a limit of an hour", &MySQLError{Number: 1226, Message: "User 'a' has exceeded the 'max_queries_per_hour' resource (current value: 5)"}, sqlcode.Code{Number: 1226, Limit: sqlcode.LimitHourly}, true},
		{"mysql", &MySQLError{Number: 1213}, sqlcode.Code{Number: 1213}, true},
		{"a proxy's", &MySQLError{Number: 2013}, sqlcode.Code{Number: 2013, Lost: true}, true},
		{"mssql", mssqlError{1205}, sqlcode.Code{Number: 1205}, true},
		{"go-ora", &OracleError{60}, sqlcode.Code{Number: 60}, true},
		{"go-ora's end", &OracleError{3113}, sqlcode.Code{Number: 3113, Lost: true}, true},
		{"glebarez/go-sqlite", &sqlite.Error{N: 1555}, sqlcode.Code{Number: 1555}, true},
		{"ncruces/go-sqlite3", &sqlite3.Error{N: 2067}, sqlcode.Code{Number: 2067}, true},
		{"ncruces/go-sqlite3's extended code", sqlite3.ExtendedErrorCode(1555), sqlcode.Code{Number: 1555}, true},
		{"ncruces/go-sqlite3's code", sqlite3.ErrorCode(19), sqlcode.Code{Number: 19}, true},
		{"godror", &godror.OraErr{N: 1}, sqlcode.Code{Number: 1}, true},
		{"godror's end", &godror.OraErr{N: 3113}, sqlcode.Code{Number: 3113, Lost: true}, true},
		{"wrapped", fmt.Errorf("insert: %w", &MySQLError{Number: 1062}), sqlcode.Code{Number: 1062}, true},
		{"joined", errors.Join(io.EOF, fmt.Errorf("x: %w", mssqlError{2627})), sqlcode.Code{Number: 2627}, true},
		{"joined without", errors.Join(io.EOF, driver.ErrBadConn), sqlcode.Code{}, false},
	} {
		got, ok := sqlcode.Of(c.err)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v, want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
		if answered := sqlcode.Answered(c.err); answered != (c.ok && !c.want.Lost) {
			t.Errorf("%s: answered %v", c.name, answered)
		}
	}
}

func TestClassOf(t *testing.T) {
	for _, c := range []struct {
		d    *dialect.Dialect
		err  error
		want dialect.ErrorClass
	}{
		{dialect.MySQL(), nil, dialect.ErrorOther},
		{dialect.MySQL(), driver.ErrBadConn, dialect.ErrorOther},
		{dialect.MySQL(), &MySQLError{Number: 1213}, dialect.ErrorTransaction},
		{dialect.MySQL(), &MySQLError{Number: 2999}, dialect.ErrorPassing},
		{dialect.PostgreSQL(), &pqError{"28P01", ""}, dialect.ErrorLogin},
		{dialect.SQLServer(), mssqlError{1205}, dialect.ErrorTransaction},
		{dialect.SQLite(), &sqlite.Error{N: 1555}, dialect.ErrorDuplicate},
		{dialect.SQLite(), &sqlite3.Error{N: 2067}, dialect.ErrorDuplicate},
		{dialect.SQLite(), &sqlite3.Error{N: 1299}, dialect.ErrorRefused},
		{dialect.Oracle(), &godror.OraErr{N: 1}, dialect.ErrorDuplicate},
		{dialect.Oracle(), fmt.Errorf("insert: %w", &OracleError{1}), dialect.ErrorDuplicate},
		{dialect.SQLServer(), mssqlError{8115}, dialect.ErrorRefused},
		{dialect.MySQL(), &MySQLError{Number: 4242, Message: "Deadlock found"}, dialect.ErrorOther},
	} {
		if got := sqlcode.ClassOf(c.d, c.err); got != c.want {
			t.Errorf("%s: %v: class %d, want %d", c.d.Name, c.err, got, c.want)
		}
	}
}

// TestConnectingTLS: a driver's error about TLS is reported without its own words.
func TestConnectingTLS(t *testing.T) {
	alert := &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}
	for _, c := range []struct {
		err  error
		want string
	}{
		{x509.UnknownAuthorityError{}, "connecting: TLS: the certificate is signed by an unknown authority"},
		{alert, `connecting: TLS: the server answers with the alert "certificate required"`},
		{errors.New("secret: TLS requested but server does not support TLS"), "connecting: TLS: the server does not speak it"},
		{errors.New("secret: server refused TLS connection"), "connecting: TLS: the server does not speak it"},
		{errors.New("pq: SSL is not enabled on the server"), "connecting: TLS: the server does not speak it"},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "connecting: the server: connection refused"},
	} {
		if got := sqlcode.Connecting(fmt.Errorf("secret: %w", c.err)); got.Error() != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
