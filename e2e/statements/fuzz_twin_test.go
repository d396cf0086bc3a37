package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// twin is one engine with two databases, a plain one and one opened through keyfill. They
// are kept from program to program; their rows are not.
type twin struct {
	tally
	plain, filled driver.Connector
	sqlite        driver.Driver // nil for servers
	names         [2]string     // of the plain and of the filled database
	schemas       [2]string     // where USE finds the second schema
	keepers       [2]*sql.DB
	handles       [2]*sql.DB // for the programs of a batch; nil between batches
	cfg           *policy.Config
	text          string // the type to which every key can be cast
	dirty         bool   // the tables are not as they were made
	forgot        bool   // the plain driver's prepared statements were closed: see storedRun.forget
}

const storedPolicy = `
version: 1
tables:
  t:  {column: id, source: {kind: sequence, ensure_schema: true, start: 1001, block: 10}}
  tr: {column: id, source: {kind: sequence, ensure_schema: true, start: 100000001, block: 3}}
  j:  {column: id, source: {kind: sequence, ensure_schema: true, start: 200000001, transaction: joined}}
  m:  {column: id, source: {kind: maxplusone, ensure_schema: true}}
  v:  {column: id, source: uuidv7}
`

func newTwin(t testing.TB, e harness.Engine) *twin {
	t.Helper()
	w := &twin{tally: newTally(e), dirty: true, text: "TEXT"}
	text := storedPolicy
	for _, table := range w.typed() {
		layout := ""
		if table.bytes {
			layout = ", layout: binary"
		}
		text += fmt.Sprintf("  %s: {column: id, source: %s%s}\n", table.name, table.source, layout)
	}
	var err error
	if w.cfg, err = policy.Parse([]byte(text)); err != nil {
		t.Fatal(err)
	}
	w.cfg.StoreWait = harness.Limit // a busy machine is not what is compared
	if e.Server == nil {
		w.sqlite = harness.Registered(t, e.Driver)
		return w
	}
	if !w.IsPostgres() {
		w.text = "CHAR(40)"
	}
	w.plain = w.database(t, 0)
	w.filled = w.database(t, 1)
	return w
}

// database makes an empty database and, on MariaDB, where a schema is a database, a
// second one. What stands between two programs goes through its keeper, which is no
// session of a program.
func (w *twin) database(t testing.TB, i int) driver.Connector {
	w.names[i] = w.Server.Database(t, w.Driver)
	dsn := w.Server.SocketDSN(w.names[i])
	keeper, params := dsn, "multiStatements=true"
	w.schemas[i] = "s2"
	if w.IsPostgres() {
		params = "default_query_exec_mode=simple_protocol"
		keeper = withParams(keeper, params)
		w.keepers[i] = mustOpen(t, "pgx", keeper)
	} else {
		w.schemas[i] = w.Server.Database(t, w.Driver)
		w.keepers[i] = mustOpen(t, w.Driver, withParams(keeper, params))
	}
	c, err := mustDriver(t, w.Driver).OpenConnector(withParams(dsn, w.Params))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mustOpen opens a database of one connection, closed when the test ends.
func mustOpen(t testing.TB, driver, dsn string) *sql.DB {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// withParams adds to the parameters after the "?" of a DSN.
func withParams(dsn, params string) string {
	switch {
	case params == "":
		return dsn
	case strings.Contains(dsn, "?"):
		return dsn + "&" + params
	}
	return dsn + "?" + params
}

// mustDriver returns a registered driver that makes connectors; lib/pq's and
// modernc's make none.
func mustDriver(t testing.TB, name string) driver.DriverContext {
	db, err := sql.Open(name, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if dc, ok := db.Driver().(driver.DriverContext); ok {
		return dc
	}
	return opener{db.Driver()}
}

type opener struct{ driver.Driver }

func (o opener) OpenConnector(dsn string) (driver.Connector, error) {
	return harness.DSNConnector{Opener: o.Driver, DSN: dsn}, nil
}

// side is one of the two databases during a program.
type side struct {
	name   string
	conn   *sql.Conn
	tx     *sql.Tx
	second string // the other schema
	first  string // the one that the program begins in
}

// execer is what statements go to: the transaction, else the connection.
func (s *side) execer() speaker {
	if s.tx != nil {
		return s.tx
	}
	return s.conn
}

type speaker interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}
