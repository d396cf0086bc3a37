package e2e_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// engine is a database behind one driver in one of the driver's modes.
type engine struct {
	name    string // for -run
	driver  string // as registered with database/sql
	dialect *dialect.Dialect
	server  *testdb.Server // nil for SQLite
	params  string         // of the DSN
	memory  bool           // SQLite in memory: one connection is all there is
	mattn   bool           // SQLite through mattn/go-sqlite3
}

var (
	sqliteFile    = engine{name: "sqlite-file", driver: "sqlite", dialect: dialect.SQLite()}
	sqliteMemory  = engine{name: "sqlite-memory", driver: "sqlite", dialect: dialect.SQLite(), memory: true}
	mysqlDefault  = engine{name: "mysql", driver: "mysql", dialect: dialect.MariaDB(), server: mariadb}
	mysqlInterp   = engine{name: "mysql-interpolate", driver: "mysql", dialect: dialect.MariaDB(), server: mariadb, params: "interpolateParams=true"}
	pgxDefault    = pgxMode("cache_statement")
	pgxSimple     = pgxMode("simple_protocol")
	pqDefault     = engine{name: "pq", driver: "postgres", dialect: dialect.PostgreSQL(), server: postgresql}
	pqBinary      = engine{name: "pq-binary", driver: "postgres", dialect: dialect.PostgreSQL(), server: postgresql, params: "binary_parameters=yes"}
	engines       = []engine{sqliteFile, sqliteMemory, mysqlDefault, mysqlInterp, pgxDefault, pgxMode("cache_describe"), pgxMode("describe_exec"), pgxMode("exec"), pgxSimple, pqDefault, pqBinary}
	mysqlEngines  = []engine{mysqlDefault, mysqlInterp}
	postgresModes = engines[4:]
)

// pgxMode is PostgreSQL through pgx in one of its ways to execute a query.
func pgxMode(mode string) engine {
	return engine{name: "pgx-" + mode, driver: "pgx", dialect: dialect.PostgreSQL(), server: postgresql,
		params: "default_query_exec_mode=" + mode}
}

// isPostgres reports whether placeholders are $n and types are PostgreSQL's.
func (e engine) isPostgres() bool { return e.dialect.Name == "postgres" }

// scratch is an empty database of an engine for one test.
type scratch struct {
	engine
	connector driver.Connector // the raw driver's
	raw       *sql.DB          // through the raw driver, to look at what is stored
}

// scratch makes an empty database, which is gone when the test ends. It skips
// the test where there is no server.
func (e engine) scratch(t *testing.T) *scratch {
	t.Helper()
	s := &scratch{engine: e}
	s.connector = connectorOf(t, e.driver, e.dsn(t))
	if e.memory {
		s.connector = &sharedConnector{Connector: s.connector}
	}
	s.raw = sql.OpenDB(s.connector)
	t.Cleanup(func() { s.raw.Close() })
	if e.memory {
		s.raw.SetMaxOpenConns(1)
	}
	return s
}

// dsn returns the data source name of a new database.
func (e engine) dsn(t *testing.T) string {
	t.Helper()
	switch {
	case e.memory:
		return ":memory:"
	case e.mattn:
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_busy_timeout=60000&_journal_mode=WAL&_synchronous=OFF"
	case e.server == nil:
		return "file:" + filepath.Join(t.TempDir(), "test.db") +
			"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	}
	dsn := e.server.DSN(e.server.Database(t, e.driver))
	if e.params == "" {
		return dsn
	}
	if strings.Contains(dsn, "?") {
		return dsn + "&" + e.params
	}
	return dsn + "?" + e.params
}

// open returns the database through keyfill, closed when the test ends, and its
// mount.
func (s *scratch) open(t *testing.T, cfg *policy.Config) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	return s.openWith(t, keyfill.Options{Policy: cfg})
}

// openWith is open with options besides the policy.
func (s *scratch) openWith(t *testing.T, o keyfill.Options) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	db, m := openConnector(t, s.connector, o)
	if s.memory {
		db.SetMaxOpenConns(1)
	}
	return db, m
}

// openConnector puts keyfill around a connector, by a policy or by options.
func openConnector[P *policy.Config | keyfill.Options](t *testing.T, c driver.Connector, p P) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	o, isOptions := any(p).(keyfill.Options)
	if !isOptions {
		o.Policy = any(p).(*policy.Config)
	}
	db, err := keyfill.OpenDB(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	return db, m
}

// connectorOf returns the connector of a registered driver.
func connectorOf(t *testing.T, name, dsn string) driver.Connector {
	t.Helper()
	d := registered(t, name)
	dc, ok := d.(driver.DriverContext)
	if !ok {
		return dsnConnector{d, dsn}
	}
	c, err := dc.OpenConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// registered returns the value that is registered as a driver.
func registered(t *testing.T, name string) driver.Driver {
	t.Helper()
	db, err := sql.Open(name, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return db.Driver()
}

// dsnConnector opens connections of a driver that has no connectors.
type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

// sharedConnector hands out one and the same connection, so that the raw
// database and the one behind keyfill see the same memory. They are used by
// turns only.
type sharedConnector struct {
	driver.Connector
	conn driver.Conn
}

func (c *sharedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.conn != nil {
		return c.conn, nil
	}
	var err error
	c.conn, err = c.Connector.Connect(ctx)
	return c.conn, err
}

// entropy is crypto/rand, counted.
type entropy struct{ read atomic.Int64 }

func (e *entropy) Read(b []byte) (int, error) {
	e.read.Add(int64(len(b)))
	return rand.Read(b)
}

// fillID is the policy for one table whose key column is id.
func fillID(table string, rule policy.Table) *policy.Config {
	rule.Column = "id"
	return &policy.Config{Tables: map[string]policy.Table{table: rule}}
}

// builder writes a query with placeholders of an engine.
type builder struct {
	strings.Builder
	dollar bool
	args   []any
}

func (e engine) builder() *builder { return &builder{dollar: e.isPostgres()} }

// bind returns the placeholder of one more argument.
func (b *builder) bind(v any) string {
	b.args = append(b.args, v)
	if b.dollar {
		return fmt.Sprintf("$%d", len(b.args))
	}
	return "?"
}

// placeholders turns every ? of a query into the engine's own.
func (e engine) placeholders(query string) string {
	if !e.isPostgres() {
		return query
	}
	var b strings.Builder
	for n, rest := 1, query; ; n++ {
		before, after, found := strings.Cut(rest, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		fmt.Fprintf(&b, "$%d", n)
		rest = after
	}
}

// each runs a test for engines, at the same time as other tests.
func each(t *testing.T, engines []engine, f func(t *testing.T, s *scratch)) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			f(t, e.scratch(t))
		})
	}
}
