package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// The programs of the FuzzStoredMoves targets have tables of the same names in several
// schemas, each with a state and numbers of its own, and move the session between their
// INSERTs: by texts, by functions and triggers, by temporary tables, by other tables of
// the name. Each program runs twice as a program of FuzzStored does. A row is stored in
// the same table on both sides, and its key is one of that table's numbers.

// FuzzStoredMovesPostgreSQL compares through pgx in all of its modes, lib/pq, and
// keyfillpgx.
func FuzzStoredMovesPostgreSQL(f *testing.F) {
	modes := []harness.Engine{harness.PgxDefault, pgxNative("cache_statement"), harness.PgxSimple, pgxNative("simple_protocol"),
		harness.PgxMode("cache_describe"), harness.PQDefault, harness.PgxMode("describe_exec"), pgxNative("exec"), harness.PgxMode("exec")}
	fuzzPairs(f, modes, newMovedPairs, testturn.Share[uint64](f, 90, 27))
}

// FuzzStoredMovesMariaDB compares where USE moves the session.
func FuzzStoredMovesMariaDB(f *testing.F) {
	modes := []harness.Engine{
		{Name: "mysql", Driver: "mysql", Dialect: dialect.MariaDB(), Server: harness.MariaDB},
		{Name: "mysql-interpolate", Driver: "mysql", Dialect: dialect.MariaDB(), Server: harness.MariaDB, Params: "interpolateParams=true"},
	}
	fuzzPairs(f, modes, newMovedPairs, testturn.Share[uint64](f, 60, 20))
}

// FuzzStoredMovesSQLite compares where other files are attached.
func FuzzStoredMovesSQLite(f *testing.F) {
	fuzzPairs(f, []harness.Engine{harness.SQLiteFile}, newMovedPairs, testturn.Share[uint64](f, 60, 20))
}

// pgxNative is PostgreSQL through keyfillpgx, and pgx without database/sql beside it.
func pgxNative(mode string) harness.Engine {
	e := harness.PgxMode(mode)
	e.Name = nativeName + mode
	return e
}

const nativeName = "keyfillpgx-"

// moved is a pair for programs that move their sessions.
type moved struct {
	tally
	*movedPlaces
	cfg        *policy.Config
	connectors [2]driver.Connector
	dsns       [2]string
	movers     [2]mover       // nil between batches
	epoch      int            // how often what names mean was changed by something else than a path
	since      map[string]int // the epoch in which a text was sent first
}

// movedPlaces are a plain and a filled database, for all modes of an engine. Schemas a
// and b have tables; the programs make the tables of c.
type movedPlaces struct {
	dsns    [2]string
	schemas [2]map[string]string
	keepers [2]*sql.DB // of servers
	dirty   bool       // the tables of a and b are not as they were made
	folder  string     // of SQLite's files
}

const movesPolicy = `
version: 1
tables:
  t: {column: id, source: {kind: sequence, ensure_schema: true, block: 10}}
  j: {column: id, source: {kind: sequence, ensure_schema: true, transaction: joined}}
  m: {column: id, source: {kind: maxplusone, ensure_schema: true}}
  v: {column: id, source: uuidv7}
  n: {column: id, source: {kind: native, block: 1}}
`

// movesTables are the tables of each schema. Only PostgreSQL has n.
var movesTables = []string{"t", "j", "m", "v", "n"}

func (w *moved) tables() []string {
	if w.IsPostgres() {
		return movesTables
	}
	return movesTables[:4]
}

// firstMoved returns the first key of a table.
func firstMoved(schema, table string) int64 {
	if schema == "temp" {
		return 9e9
	}
	return int64(schema[0]-'a'+1)*1e8 + int64(strings.Index("tjmvn", table)+1)*1e7
}

// isOfTable reports whether a key is one of a table's.
func isOfTable(schema, table string, key int64) bool {
	first := firstMoved(schema, table)
	return key >= first && key < first+1e7
}

func newMovedPairs(t testing.TB, modes []harness.Engine) (pairs []pair) {
	t.Helper()
	places := newMovedPlaces(t, modes[0])
	for _, e := range modes {
		w := &moved{tally: newTally(e), movedPlaces: places, since: map[string]int{}}
		text := movesPolicy
		if !w.IsPostgres() {
			text, _, _ = strings.Cut(text, "  n:")
		}
		var err error
		if w.cfg, err = policy.Parse([]byte(text)); err != nil {
			t.Fatal(err)
		}
		w.cfg.StoreWait = harness.Limit // a busy machine is not what is compared
		for i, dsn := range places.dsns {
			w.dsns[i] = withParams(dsn, w.Params)
			if w.connectors[i], err = mustDriver(t, w.Driver).OpenConnector(w.dsns[i]); err != nil {
				t.Fatal(err)
			}
		}
		pairs = append(pairs, w)
	}
	return pairs
}

