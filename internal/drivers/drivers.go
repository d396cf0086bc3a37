// Package drivers holds what keyfill must know of drivers for database/sql, by the
// paths of their packages.
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
	// Dialect is the only one that the driver speaks; nil with Family set.
	Dialect *dialect.Dialect
	// Family reports whether the driver is for MySQL and MariaDB, which the server's
	// version distinguishes.
	Family bool
	// CachesQueries reports whether Query prepares and caches by text even without
	// arguments, so that a literal key would fill the cache: pgx (Conn.Query; its Exec
	// without arguments is one round trip).
	CachesQueries bool
	// KeepsSession reports whether a connection comes back from the pool with the
	// settings that its session had: nothing resets them, the application's own function
	// neither.
	KeepsSession bool
	// ResetsByOption reports whether a connector may have such a function
	// (stdlib.OptionResetSession of pgx); without one, sessions are kept.
	ResetsByOption bool
	// ResetsSession reports whether a connection that comes back from the pool has the
	// session that it began with.
	ResetsSession bool
	// PreparesArguments reports whether a statement with arguments takes a round trip
	// more, in which it is prepared, each time.
	PreparesArguments bool
	// BeginsReadWrite reports whether BeginTx without ReadOnly begins a transaction that
	// may write whatever the session's default is.
	BeginsReadWrite bool
	// Executes reports whether the driver never answers driver.ErrSkip.
	Executes bool
	// ParsesLate reports whether a DSN is read when a connection is opened, by a
	// connector that heeds the context; ParsesURL whether it is read then without one, as
	// libpq reads it.
	ParsesLate, ParsesURL bool
	// Loads reports whether a bulk load is prepared, and its rows are the executions.
	Loads bool
}

// TakesRows reports whether the rows of a bulk load may come as executions: a
// driver that is not known may be one of those in a wrapper.
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

// hasReset reports whether a connector may have a function of the application's
// that resets sessions: its field is not the package's own function.
func hasReset(c driver.Connector) bool {
	v := reflect.Indirect(reflect.ValueOf(c))
	if v.Kind() != reflect.Struct || known[v.Type().PkgPath()].Dialect == nil {
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

// NumbersPlaceholders reports whether a driver is go-mssqldb's of the name mssql,
// which writes @p1 for each ?, :1 and $1 of a text after us. A key would get a number
// that it then takes for one of the application's.
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
