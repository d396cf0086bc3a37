package statements_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// triggerKey is the key by which triggers and rules replace ours.
const triggerKey = "01900000-0000-7000-8000-00000000beef"

// meddling is a schema in which the engine does something else with the key than
// to store it in the table people (id, name).
type meddling struct {
	name   string
	only   string // the dialect
	schema []string

	// stored is the key that is in the table base afterwards: "ours", "other", or "none"
	// if no row is. returned is the key that RETURNING and, after it, Record return;
	// empty without RETURNING.
	stored, returned string

	// outcome is what Record says of our key without RETURNING: nothing shows that
	// another one was stored, and of no row in the count that none was.
	outcome keyfill.Outcome
}

var meddlings = []meddling{
	{"trigger replaces the key", "mariadb", []string{
		"CREATE TABLE people (id CHAR(36) PRIMARY KEY, name VARCHAR(20))",
		"CREATE TRIGGER t BEFORE INSERT ON people FOR EACH ROW SET NEW.id = '" + triggerKey + "'",
		"CREATE VIEW base AS SELECT * FROM people",
	}, "other", "other", keyfill.Unknown},
	{"trigger replaces the key", "postgres", []string{
		"CREATE TABLE people (id UUID PRIMARY KEY, name VARCHAR(20))",
		"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.id = '" + triggerKey + "'; RETURN NEW; END$$",
		"CREATE TRIGGER t BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION f()",
		"CREATE VIEW base AS SELECT * FROM people",
	}, "other", "other", keyfill.Unknown},
	{"trigger replaces the key", "sqlite", []string{
		"CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT)",
		"CREATE TRIGGER t AFTER INSERT ON people BEGIN UPDATE people SET id = '" + triggerKey + "' WHERE id = NEW.id; END",
		"CREATE VIEW base AS SELECT * FROM people",
	}, "other", "ours", keyfill.Unknown}, // RETURNING gives the row before AFTER triggers
	{"trigger leaves the row out", "postgres", []string{
		"CREATE TABLE people (id UUID PRIMARY KEY, name VARCHAR(20))",
		"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$",
		"CREATE TRIGGER t BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION f()",
		"CREATE VIEW base AS SELECT * FROM people",
	}, "none", "none", keyfill.Unknown},
	{"trigger leaves the row out", "sqlite", []string{
		"CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT)",
		"CREATE TRIGGER t BEFORE INSERT ON people BEGIN SELECT RAISE(IGNORE); END",
		"CREATE VIEW base AS SELECT * FROM people",
	}, "none", "none", keyfill.Unknown},
	{"view", "mariadb", []string{
		"CREATE TABLE base (id CHAR(36) PRIMARY KEY, name VARCHAR(20))",
		"CREATE VIEW people AS SELECT name, id FROM base",
	}, "ours", "", keyfill.Stored},
	{"view", "postgres", []string{
		"CREATE TABLE base (id UUID PRIMARY KEY, name VARCHAR(20))",
		"CREATE VIEW people AS SELECT name, id FROM base",
	}, "ours", "ours", keyfill.Stored},
	{"view with a trigger in its place", "postgres", []string{
		"CREATE TABLE base (id UUID PRIMARY KEY, name VARCHAR(20))",
		"CREATE VIEW people AS SELECT name, id FROM base",
		"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO base (id, name) VALUES (NEW.id, NEW.name); RETURN NEW; END$$",
		"CREATE TRIGGER t INSTEAD OF INSERT ON people FOR EACH ROW EXECUTE FUNCTION f()",
	}, "ours", "ours", keyfill.Stored},
	{"view with a trigger in its place", "sqlite", []string{
		"CREATE TABLE base (id TEXT PRIMARY KEY, name TEXT)",
		"CREATE VIEW people AS SELECT name, id FROM base",
		"CREATE TRIGGER t INSTEAD OF INSERT ON people BEGIN INSERT INTO base (id, name) VALUES (NEW.id, NEW.name); END",
	}, "ours", "ours", keyfill.Unknown},
	{"rule in its place", "postgres", []string{
		"CREATE TABLE base (id UUID PRIMARY KEY, name VARCHAR(20))",
		"CREATE TABLE people (id UUID, name VARCHAR(20))",
		"CREATE RULE r AS ON INSERT TO people DO INSTEAD INSERT INTO base VALUES (NEW.id, NEW.name) RETURNING base.*",
	}, "ours", "ours", keyfill.Unknown},
	{"rule that does nothing", "postgres", []string{
		"CREATE TABLE people (id UUID PRIMARY KEY, name VARCHAR(20))",
		"CREATE RULE r AS ON INSERT TO people DO INSTEAD NOTHING",
		"CREATE VIEW base AS SELECT * FROM people",
	}, "none", "", keyfill.Unknown},
}