func newMovedPlaces(t testing.TB, e harness.Engine) *movedPlaces {
	t.Helper()
	p := &movedPlaces{dirty: true}
	if e.Server == nil {
		p.folder = t.TempDir()
	}
	for i := range p.dsns {
		p.schemas[i] = map[string]string{"a": "a", "b": "b", "c": "c"}
		switch {
		case e.Server == nil:
			p.schemas[i]["a"] = "main"
			p.dsns[i] = p.file(i, "a")
		case e.IsPostgres():
			p.dsns[i] = e.Server.SocketDSN(e.Server.Database(t, e.Driver))
			p.keepers[i] = mustOpen(t, "pgx", withParams(p.dsns[i], "default_query_exec_mode=simple_protocol"))
		default:
			for schema := range p.schemas[i] {
				p.schemas[i][schema] = e.Server.Database(t, e.Driver)
			}
			p.dsns[i] = e.Server.SocketDSN(p.schemas[i]["a"])
			p.keepers[i] = mustOpen(t, e.Driver, withParams(p.dsns[i], "multiStatements=true"))
		}
	}
	return p
}

// named returns a text of a side: {a}, {b} and {c} are its schemas, {key:c.t} is the key
// column of that table.
func (w *moved) named(i int, text string) string {
	for {
		before, rest, _ := strings.Cut(text, "{")
		what, behind, ok := strings.Cut(rest, "}")
		if !ok {
			return text
		}
		name, isKey := strings.CutPrefix(what, "key:")
		if what == "src" {
			text = before + onlyIf(w.IsPostgres(), "public.") + onlyIf(!w.IsPostgres(), w.schemas[i]["a"]+".") + "src" + behind
			continue
		}
		if !isKey {
			text = before + w.schemas[i][what] + behind
			continue
		}
		schema, table, _ := strings.Cut(name, ".")
		text = before + w.movedKey(i, schema, table) + behind
	}
}

// movedKey returns the definition of a key column. The engine makes the keys of the plain
// side, of temporary tables, and of n.
func (w *moved) movedKey(i int, schema, table string) string {
	made := i == 0 || schema == "temp" || table == "n"
	first := firstMoved(schema, table) + 1
	switch {
	case table == "v" && w.IsPostgres():
		return "id uuid PRIMARY KEY" + onlyIf(made, " DEFAULT gen_random_uuid()")
	case table == "v" && w.Server != nil:
		return "id CHAR(36) PRIMARY KEY" + onlyIf(made, " DEFAULT uuid()")
	case table == "v":
		return "id TEXT PRIMARY KEY" + onlyIf(made, " DEFAULT (lower(hex(randomblob(16))))")
	case w.IsPostgres():
		return "id BIGINT " + onlyIf(made, fmt.Sprintf("GENERATED BY DEFAULT AS IDENTITY (START WITH %d) ", first)) + "PRIMARY KEY"
	case w.Server != nil:
		return "id BIGINT PRIMARY KEY" + onlyIf(made, " AUTO_INCREMENT")
	}
	return "id INTEGER PRIMARY KEY"
}

