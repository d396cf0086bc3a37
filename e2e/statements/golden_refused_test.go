package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestGoldenRefused sends the golden cases that are refused, in all dialects and
// in every way, through keyfill to a driver that notes what comes to it: nothing
// does, and the caller gets the error.
//
//deviation:filled-inserts | An INSERT in one text with a routine or trigger, or in its body, is refused where the end of the body is not certain: an IF, CASE or loop without BEGIN, or a name `begin` where a block could stand. | MySQL, MariaDB | `CREATE TRIGGER … FOR EACH ROW IF NEW.a THEN SET @a = 1; INSERT INTO t …; END IF` | BEGIN … END around the body; send the definition alone
//deviation:filled-inserts | An INSERT in a block of PL/SQL is refused where a placeholder's name stands twice in the block, since that is one argument there. | Oracle | `BEGIN INSERT INTO t (a, b) VALUES (:1, :1); END;` | a name for each
//deviation:insert-select | An `INSERT … SELECT` is refused if HIGH_PRIORITY, SQL_CACHE, SQL_NO_CACHE or SQL_CALC_FOUND_ROWS follows SELECT. | MySQL, MariaDB | `INSERT INTO t (a) SELECT SQL_NO_CACHE …` | leave them out
func TestGoldenRefused(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(goldenDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden archives in %s: %v", goldenDir, err)
	}
	sent := 0
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		topic := strings.TrimSuffix(filepath.Base(path), ".txtar")
		for _, d := range dialect.All() {
			sent += refusedOf(t, topic, a, d)
		}
	}
	if sent == 0 {
		t.Error("no case is refused")
	}
	t.Logf("%d cases and dialects", sent)
}

// refusedOf sends the cases of an archive that are refused in a dialect, and
// returns how many there are.
func refusedOf(t *testing.T, topic string, a *txtar.Archive, d *dialect.Dialect) (sent int) {
	t.Helper()
	targets, err := goldenTargets(a)
	if err != nil {
		t.Fatal(err)
	}
	noted := new(harness.Spy)
	open := func(o keyfill.Options) *sql.DB {
		db, err := keyfill.OpenDB(silent{noted}, o)
		if err != nil {
			t.Fatalf("%s, %s: %v", topic, d.Name, err)
		}
		return db
	}
	counted, uncounted := open(goldenOptions(d, targets, d.Name == "mysql" || d.Name == "mariadb")), open(uncountedOptions(d, targets))
	defer counted.Close()
	defer uncounted.Close()
	in := ""
	for _, f := range a.Files {
		text := strings.TrimSuffix(string(f.Data), "\n")
		if strings.HasSuffix(f.Name, ".in") {
			in = text
			continue
		}
		name, isErr := strings.CutSuffix(f.Name, ".err")
		if !isErr || !(goldenCase{dialects: dialectsOf(a, name)}).holdsIn(d) {
			continue
		}
		sent++
		db := counted
		if strings.Contains(text, rewrite.ErrSelect.Error()) {
			db = uncounted
		}
		for way, send := range refusedWays {
			err := send(db, in)
			var own *keyfill.Error
			if !errors.As(err, &own) || behindTable(anchor.Plain(err.Error())) != behindTable(text) {
				t.Errorf("%s/%s, %s, %s: the error is %v, want %s\nin: %s", topic, name, d.Name, way, err, text, in)
			} else if anchor.Marked(err.Error()) == "" {
				t.Errorf("%s/%s, %s, %s: the error names no section of docs/errors.md: %v\nin: %s", topic, name, d.Name, way, err, in)
			}
			if seen := noted.Take(); len(seen) > 0 {
				t.Errorf("%s/%s, %s, %s: the driver got %q\nin: %s", topic, name, d.Name, way, seen, in)
			}
		}
	}
	return sent
}

// uncountedOptions returns the targets as a policy without integers, and without UUIDs
// that are numbered.
func uncountedOptions(d *dialect.Dialect, targets []goldenTarget) keyfill.Options {
	o := goldenOptions(d, targets, false)
	for _, t := range o.Policy.Tables {
		for i := range t.Keys {
			if t.Keys[i].InPlace != nil {
				t.Keys[i] = policy.Key{Column: t.Keys[i].Column, Source: policy.KindUUIDv4}
			}
		}
	}
	return o
}

// behindTable returns an error's text after the table, whose name package rewrite has as
// the target has it, keyfill as the engine reads it.
func behindTable(text string) string {
	_, rest, _ := strings.Cut(text, ": byte ")
	return rest
}

// refusedWays are the ways to send a query.
var refusedWays = map[string]func(*sql.DB, string) error{
	"exec": func(db *sql.DB, query string) error {
		_, err := db.Exec(query)
		return err
	},
	"query": func(db *sql.DB, query string) error {
		rows, err := db.Query(query)
		if err == nil {
			rows.Close()
		}
		return err
	},
	"prepare": prepare,
}

// silent is a driver that notes what it gets and answers with an error.
type silent struct{ spy *harness.Spy }

var errSilent = errors.New("the driver was asked")

func (s silent) Connect(context.Context) (driver.Conn, error) { return s, nil }

func (s silent) Driver() driver.Driver { return s }

func (s silent) Open(string) (driver.Conn, error) { return s, nil }

func (s silent) Close() error { return nil }

func (s silent) Begin() (driver.Tx, error) { return nil, errSilent }

func (s silent) Prepare(query string) (driver.Stmt, error) {
	s.spy.Note(query)
	return nil, errSilent
}

func (s silent) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	s.spy.Note(query)
	return nil, errSilent
}

func (s silent) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	s.spy.Note(query)
	return nil, errSilent
}