// TestMeddling: triggers, rules and views that do something else with a key. What
// RETURNING gives wins over what was sent; without it Record says what was sent,
// which docs/deviations.md lists, or that it does not know.
//
//deviation:lastinsertid | If a trigger changes the key, LastInsertId is what was sent. `Record` says unknown if the table does not have that key; in a text of several statements, and on SQL Server and Oracle, it says what was sent. | MySQL, MariaDB, PostgreSQL, SQLite, SQL Server, Oracle | `SET NEW.id = NEW.id + 5000` | RETURNING and OUTPUT return what is stored
func TestMeddling(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, m := range meddlings {
			if m.only != s.Dialect.Name {
				continue
			}
			t.Run(m.name, func(t *testing.T) {
				s := s.Engine.Scratch(t)
				for _, query := range m.schema {
					harness.Exec(t, s.Raw, query)
				}
				db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
				ctx, rec := keyfill.Record(context.Background())
				insert := s.Placeholders("INSERT INTO people (name) VALUES (?)")
				if _, err := db.ExecContext(ctx, insert, "a"); err != nil {
					t.Fatal(err)
				}
				checkMeddling(t, s, rec, m.stored, m.outcome)
				if m.returned == "" {
					return
				}
				harness.Exec(t, s.Raw, emptied(s))
				ctx, rec = keyfill.Record(context.Background())
				var id string
				err := db.QueryRowContext(ctx, insert+" RETURNING id", "a").Scan(&id)
				keys := rec.Keys("people")
				if len(keys) != 1 {
					t.Fatalf("%d keys are recorded", len(keys))
				}
				switch {
				case m.returned == "none":
					if err == nil || keys[0].Outcome == keyfill.Stored {
						t.Errorf("RETURNING gives %q; recorded %+v", id, keys[0])
					}
				case err != nil:
					t.Fatal(err)
				case (id == triggerKey) != (m.returned == "other") || keys[0].Key.(uuid.UUID).String() != id || keys[0].Outcome != keyfill.Stored:
					t.Errorf("RETURNING gives %q; recorded %+v", id, keys[0])
				}
			})
		}
	})
}

// emptied is the statement that empties what is stored.
func emptied(s *harness.Scratch) string {
	if s.Dialect.Name == "sqlite" && count0(s, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'people' AND type = 'table'") == 0 ||
		s.IsPostgres() && count0(s, "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'base'") == 1 {
		return "DELETE FROM base"
	}
	return "DELETE FROM people"
}

// count0 is a count, 0 where there is none.
func count0(s *harness.Scratch, query string) (n int) {
	_ = s.Raw.QueryRow(query).Scan(&n)
	return n
}

func checkMeddling(t *testing.T, s *harness.Scratch, rec *keyfill.Recorder, stored string, outcome keyfill.Outcome) {
	t.Helper()
	keys := rec.Keys("people")
	if len(keys) != 1 || keys[0].Outcome != outcome {
		t.Fatalf("recorded %+v, want one that is %v", keys, outcome)
	}
	ours := harness.Count(t, s.Raw, fmt.Sprintf("SELECT COUNT(*) FROM base WHERE id = '%s'", keys[0].Key))
	other := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM base WHERE id = '"+triggerKey+"'")
	if (ours == 1) != (stored == "ours") || (other == 1) != (stored == "other") {
		t.Errorf("%d rows of our key and %d of the other are stored, want that of %s", ours, other, stored)
	}
}

// madeByEngine are key columns that the engine fills itself and takes no key for.
var madeByEngine = []struct {
	name, only, table string
	source            *policy.Source // nil for uuidv7
}{
	{"generated", "mariadb", "CREATE TABLE people (name VARCHAR(36), id VARCHAR(36) GENERATED ALWAYS AS (lower(name)) STORED UNIQUE)", nil},
	{"generated", "postgres", "CREATE TABLE people (name VARCHAR(36), id VARCHAR(36) GENERATED ALWAYS AS (lower(name)) STORED UNIQUE)", nil},
	{"generated", "sqlite", "CREATE TABLE people (name TEXT, id TEXT GENERATED ALWAYS AS (lower(name)) STORED)", nil},
	{"generated integer", "mariadb", "CREATE TABLE people (name VARCHAR(36), id BIGINT GENERATED ALWAYS AS (length(name)) STORED UNIQUE)", numbering()},
	{"generated integer", "postgres", "CREATE TABLE people (name VARCHAR(36), id BIGINT GENERATED ALWAYS AS (length(name)) STORED UNIQUE)", numbering()},
	{"generated integer", "sqlite", "CREATE TABLE people (name TEXT, id INTEGER GENERATED ALWAYS AS (length(name)) STORED)", numbering()},
	{"identity", "postgres", "CREATE TABLE people (name VARCHAR(36), id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY)", numbering()},
	{"identity, exclusive", "postgres", "CREATE TABLE people (name VARCHAR(36), id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY)", exclusive(numbering())},
}

func numbering() *policy.Source {
	return &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}
}

func exclusive(s *policy.Source) *policy.Source {
	s.Exclusive = true
	return s
}