func onlyIf(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// created returns the statements that make a table, whose columns have another order in b,
// and its first row, from which the numbering goes on.
func created(schema, table string) []string {
	columns := "x INT, y INT, w INT"
	if schema == "b" {
		columns = "y INT, x INT, w INT"
	}
	texts := []string{fmt.Sprintf("CREATE TABLE {%[1]s}.%[2]s ({key:%[1]s.%[2]s}, %[3]s)", schema, table, columns)}
	if table != "v" {
		texts = append(texts, fmt.Sprintf("INSERT INTO {%s}.%s (id) VALUES (%d)", schema, table, firstMoved(schema, table)))
	}
	return texts
}

// setUp makes the tables anew. The functions of PostgreSQL move the session, or make
// tables, where no text says so.
func (w *moved) setUp(ctx context.Context) error {
	for i, keeper := range w.keepers {
		var texts []string
		for _, schema := range []string{"a", "b", "c"} {
			if w.IsPostgres() {
				texts = append(texts, "DROP SCHEMA IF EXISTS "+schema+" CASCADE", "CREATE SCHEMA "+schema)
			} else {
				texts = append(texts, w.named(i, "DROP DATABASE {"+schema+"}"), w.named(i, "CREATE DATABASE {"+schema+"}"))
			}
		}
		if w.IsPostgres() {
			texts = append(texts, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
			for _, text := range movingFunctions {
				texts = append(texts, w.named(i, text))
			}
		}
		for _, text := range w.allTables() {
			texts = append(texts, w.named(i, text))
		}
		if _, err := keeper.ExecContext(ctx, strings.Join(texts, "; ")); err != nil {
			return fmt.Errorf("making the tables: %w", err)
		}
	}
	w.dirty = false
	return w.makeStates(ctx)
}

// makeStates has keyfill make the tables of its states, where a schema is a database: a
// transaction of MariaDB that is older than a table does not see it.
func (w *moved) makeStates(ctx context.Context) error {
	if w.IsPostgres() {
		return nil
	}
	db, err := keyfill.OpenDB(w.connectors[1], keyfill.Options{Policy: w.cfg})
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var texts []string
	for _, schema := range []string{"c", "b", "a"} {
		texts = append(texts, "USE {"+schema+"}")
		if schema == "c" {
			texts = append(texts, created("c", "j")...)
		}
		texts = append(texts, "INSERT INTO j (x) VALUES (0)", "DELETE FROM j WHERE x = 0")
	}
	for _, text := range append(texts, "DROP TABLE {c}.j") {
		if _, err := conn.ExecContext(ctx, w.named(1, text)); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// allTables returns the statements that make the tables of a and b.
func (w *moved) allTables() (texts []string) {
	for _, table := range w.tables() {
		texts = append(append(texts, created("a", table)...), created("b", table)...)
	}
	return append(texts, "CREATE TABLE {src} (k INT)", "INSERT INTO {src} VALUES (0), (1)")
}

// movingFunctions make what only a program on PostgreSQL has.
var movingFunctions = []string{
	`CREATE FUNCTION public.use_tenant(name text) RETURNS int LANGUAGE plpgsql AS
		$$ BEGIN PERFORM set_config('search_path', name || ',public', false); RETURN 1; END $$`,
	`CREATE FUNCTION public.use_locally(name text) RETURNS int LANGUAGE plpgsql AS
		$$ BEGIN PERFORM set_config('search_path', name || ',public', true); RETURN 1; END $$`,
	`CREATE FUNCTION public.make_temporary(name text) RETURNS int LANGUAGE plpgsql AS
		$$ BEGIN EXECUTE 'CREATE TEMP TABLE ' || name || ' ({key:temp.t}, x INT, y INT, w INT)'; RETURN 1; END $$`,
	`CREATE FUNCTION public.drop_temporary(name text) RETURNS int LANGUAGE plpgsql AS
		$$ BEGIN EXECUTE 'DROP TABLE IF EXISTS pg_temp.' || name; RETURN 1; END $$`,
	`CREATE TABLE public.moving (name text)`,
	`CREATE FUNCTION public.moves() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM set_config('search_path', NEW.name || ',public', false); RETURN NEW; END $$`,
	`CREATE TRIGGER moves BEFORE INSERT ON public.moving FOR EACH ROW EXECUTE FUNCTION public.moves()`,
	`CREATE TABLE public.log (what text)`,
}

// open opens the handles of a batch.
func (w *moved) open(ctx context.Context) error {
	if w.Server == nil {
		return w.openFiles(ctx)
	}
	if w.dirty {
		if err := w.setUp(ctx); err != nil {
			return err
		}
	}
	if strings.HasPrefix(w.Name, nativeName) {
		return w.openNative(ctx)
	}
	return w.openHandles(ctx)
}

// openFiles opens new databases of SQLite.
func (w *moved) openFiles(ctx context.Context) error {
	for i := range w.dsns {
		for _, schema := range []string{"a", "b", "c"} {
			os.Remove(w.file(i, schema))
		}
		db := sql.OpenDB(w.connectors[i])
		db.SetMaxOpenConns(1)
		var err error
		for _, text := range append([]string{"PRAGMA synchronous = OFF", w.attach(i, "b")}, w.allTables()...) {
			if _, err = db.ExecContext(ctx, w.named(i, text)); err != nil {
				break
			}
		}
		db.Close()
		if err != nil {
			return fmt.Errorf("making the tables: %w", err)
		}
	}
	return w.openHandles(ctx)
}

func (w *movedPlaces) file(i int, schema string) string {
	return filepath.Join(w.folder, fmt.Sprintf("%d%s.db", i, schema))
}

// attach returns the statement that attaches a schema's file.
func (w *movedPlaces) attach(i int, schema string) string {
	return fmt.Sprintf("ATTACH '%s' AS %s", w.file(i, schema), schema)
}

// close closes the handles of a batch.
func (w *moved) close() {
	for i, m := range w.movers {
		if m != nil {
			m.close()
		}
		w.movers[i] = nil
	}
	w.since = map[string]int{}
}

// clean empties the tables, and drops those that programs have made.
func (w *moved) clean(ctx context.Context) error {
	for i, keeper := range w.keepers {
		texts := []string{"BEGIN"}
		for _, table := range w.tables() {
			for _, schema := range []string{"a", "b"} {
				texts = append(texts, w.named(i, "DELETE FROM {"+schema+"}."+table+" WHERE w IS NOT NULL OR x IS NOT NULL"))
			}
			texts = append(texts, w.named(i, "DROP TABLE IF EXISTS {c}."+table))
		}
		texts = append(texts, "COMMIT")
		if _, err := keeper.ExecContext(ctx, strings.Join(texts, "; ")); err != nil {
			return fmt.Errorf("emptying the tables: %w", err)
		}
	}
	return nil
}
