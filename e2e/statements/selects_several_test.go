package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// severalEngines are the drivers as they take several statements in one text, if
// they do.
var severalEngines = append([]harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLMulti, harness.MySQLMultiInterp}, harness.PostgresModes...)

// severalTables are two tables to fill and one not, and what fills them.
func severalTables(t *testing.T, s *harness.Scratch) *policy.Config {
	t.Helper()
	id := "CHAR(36)"
	if s.IsPostgres() {
		id = "uuid"
	}
	for _, table := range []string{"people", "notes", "audit"} {
		harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS "+table)
		harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (id %s UNIQUE, name VARCHAR(40))", table, id))
	}
	return &policy.Config{Tables: map[string]policy.Table{"people": {Column: "id"}, "notes": {Column: "id"}}}
}

// stored returns what is in the tables: of each row the table and the name, and
// the keys.
func severalRows(t *testing.T, s *harness.Scratch) (names []string, keys []uuid.UUID) {
	t.Helper()
	for _, table := range []string{"people", "notes", "audit"} {
		rows, err := s.Raw.Query("SELECT name, id FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var (
				name sql.NullString
				id   uuid.NullUUID
			)
			if err := rows.Scan(&name, &id); err != nil {
				t.Fatal(err)
			}
			names = append(names, table+" "+name.String)
			if id.Valid {
				keys = append(keys, id.UUID)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	slices.Sort(names)
	return names, keys
}

// severalText is a text of several statements and the rows that get keys.
type severalText struct {
	text string
	args []any
	keys int
}

var severalTexts = []severalText{
	{"INSERT INTO people (name) VALUES ('a'), ('b'); INSERT INTO notes (name) VALUES ('c')", nil, 3},
	{"INSERT INTO audit (name) VALUES ('a'); INSERT INTO notes (name) VALUES ('c'); INSERT INTO audit (name) VALUES ('d');", nil, 1},
	{"BEGIN; INSERT INTO people (name) VALUES ('a'); COMMIT", nil, 1},
	{"INSERT INTO people (name) VALUES ('a'); SELECT name FROM people", nil, 1},
	{"INSERT INTO people (name) VALUES (?); INSERT INTO notes (name) VALUES (?)", []any{"a", "b"}, 2},
	{"INSERT INTO audit (name) VALUES (?); INSERT INTO people (name) VALUES (?), (?); INSERT INTO audit (name) VALUES (?)", []any{"a", "b", "c", "d"}, 2},
	{"INSERT INTO people (name) VALUES (?), (?); INSERT INTO notes (name) VALUES (?)", []any{"a", "b"}, 3},
	{"INSERT INTO people (name) VALUES (?); INSERT INTO notes (name) VALUES ('b')", []any{"a"}, 2},
}

// TestSeveral sends texts of several statements as they are and through keyfill:
// what the driver takes stores the same rows with keys, and what it does not is
// its own error, with nothing stored.
func TestSeveral(t *testing.T) {
	t.Parallel()
	harness.Each(t, severalEngines, func(t *testing.T, s *harness.Scratch) {
		taken := 0
		for path, send := range harness.SeveralPaths {
			for _, c := range severalTexts {
				text := s.Placeholders(c.text)
				severalTables(t, s)
				rawErr := send(context.Background(), s.Raw, text, c.args...)
				want, _ := severalRows(t, s)
				db, _ := s.Open(t, severalTables(t, s))
				ctx, rec := keyfill.Record(context.Background())
				err := send(ctx, db, text, c.args...)
				got, keys := severalRows(t, s)
				name := path + " " + text
				var own *keyfill.Error
				switch {
				case errors.As(err, &own) && mayRefuse(s, err, path, &c):
					if len(got) > 0 {
						t.Errorf("%s: refused, and stored %v", name, got)
					}
					continue
				case (err == nil) != (rawErr == nil) || errors.As(err, &own):
					t.Errorf("%s: %v; without keyfill %v", name, err, rawErr)
					continue
				case !slices.Equal(got, want):
					t.Errorf("%s: stored %v; without keyfill %v", name, got, want)
				}
				if rawErr == nil {
					taken++
					checkSeveralRecorded(t, name, rec, keys, c.keys, path)
				}
			}
		}
		if taken == 0 {
			t.Error("no text was taken")
		}
	})
}

// mayRefuse reports whether a refusal is one that the driver asks for: SQLite's
// counts arguments for each statement.
func mayRefuse(s *harness.Scratch, err error, path string, c *severalText) bool {
	if s.Dialect.Name == "sqlite" {
		return path == "prepared" && errors.Is(err, rewrite.ErrPerStatement)
	}
	// The raw driver's error is about the number of arguments.
	return errors.Is(err, rewrite.ErrArguments) && strings.Count(c.text, "?") != len(c.args)
}

// checkSeveralRecorded compares the keys in the tables with the recorded ones.
func checkSeveralRecorded(t *testing.T, name string, rec *keyfill.Recorder, keys []uuid.UUID, want int, path string) {
	t.Helper()
	all := rec.All()
	if len(keys) != want || len(all) != want {
		t.Errorf("%s: %d keys stored, %d recorded, want %d", name, len(keys), len(all), want)
	}
	for _, k := range all {
		if !slices.Contains(keys, k.Key.(uuid.UUID)) {
			t.Errorf("%s: the recorded key of %s is not stored", name, k.Table)
		}
		if path != "query" && k.Outcome != keyfill.Stored {
			t.Errorf("%s: the key of %s is %v", name, k.Table, k.Outcome)
		}
		if path == "query" && k.Outcome == keyfill.NotStored {
			t.Errorf("%s: the key of %s is %v", name, k.Table, k.Outcome)
		}
	}
}

// TestSeveralFail: where a statement of the text fails, or takes back what the
// others did, nothing is recorded as certain, and the error is the driver's.
func TestSeveralFail(t *testing.T) {
	t.Parallel()
	texts := []string{
		"INSERT INTO people (name) VALUES ('a'); INSERT INTO nowhere (name) VALUES ('b')",
		"INSERT INTO nowhere (name) VALUES ('b'); INSERT INTO people (name) VALUES ('a')",
		"INSERT INTO people (name) VALUES ('a'); INSERT INTO notes (id, name) VALUES ('00000000-0000-7000-8000-000000000001', 'b'), ('00000000-0000-7000-8000-000000000001', 'b')",
		"BEGIN; INSERT INTO people (name) VALUES ('a'); ROLLBACK",
		"INSERT INTO people (name) VALUES ('a'); DELETE FROM people",
	}
	harness.Each(t, severalEngines, func(t *testing.T, s *harness.Scratch) {
		for _, text := range texts {
			for _, path := range []string{"exec", "query"} {
				severalTables(t, s)
				rawErr := harness.SeveralPaths[path](context.Background(), s.Raw, text)
				want, _ := severalRows(t, s)
				db, _ := s.Open(t, severalTables(t, s))
				ctx, rec := keyfill.Record(context.Background())
				err := harness.SeveralPaths[path](ctx, db, text)
				got, _ := severalRows(t, s)
				if fmt.Sprintf("%T", err) != fmt.Sprintf("%T", rawErr) || !slices.Equal(got, want) {
					t.Errorf("%s %s: %v, %v; without keyfill %v, %v", path, text, err, got, rawErr, want)
				}
				for _, k := range rec.All() {
					if k.Outcome != keyfill.Unknown {
						t.Errorf("%s %s: the key of %s is %v", path, text, k.Table, k.Outcome)
					}
				}
			}
		}
	})
}

// TestSeveralModes: a text is filled as a whole or goes out as it came, by the
// most cautious mode of its tables, and counts for each of them.
func TestSeveralModes(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		const text = "INSERT INTO people (name) VALUES ('a'); INSERT INTO notes (name) VALUES ('b')"
		for _, mode := range []policy.Mode{policy.ModeFill, policy.ModeDryRun, policy.ModeOff} {
			cfg := severalTables(t, s)
			cfg.Tables["notes"] = policy.Table{Column: "id", Mode: mode}
			db, m := s.Open(t, cfg)
			harness.Exec(t, db, text)
			_, keys := severalRows(t, s)
			want, withheld := 2, uint64(0)
			if mode != policy.ModeFill {
				want, withheld = 0, 1
			}
			if len(keys) != want {
				t.Errorf("mode %v: %d keys, want %d", mode, len(keys), want)
			}
			for _, table := range []string{"people", "notes"} {
				if st := m.Stats().Tables[table]; st.Filled != 1 || st.Withheld != withheld {
					t.Errorf("mode %v: %s: %+v", mode, table, st)
				}
			}
		}
	})
}

