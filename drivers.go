package keyfill

import (
	"database/sql/driver"
	"errors"
	"reflect"
	"runtime"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// driverFacts is what must be known of a driver, by the path of its package.
type driverFacts struct {
	// dialect is the only one that the driver speaks; nil with family set.
	dialect *dialect.Dialect
	// family says that the driver speaks to MySQL and MariaDB, which the
	// server's version tells apart.
	family bool
	// cachesQueries says that Query prepares and caches by text even without
	// arguments, so that a literal key would fill the cache: pgx
	// (Conn.Query; its Exec without arguments is one round trip).
	cachesQueries bool
	// keepsSession says that a connection comes back from the pool with the
	// settings that its session had: nothing resets them, the application's own
	// function neither.
	keepsSession bool
	// resetsByOption says that a connector may have such a function
	// (stdlib.OptionResetSession of pgx); without one, sessions are kept.
	resetsByOption bool
	// resetsSession says that a connection that comes back from the pool has the
	// session that it began with.
	resetsSession bool
	// executes says that the driver never answers driver.ErrSkip.
	executes bool
	// parsesLate says that a DSN is read when a connection is opened, by a
	// connector that heeds the context; parsesURL that it is read then without one,
	// as libpq reads it.
	parsesLate, parsesURL bool
	// loads says that a bulk load is prepared, and that its rows are the
	// executions.
	loads bool
}

// takesRows reports whether the rows of a bulk load may come as executions: a
// driver that is not known may be one of those in a wrapper.
func (f *driverFacts) takesRows() bool { return f.loads || f.dialect == nil && !f.family }

var drivers = map[string]driverFacts{
	"github.com/go-sql-driver/mysql":          {family: true, keepsSession: true},
	"github.com/jackc/pgx/v5/stdlib":          {dialect: dialect.PostgreSQL(), cachesQueries: true, executes: true, parsesLate: true, resetsByOption: true},
	"github.com/jackc/pgx/v4/stdlib":          {dialect: dialect.PostgreSQL(), cachesQueries: true, executes: true, parsesLate: true, resetsByOption: true},
	"github.com/lib/pq":                       {dialect: dialect.PostgreSQL(), keepsSession: true, loads: true, executes: true, parsesURL: true},
	"modernc.org/sqlite":                      {dialect: dialect.SQLite(), keepsSession: true, executes: true},
	"github.com/glebarez/go-sqlite":           {dialect: dialect.SQLite(), keepsSession: true, executes: true},
	"github.com/mattn/go-sqlite3":             {dialect: dialect.SQLite(), keepsSession: true, executes: true},
	"github.com/ncruces/go-sqlite3/driver":    {dialect: dialect.SQLite(), keepsSession: true},
	"github.com/microsoft/go-mssqldb":         {dialect: dialect.SQLServer(), loads: true, resetsSession: true},
	"github.com/microsoft/go-mssqldb/azuread": {dialect: dialect.SQLServer(), loads: true, resetsSession: true},
	"github.com/sijms/go-ora/v2":              {dialect: dialect.Oracle(), parsesLate: true},
	"github.com/godror/godror":                {dialect: dialect.Oracle()},
}

// factsOf returns what is known of d by its package's path.
func factsOf(d driver.Driver) (driverFacts, bool) {
	f, ok := drivers[packagePath(d)]
	return f, ok
}

// of returns the facts for the connections of a connector.
func (f driverFacts) of(c driver.Connector) driverFacts {
	f.keepsSession = f.keepsSession || f.resetsByOption && !hasReset(c)
	return f
}

// hasReset reports whether a connector may have a function of the application's
// that resets sessions: its field is not the package's own function.
func hasReset(c driver.Connector) bool {
	v := reflect.Indirect(reflect.ValueOf(c))
	if v.Kind() != reflect.Struct || drivers[v.Type().PkgPath()].dialect == nil {
		return true
	}
	reset := v.FieldByName("ResetSession")
	switch {
	case !reset.IsValid():
		return v.Type().Name() != "driverConnector" // which has a DSN alone
	case reset.Kind() != reflect.Func || reset.IsNil():
		return true
	}
	f := runtime.FuncForPC(reset.Pointer())
	return f == nil || !strings.HasPrefix(f.Name(), v.Type().PkgPath()+".")
}

// numbersPlaceholders reports whether a driver is go-mssqldb's of the name mssql,
// which writes @p1 for each ?, :1 and $1 of a text after us. A key would get a number
// that it then takes for one of the application's.
func numbersPlaceholders(d driver.Driver) bool {
	v := reflect.ValueOf(d)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct || !strings.HasSuffix(packagePath(d), "/go-mssqldb") {
		return false
	}
	field := v.Elem().FieldByName("processQueryText")
	return field.Kind() == reflect.Bool && field.Bool()
}

// errNumbersPlaceholders is for that driver.
var errNumbersPlaceholders = errors.New(`keyfill: the driver "mssql" of go-mssqldb numbers placeholders by itself: open the database as "sqlserver", and write @p1, @p2 … for ? and $1`)

// packagePath returns the path of the package that declares v's type.
func packagePath(v any) string {
	t := reflect.TypeOf(v)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return ""
	}
	return t.PkgPath()
}

// engineAnswered reports whether err, or an error that it wraps, is the engine's
// answer rather than a broken connection: a statement that failed so has stored
// nothing, where statements are atomic.
func engineAnswered(err error) bool { return sqlcode.Answered(err) }
