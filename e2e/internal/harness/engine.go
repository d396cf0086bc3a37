package harness

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
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// Engine is a database with one driver in one of the driver's modes.
type Engine struct {
	Name    string // the engine's name in -run
	Driver  string // the driver's name as registered with database/sql
	Dialect *dialect.Dialect
	Server  *testdb.Server // the server of the engine; nil for SQLite
	Params  string         // parameters that are added to the DSN
	Memory  bool           // whether it is SQLite in memory, whose data only one connection can see
	mattn   bool           // whether it is SQLite through mattn/go-sqlite3

	without18 bool // see Without18
}

// The engines of the tests: one for each driver in one of its modes, a list of all of them,
// and a list for each database.
var (
	SQLiteFile    = Engine{Name: "sqlite-file", Driver: "sqlite", Dialect: dialect.SQLite()}
	SQLiteMemory  = Engine{Name: "sqlite-memory", Driver: "sqlite", Dialect: dialect.SQLite(), Memory: true}
	MySQLDefault  = Engine{Name: "mysql", Driver: "mysql", Dialect: dialect.MariaDB(), Server: MariaDB}
	MySQLInterp   = Engine{Name: "mysql-interpolate", Driver: "mysql", Dialect: dialect.MariaDB(), Server: MariaDB, Params: "interpolateParams=true"}
	PgxDefault    = PgxMode("cache_statement")
	PgxSimple     = PgxMode("simple_protocol")
	PQDefault     = Engine{Name: "pq", Driver: "postgres", Dialect: dialect.PostgreSQL(), Server: PostgreSQL}
	PQBinary      = Engine{Name: "pq-binary", Driver: "postgres", Dialect: dialect.PostgreSQL(), Server: PostgreSQL, Params: "binary_parameters=yes"}
	Engines       = []Engine{SQLiteFile, SQLiteMemory, MySQLDefault, MySQLInterp, PgxDefault, PgxMode("cache_describe"), PgxMode("describe_exec"), PgxMode("exec"), PgxSimple, PQDefault, PQBinary}
	MySQLEngines  = []Engine{MySQLDefault, MySQLInterp}
	PostgresModes = Engines[4:]
)

// PgxMode returns PostgreSQL through pgx in one of its ways to execute a query.
func PgxMode(mode string) Engine {
	return Engine{Name: "pgx-" + mode, Driver: "pgx", Dialect: dialect.PostgreSQL(), Server: PostgreSQL,
		Params: "default_query_exec_mode=" + mode}
}

// IsPostgres reports whether placeholders are $n and types are PostgreSQL's.
func (e Engine) IsPostgres() bool { return e.Dialect.Name == "postgres" }

// Scratch is an empty database of an engine for one test.
type Scratch struct {
	Engine
	Connector driver.Connector // connections of the raw driver, without keyfill
	Raw       *sql.DB          // the database through the raw driver, to read what is stored
}

// Scratch makes an empty database, which is dropped when the test ends. It skips the test
// if the server is not installed.
func (e Engine) Scratch(t *testing.T) *Scratch {
	t.Helper()
	s := &Scratch{Engine: e}
	s.Connector = ConnectorOf(t, e.Driver, e.DSN(t))
	if e.Memory {
		s.Connector = &sharedConnector{Connector: s.Connector}
	}
	s.Raw = sql.OpenDB(s.Connector)
	t.Cleanup(func() { s.Raw.Close() })
	if e.Memory {
		s.Raw.SetMaxOpenConns(1)
	}
	return s
}

// DSN returns the data source name of a new database.
func (e Engine) DSN(t *testing.T) string {
	t.Helper()
	switch {
	case e.Memory:
		return ":memory:"
	case e.mattn:
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_busy_timeout=60000&_journal_mode=WAL&_synchronous=OFF"
	case e.Server == nil:
		return "file:" + filepath.Join(t.TempDir(), "test.db") +
			"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	}
	return WithParams(e.Server.DSN(e.Server.Database(t, e.Driver)), e.Params)
}

// WithParams appends parameters of the driver to a DSN of a server.
func WithParams(dsn, params string) string {
	switch {
	case params == "":
		return dsn
	case strings.Contains(dsn, "?"):
		return dsn + "&" + params
	}
	return dsn + "?" + params
}

// Open returns the database through keyfill, closed when the test ends, and its mount
// (keyfill's handle on a database).
func (s *Scratch) Open(t *testing.T, cfg *policy.Config) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	return s.OpenWith(t, keyfill.Options{Policy: cfg})
}

// OpenWith does what Open does, with options besides the policy.
func (s *Scratch) OpenWith(t *testing.T, o keyfill.Options) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	db, m := OpenConnector(t, s.Connector, o)
	if s.Memory {
		db.SetMaxOpenConns(1)
	}
	return db, m
}

// storeWait replaces the default of store_wait, ten seconds, if a test sets none: on a busy
// machine the store may take longer than the default.
const storeWait = time.Minute

// Limit is how long a test waits for an event in the background. The event comes soon,
// except on a busy machine.
const Limit = 5 * time.Minute

// OpenConnector puts keyfill around a connector, by a policy or by options. keyfill then
// waits for a store for longer than by default.
func OpenConnector[P *policy.Config | keyfill.Options](t *testing.T, c driver.Connector, p P) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	o, isOptions := any(p).(keyfill.Options)
	if !isOptions {
		o.Policy = any(p).(*policy.Config)
	}
	if o.Policy != nil && o.Policy.StoreWait == 0 {
		patient := *o.Policy
		patient.StoreWait = storeWait
		o.Policy = &patient
	}
	db, err := keyfill.OpenDB(c, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := keyfill.From(db)
	if err != nil {
		db.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db.Close()
		wantEnded(t, m)
	})
	return db, m
}

