package fuzz_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// twin is one engine with two databases, a plain one and one behind keyfill. They
// are kept from program to program; their rows are not.
type twin struct {
	harness.Engine
	plain, filled driver.Connector
	schemas       [2]string // of the plain and of the filled side: where USE finds the second schema
	cfg           *policy.Config
	dirty         bool // the tables are not as they were made
	ran           int  // programs
	outcomes      map[string]int
}

// lowest is the first key that keyfill, or the engine, makes; those that a program
// brings are below.
const lowest = 1001

const storedPolicy = `
version: 1
tables:
  t:  {column: id, source: {kind: sequence, ensure_schema: true, start: 1001, block: 10}}
  tr: {column: id, source: {kind: sequence, ensure_schema: true, start: 1001, block: 3}}
  j:  {column: id, source: {kind: sequence, ensure_schema: true, start: 1001, transaction: joined}}
  m:  {column: id, source: {kind: maxplusone, ensure_schema: true}}
  v:  {column: id, source: uuidv7}
`

// storedTables are the tables of each schema; p and src have no entry in the policy.
var storedTables = []string{"t", "tr", "j", "m", "v", "p"}

func newTwin(f *testing.F, e harness.Engine) *twin {
	f.Helper()
	cfg, err := policy.Parse([]byte(storedPolicy))
	if err != nil {
		f.Fatal(err)
	}
	w := &twin{Engine: e, cfg: cfg, dirty: true, outcomes: map[string]int{}}
	if e.Server == nil {
		return w
	}
	w.plain, w.schemas[0] = w.database(f)
	w.filled, w.schemas[1] = w.database(f)
	return w
}

// database makes an empty database and, on MariaDB, where a schema is a database, a
// second one.
func (w *twin) database(f *testing.F) (c driver.Connector, second string) {
	name := w.Server.Database(f, w.Driver)
	dsn := w.Server.DSN(name)
	if w.Params != "" {
		join := "?"
		if strings.Contains(dsn, "?") {
			join = "&"
		}
		dsn += join + w.Params
	}
	dc := mustDriver(f, w.Driver)
	c, err := dc.OpenConnector(dsn)
	if err != nil {
		f.Fatal(err)
	}
	if w.IsPostgres() {
		return c, "s2"
	}
	return c, w.Server.Database(f, w.Driver)
}

