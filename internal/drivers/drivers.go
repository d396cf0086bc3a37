// Package drivers holds the facts that keyfill must know about drivers of database/sql, by
// the paths of their packages.
package drivers

import (
	"database/sql/driver"
	"reflect"
	"runtime"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Facts are the facts of one driver. The zero value stands for a driver that is not
// known.
type Facts struct {
	// Dialect is the only dialect that the driver speaks; nil if Family is set.
	Dialect *dialect.Dialect
	// Family reports whether the driver is for MySQL and MariaDB, which the server's
	// version distinguishes.
	Family bool
	// CachesQueries reports whether Query prepares and caches by text even without
	// arguments, so that a literal key would fill the cache: pgx (Conn.Query; its Exec
	// without arguments is one round trip).
	CachesQueries bool
	// KeepsSession reports whether a connection that comes back from the pool keeps the
	// settings that its session had: neither the driver nor a function of the application
	// resets them.
	KeepsSession bool
	// ResetsByOption reports whether the application may give a connector a function that
	// resets sessions (stdlib.OptionResetSession of pgx); without one, sessions are kept.
	ResetsByOption bool
	// ResetsSession reports whether the session of a connection that comes back from the
	// pool is reset to the state in which it began.
	ResetsSession bool
	// PreparesArguments reports whether a statement with arguments takes one more round
	// trip each time, in which it is prepared.
	PreparesArguments bool
	// BeginsReadWrite reports whether BeginTx without ReadOnly begins a transaction that
	// may write whatever the session's default is.
	BeginsReadWrite bool
	// Executes reports whether the driver never returns driver.ErrSkip.
	Executes bool
	// ParsesLate reports whether a DSN is read only when a connection is opened, by a
	// connector that obeys the context. ParsesURL reports whether it is read then without
	// such a connector, as libpq reads it.
	ParsesLate, ParsesURL bool
	// Loads reports whether a bulk load is a prepared statement, whose executions are its
	// rows.
	Loads bool
}

// TakesRows reports whether the executions of a prepared statement may be the rows of a
// bulk load. An unknown driver may wrap one for which this is so.
func (f *Facts) TakesRows() bool { return f.Loads || f.Dialect == nil && !f.Family }

// Speaks reports whether a driver that is known speaks a dialect.
func (f *Facts) Speaks(d *dialect.Dialect) bool {
	if f.Family {
		return d.Family == dialect.FamilyMySQL
	}
	return f.Dialect.SharesFamily(d)
}

var known = map[string]Facts{
	"github.com/go-sql-driver/mysql":          {Family: true, KeepsSession: true, PreparesArguments: true},
	"github.com/jackc/pgx/v5/stdlib":          {Dialect: dialect.PostgreSQL(), CachesQueries: true, Executes: true, ParsesLate: true, ResetsByOption: true},
	"github.com/jackc/pgx/v4/stdlib":          {Dialect: dialect.PostgreSQL(), CachesQueries: true, Executes: true, ParsesLate: true, ResetsByOption: true},
	"github.com/keyfill/keyfill/keyfillpgx":   {Dialect: dialect.PostgreSQL(), CachesQueries: true, Executes: true, Loads: true, ResetsByOption: true},
	"github.com/lib/pq":                       {Dialect: dialect.PostgreSQL(), KeepsSession: true, Loads: true, Executes: true, ParsesURL: true, PreparesArguments: true, BeginsReadWrite: true},
	"modernc.org/sqlite":                      {Dialect: dialect.SQLite(), KeepsSession: true, Executes: true},
	"github.com/glebarez/go-sqlite":           {Dialect: dialect.SQLite(), KeepsSession: true, Executes: true},
	"github.com/mattn/go-sqlite3":             {Dialect: dialect.SQLite(), KeepsSession: true, Executes: true},
	"github.com/ncruces/go-sqlite3/driver":    {Dialect: dialect.SQLite(), KeepsSession: true},
	"github.com/microsoft/go-mssqldb":         {Dialect: dialect.SQLServer(), Loads: true, ResetsSession: true},
	"github.com/microsoft/go-mssqldb/azuread": {Dialect: dialect.SQLServer(), Loads: true, ResetsSession: true},
	"github.com/sijms/go-ora/v2":              {Dialect: dialect.Oracle(), ParsesLate: true},
	"github.com/godror/godror":                {Dialect: dialect.Oracle()},
}

// Of returns the facts about d, by the path of its package.
func Of(d driver.Driver) (Facts, bool) {
	f, ok := known[PackagePath(d)]
	return f, ok
}

// For returns the facts for the connections of a connector.
func (f Facts) For(c driver.Connector) Facts {
	f.KeepsSession = f.KeepsSession || f.ResetsByOption && !hasReset(c)
	return f
}

// hasReset reports whether a connector may have a function of the application that resets
// sessions: its field is not the package's own function.
func hasReset(c driver.Connector) bool {
	v := reflect.Indirect(reflect.ValueOf(c))
	if v.Kind() != reflect.Struct || known[v.Type().PkgPath()].Dialect == nil {
		return true
	}
	reset := v.FieldByName("ResetSession")
	switch {
	case !reset.IsValid():
		return v.Type().Name() != "driverConnector" // a driverConnector has only a DSN
	case reset.Kind() != reflect.Func || reset.IsNil():
		return true
	}
	f := runtime.FuncForPC(reset.Pointer())
	return f == nil || !strings.HasPrefix(f.Name(), v.Type().PkgPath()+".")
}

// NumbersPlaceholders reports whether a driver is go-mssqldb's of the name mssql, which
// later writes @p1 for each ?, :1 and $1 of keyfill's text. The placeholder of a key would
// get a number that the driver then takes for one of the application's.
func NumbersPlaceholders(d driver.Driver) bool {
	v := reflect.ValueOf(d)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct || !strings.HasSuffix(PackagePath(d), "/go-mssqldb") {
		return false
	}
	field := v.Elem().FieldByName("processQueryText")
	return field.Kind() == reflect.Bool && field.Bool()
}

// PackagePath returns the path of the package that declares v's type.
func PackagePath(v any) string {
	t := reflect.TypeOf(v)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return ""
	}
	return t.PkgPath()
}