// TestMadeByEngine: an INSERT into a table whose key the engine alone makes is the
// driver's own error, or says which column is wrong, and stores nothing.
func TestMadeByEngine(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, c := range madeByEngine {
			if c.only != s.Dialect.Name {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				s := s.Engine.Scratch(t)
				harness.Exec(t, s.Raw, c.table)
				db, _ := s.Open(t, harness.FillID("people", policy.Table{InPlace: c.source}))
				for _, query := range []string{"INSERT INTO people (name) VALUES (?)", "INSERT INTO people (name, id) VALUES (?, DEFAULT)"} {
					if s.Dialect.Name == "sqlite" && query[len(query)-2] == 'T' {
						continue // it has no DEFAULT
					}
					ctx, rec := keyfill.Record(context.Background())
					_, err := db.ExecContext(ctx, s.Placeholders(query), "a")
					checkMadeByEngine(t, s, c.source == nil, err)
					if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != 0 {
						t.Errorf("%q: %d rows are stored", query, n)
					}
					for _, k := range rec.All() {
						if k.Outcome != keyfill.NotStored {
							t.Errorf("%q: the key is recorded as %v", query, k.Outcome)
						}
					}
				}
			})
		}
	})
}

// checkMadeByEngine asks for the driver's error, or for one of ours that names the
// column.
func checkMadeByEngine(t *testing.T, s *harness.Scratch, drivers bool, err error) {
	t.Helper()
	var own *keyfill.Error
	switch {
	case err == nil:
		t.Error("no error")
	case errors.As(err, &own):
		if drivers || own.Table != "people" || own.Column != "id" {
			t.Errorf("error %v", err)
		}
	default:
		_, want := s.Raw.Exec("INSERT INTO people (name, id) VALUES ('a', '7')")
		if want == nil || err.Error() != want.Error() {
			t.Errorf("error %v, want the driver's %v", err, want)
		}
	}
}

// TestTriggeredRows: Record of an INSERT into a table with triggers asks the table, in
// transactions too. A trigger that leaves the key as it is changes nothing. An integer
// that is found beside one that is not may be another row's, whose key the trigger moved.
func TestTriggeredRows(t *testing.T) {
	t.Parallel()
	schemas := map[string][]string{
		"mariadb": {
			"CREATE TABLE people (id {id} PRIMARY KEY, code VARCHAR(20), at DATETIME)",
			"CREATE TRIGGER t BEFORE INSERT ON people FOR EACH ROW BEGIN SET NEW.at = NOW(); IF NEW.code = 'b' THEN SET NEW.id = '{other}'; END IF; END",
		},
		"postgres": {
			"CREATE TABLE people (id {id} PRIMARY KEY, code VARCHAR(20), at TIMESTAMP)",
			"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.at = now(); IF NEW.code = 'b' THEN NEW.id = '{other}'; END IF; RETURN NEW; END$$",
			"CREATE TRIGGER t BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION f()",
		},
		"sqlite": {
			"CREATE TABLE people (id {id} PRIMARY KEY, code TEXT, at TEXT)",
			"CREATE TRIGGER t AFTER INSERT ON people BEGIN UPDATE people SET at = 'now' WHERE id = NEW.id; UPDATE people SET id = '{other}' WHERE id = NEW.id AND code = 'b'; END",
		},
	}
	uuids := map[string]string{"mariadb": "CHAR(36)", "postgres": "UUID", "sqlite": "TEXT"}
	kinds := []struct {
		name, other, recorded string
		source                *policy.Source
	}{{"uuidv7", triggerKey, "SUS", nil}, {"sequence", "777777", "UUU", numbering()}}
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, kind := range kinds {
			t.Run(kind.name, func(t *testing.T) {
				s := s.Engine.Scratch(t)
				id := "BIGINT"
				if kind.source == nil {
					id = uuids[s.Dialect.Name]
				}
				for _, query := range schemas[s.Dialect.Name] {
					harness.Exec(t, s.Raw, strings.NewReplacer("{id}", id, "{other}", kind.other).Replace(query))
				}
				db, _ := s.Open(t, harness.FillID("people", policy.Table{InPlace: kind.source}))
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				ctx, rec := keyfill.Record(t.Context())
				_, err = tx.ExecContext(ctx, s.Placeholders("INSERT INTO people (code) VALUES (?), (?), (?)"), "a", "b", "c")
				if err = errors.Join(err, tx.Commit()); err != nil {
					t.Fatal(err)
				}
				if word := outcomesOf(t, s, rec, "people"); word != kind.recorded {
					t.Errorf("recorded is %s, want %s", word, kind.recorded)
				}
				ctx, rec = keyfill.Record(t.Context())
				if _, err := db.ExecContext(ctx, "INSERT INTO people (code) VALUES ('d')"); err != nil {
					t.Fatal(err)
				}
				if word := outcomesOf(t, s, rec, "people"); word != "S" {
					t.Errorf("recorded is %s, want S", word)
				}
			})
		}
	})
}