// mustDriver returns a registered driver that makes connectors; lib/pq's and
// modernc's make none.
func mustDriver(f *testing.F, name string) driver.DriverContext {
	db, err := sql.Open(name, "")
	if err != nil {
		f.Fatal(err)
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
	db     *sql.DB
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

// start makes both sides ready for a program.
func (w *twin) start(t *testing.T, input []byte) *storedRun {
	t.Helper()
	w.ran++
	r := &storedRun{t: t, twin: w, input: input, ctx: context.Background()}
	plain, filled := w.plain, w.filled
	if w.Server == nil {
		dc := opener{harness.Registered(t, w.Driver)}
		plain, _ = dc.OpenConnector(":memory:")
		filled, _ = dc.OpenConnector(":memory:")
	}
	r.plain = side{name: "plain", db: sql.OpenDB(plain), second: w.schemas[0]}
	db, err := keyfill.OpenDB(filled, keyfill.Options{Policy: w.cfg})
	if err != nil {
		t.Fatal(err)
	}
	r.filled = side{name: "filled", db: db, second: w.schemas[1]}
	w.clean(r, w.dirty || w.Server == nil)
	w.dirty = false
	return r
}

// clean opens the connections and empties the tables, which are made anew where
// they may have changed.
func (w *twin) clean(r *storedRun, anew bool) {
	// The tables of keyfill's states are made before the program begins: a transaction
	// of MariaDB that is older than a table does not see it.
	prime := []string{"INSERT INTO j (tag) VALUES (0)", "DELETE FROM j WHERE tag = 0"}
	for _, s := range r.sides() {
		var err error
		if s.conn, err = s.db.Conn(r.ctx); err != nil {
			r.t.Fatal(err)
		}
		for _, text := range append(w.setUp(s, anew), prime...) {
			if _, err := s.conn.ExecContext(r.ctx, text); err != nil {
				r.t.Fatalf("%s: %s: %v", s.name, text, err)
			}
		}
	}
}

// setUp returns the statements that bring a side to its beginning.
func (w *twin) setUp(s *side, anew bool) (texts []string) {
	schemas := []string{""}
	switch {
	case w.IsPostgres():
		if anew {
			texts = append(texts, "DROP SCHEMA IF EXISTS s2 CASCADE", "CREATE SCHEMA s2",
				"DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
		}
		schemas = []string{"public.", "s2."}
	case w.Server != nil:
		schemas = []string{"", s.second + "."}
	}
	for _, schema := range schemas {
		if !anew {
			for _, table := range append(storedTables, "log") {
				texts = append(texts, "DELETE FROM "+schema+table)
			}
		} else {
			texts = append(texts, w.create(schema, s.name == "plain")...)
		}
		// The greatest key plus one begins where the others do.
		texts = append(texts, fmt.Sprintf("INSERT INTO %sm (id, tag) VALUES (%d, 0)", schema, lowest-1))
	}
	if anew && w.Server != nil && s.name == "filled" && !w.IsPostgres() {
		texts = append(texts, "DROP TABLE IF EXISTS keyfill_sequences")
	}
	return texts
}

// create returns the statements that make the tables of a schema.
func (w *twin) create(schema string, plain bool) (texts []string) {
	add := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	rest := "u INT UNIQUE, a INT DEFAULT 7, b VARCHAR(20) DEFAULT 'd', tag INT"
	for _, table := range storedTables {
		id := w.keyColumn(table, plain || table == "p")
		if w.Server != nil {
			add("DROP TABLE IF EXISTS %s%s", schema, table)
		}
		add("CREATE TABLE %s%s (%s, %s)", schema, table, id, rest)
		switch {
		case !strings.Contains(id, "AUTO"):
		case w.Server == nil:
			add("INSERT INTO sqlite_sequence VALUES ('%s', %d)", table, lowest-1)
		default:
			add("ALTER TABLE %s%s AUTO_INCREMENT = %d", schema, table, lowest)
		}
	}
	if w.Server != nil {
		add("DROP TABLE IF EXISTS %slog", schema)
		add("DROP TABLE IF EXISTS %ssrc", schema)
	}
	add("CREATE TABLE %slog (tag INT, what VARCHAR(20))", schema)
	add("CREATE TABLE %ssrc (x INT PRIMARY KEY, y VARCHAR(20), z INT)", schema)
	add("INSERT INTO %ssrc VALUES (0, 'c', 2), (1, 'a', 2), (2, 'b', 1), (3, 'd', NULL)", schema)
	switch {
	case w.IsPostgres():
		add(`CREATE FUNCTION %[1]sbefore() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN IF NEW.a = 4 THEN RETURN NULL; END IF; IF NEW.a = 3 THEN NEW.b := ''trig''; END IF; RETURN NEW; END'`, schema)
		add(`CREATE TRIGGER tr_before BEFORE INSERT ON %[1]str FOR EACH ROW EXECUTE FUNCTION %[1]sbefore()`, schema)
	case w.Server != nil:
		add("CREATE TRIGGER %str_before BEFORE INSERT ON %[1]str FOR EACH ROW SET NEW.b = IF(NEW.a = 3, 'trig', NEW.b)", schema)
		add("CREATE TRIGGER %str_after AFTER INSERT ON %[1]str FOR EACH ROW INSERT INTO %[1]slog VALUES (NEW.tag, 'after')", schema)
	default:
		add("CREATE TRIGGER tr_before BEFORE INSERT ON tr WHEN NEW.a = 4 BEGIN SELECT RAISE(IGNORE); END")
		add("CREATE TRIGGER tr_after AFTER INSERT ON tr BEGIN INSERT INTO log VALUES (NEW.tag, 'after'); END")
	}
	return texts
}

// keyColumn returns the definition of a key column; the engine makes the keys
// where it is told to.
func (w *twin) keyColumn(table string, engineMakes bool) string {
	uuid := table == "v"
	switch {
	case w.IsPostgres() && uuid && engineMakes:
		return "id uuid PRIMARY KEY DEFAULT gen_random_uuid()"
	case w.IsPostgres() && uuid:
		return "id uuid PRIMARY KEY"
	case w.IsPostgres() && engineMakes:
		return "id BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 1001) PRIMARY KEY"
	case w.Server != nil && uuid && engineMakes:
		return "id CHAR(36) PRIMARY KEY DEFAULT uuid()"
	case w.Server != nil && uuid:
		return "id CHAR(36) PRIMARY KEY"
	case w.Server != nil && engineMakes:
		return "id BIGINT AUTO_INCREMENT PRIMARY KEY"
	case uuid && engineMakes:
		return "id TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(16))))"
	case uuid:
		return "id TEXT PRIMARY KEY"
	case w.Server == nil && engineMakes:
		return "id INTEGER PRIMARY KEY AUTOINCREMENT"
	case w.Server == nil:
		return "id INTEGER PRIMARY KEY"
	}
	return "id BIGINT PRIMARY KEY"
}

// report prints how often each outcome came, and fails where what was filled is too
// little to have shown anything.
func (w *twin) report(f *testing.F) {
	if w.ran < 15 {
		return // one input that is run again, or the process that only hands them out
	}
	f.Logf("%s: %d programs: %v", w.Name, w.ran, w.outcomes)
	if sent := w.outcomes["same"]; sent < 10*w.outcomes["refused"] {
		f.Errorf("%s: %d statements were compared and %d refused: too many", w.Name, sent, w.outcomes["refused"])
	}
}