// wantEnded fails the test unless the statistics count the outcome of each filled
// statement.
func wantEnded(t *testing.T, m *keyfill.Mount) {
	t.Helper()
	for name, s := range m.Stats().Tables {
		if ended := s.Stored + s.LeftOut + s.Failed + s.Unknown; ended != s.Filled && s.Withheld == 0 {
			t.Errorf("of %d filled INSERTs into %s the statistics say of %d what became of them: %+v", s.Filled, name, ended, s)
		}
	}
}

// ConnectorOf returns the connector of a registered driver.
func ConnectorOf(t *testing.T, name, dsn string) driver.Connector {
	t.Helper()
	c, err := NewConnector(name, dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// NewConnector does what [ConnectorOf] does, in a process that runs no test.
func NewConnector(name, dsn string) (driver.Connector, error) {
	d, err := registered(name)
	if err != nil {
		return nil, err
	}
	dc, ok := d.(driver.DriverContext)
	if !ok {
		return DSNConnector{d, dsn}, nil
	}
	return dc.OpenConnector(dsn)
}

// Registered returns the value that is registered as a driver.
func Registered(t testing.TB, name string) driver.Driver {
	t.Helper()
	d, err := registered(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func registered(name string) (driver.Driver, error) {
	db, err := sql.Open(name, "")
	if err != nil {
		return nil, err
	}
	return db.Driver(), db.Close()
}

// DSNConnector opens connections of a driver that has no connectors.
type DSNConnector struct {
	Opener driver.Driver
	DSN    string
}

// Connect opens a connection.
func (c DSNConnector) Connect(context.Context) (driver.Conn, error) { return c.Opener.Open(c.DSN) }

// Driver returns the driver.
func (c DSNConnector) Driver() driver.Driver { return c.Opener }

// sharedConnector always returns the same connection, so that the database opened by the
// raw driver and the one opened through keyfill see the same database in memory. The two
// must not use the connection at the same time.
type sharedConnector struct {
	driver.Connector
	conn driver.Conn
}

// Connect returns the one connection.
func (c *sharedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.conn != nil {
		return c.conn, nil
	}
	var err error
	c.conn, err = c.Connector.Connect(ctx)
	return c.conn, err
}

// Entropy reads from crypto/rand and counts the bytes.
type Entropy struct{ Bytes atomic.Int64 }

// Read reads from crypto/rand.
func (e *Entropy) Read(b []byte) (int, error) {
	e.Bytes.Add(int64(len(b)))
	return rand.Read(b)
}

// FillID returns the policy for one table whose key column is id.
func FillID(table string, rule policy.Table) *policy.Config {
	rule.Column = "id"
	return &policy.Config{Tables: map[string]policy.Table{table: rule}}
}

// Builder writes a query with placeholders of an engine.
type Builder struct {
	strings.Builder
	dollar bool
	Args   []any
}

// Builder returns an empty query of the engine.
func (e Engine) Builder() *Builder { return &Builder{dollar: e.IsPostgres()} }

// Bind returns the placeholder of one more argument.
func (b *Builder) Bind(v any) string {
	b.Args = append(b.Args, v)
	if b.dollar {
		return fmt.Sprintf("$%d", len(b.Args))
	}
	return "?"
}

// Placeholders turns every ? of a query into the engine's own.
func (e Engine) Placeholders(query string) string {
	if !e.IsPostgres() {
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

// Each runs a test for engines, at the same time as other tests: see [ByTurns].
func Each(t *testing.T, engines []Engine, f func(t *testing.T, s *Scratch)) {
	for _, e := range ByTurns(t, engines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			f(t, e.Scratch(t))
		})
	}
}

// MattnFile is SQLite through mattn/go-sqlite3, and MySQLGerman a server that
// answers in German.
var (
	MattnFile   = Engine{Name: "mattn-file", Driver: "sqlite3", Dialect: dialect.SQLite(), mattn: true}
	MySQLGerman = Engine{Name: "mysql-german", Driver: "mysql", Dialect: dialect.MariaDB(), Server: MariaDB, Params: "lc_messages=%27de_DE%27"}
)

// LoadEngines are one engine for each driver, and go-sql-driver in each of its modes.
var LoadEngines = []Engine{SQLiteFile, SQLiteMemory, MySQLDefault, MySQLInterp, PgxDefault, PgxSimple, PQDefault}

// NativeEngines are the engines that have sequences.
var NativeEngines = []Engine{MySQLDefault, MySQLInterp, PgxDefault, PgxSimple, PQDefault, PQBinary}

// Drawing returns the type of a column whose default draws from a sequence.
func (e Engine) Drawing(sequence string) string {
	if e.IsPostgres() {
		return "BIGINT DEFAULT nextval('" + sequence + "')"
	}
	return "BIGINT DEFAULT NEXTVAL(" + sequence + ")"
}

// ReserveEngines have one engine for each driver. SQLite is in a file, since a database in
// memory has no second connection on which numbers could be reserved.
var ReserveEngines = []Engine{SQLiteFile, MySQLDefault, MySQLInterp, PgxDefault, PgxSimple, PQDefault}

// MySQLMulti and MySQLMultiInterp accept texts of several statements.
var (
	MySQLMulti       = Engine{Name: "mysql-multi", Driver: "mysql", Dialect: dialect.MariaDB(), Server: MariaDB, Params: "multiStatements=true"}
	MySQLMultiInterp = Engine{Name: "mysql-multi-interpolate", Driver: "mysql", Dialect: dialect.MariaDB(), Server: MariaDB, Params: "multiStatements=true&interpolateParams=true"}
)

// StoreDrivers has one engine for each driver.
var StoreDrivers = []Engine{SQLiteFile, MySQLDefault, PgxDefault, PQDefault}