// TestSeveralUnfilled: a text goes out unfilled only where the policy of each of
// its tables allows it.
func TestSeveralUnfilled(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Without18([]harness.Engine{harness.SQLiteFile, harness.PgxDefault}), func(t *testing.T, s *harness.Scratch) {
		refused, reason, source := "SELECT 'a' UNION SELECT 'a'", rewrite.ErrSelect, &policy.Source{Kind: policy.KindUUIDv4}
		if s.Dialect.Name == "postgres" {
			refused, reason = "OVERRIDING USER VALUE VALUES ('a')", rewrite.ErrUserValue
		}
		text := "INSERT INTO people (name) " + refused + "; INSERT INTO notes (name) VALUES ('b')"
		for _, both := range []bool{false, true} {
			cfg := severalTables(t, s)
			cfg.Tables["people"] = policy.Table{Column: "id", InPlace: source, Unsupported: policy.Unfilled}
			if both {
				cfg.Tables["notes"] = policy.Table{Column: "id", Unsupported: policy.Unfilled}
			}
			db, _ := s.Open(t, cfg)
			_, err := db.Exec(text)
			names, keys := severalRows(t, s)
			if both && (err != nil || len(names) != 2) || !both && (!errors.Is(err, reason) || len(names) != 0) || len(keys) != 0 {
				t.Errorf("both %v: %v, stored %v", both, err, names)
			}
		}
	})
}

// TestSeveralLastInsertId: LAST_INSERT_ID() in a statement after an INSERT is its key,
// and the driver's answer is its own.
func TestSeveralLastInsertId(t *testing.T) {
	t.Parallel()
	harness.Each(t, severalEngines[2:4], func(t *testing.T, s *harness.Scratch) {
		const texts = "INSERT INTO %[1]s (name) VALUES ('a'), ('b'); INSERT INTO items (order_id) VALUES (LAST_INSERT_ID())|" +
			"INSERT INTO %[1]s (name) VALUES ('c'); INSERT INTO %[1]s (name) VALUES ('d')|" +
			"INSERT INTO %[1]s (name) VALUES ('e'); UPDATE items SET order_id = order_id|" +
			"START TRANSACTION; INSERT INTO %[1]s (name) VALUES ('f'); COMMIT"
		harness.Exec(t, s.Raw, "CREATE TABLE natively (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9))")
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT PRIMARY KEY, name VARCHAR(9))")
		harness.Exec(t, s.Raw, "CREATE TABLE items (order_id BIGINT)")
		db, _ := s.Open(t, harness.FillID("orders", policy.Table{
			InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1},
		}))
		for text := range strings.SplitSeq(texts, "|") {
			natively, err := s.Raw.Exec(fmt.Sprintf(text, "natively"))
			if err != nil {
				t.Fatal(err)
			}
			filled, err := db.Exec(fmt.Sprintf(text, "orders"))
			if err != nil {
				t.Fatal(err)
			}
			want, _ := natively.LastInsertId()
			if got, err := filled.LastInsertId(); got != want || err != nil {
				t.Errorf("%s: LastInsertId is %d, %v, natively %d", text, got, err, want)
			}
		}
		var same int
		if err := s.Raw.QueryRow("SELECT COUNT(*) FROM items WHERE order_id = 1").Scan(&same); err != nil || same != 2 {
			t.Errorf("%d items are of order 1, want 2: %v", same, err)
		}
	})
}
