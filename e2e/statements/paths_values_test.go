package statements_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/lib/pq"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// named is a type of an application.
type named string

// valueCases are arguments of every sort that the drivers take, and some that
// they do not, with the types of the columns that they go into.
var valueCases = []struct {
	name    string
	value   any
	columns map[string]string // by dialect
}{
	{"string", "a", harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"no text", "a\x00b", harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"bytes", []byte{0, 1, 0xff}, harness.ColumnTypes("BYTEA", "BLOB", "BLOB")},
	{"nil", nil, harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"nil bytes", []byte(nil), harness.ColumnTypes("BYTEA", "BLOB", "BLOB")},
	{"int64", int64(-5), harness.ColumnTypes("BIGINT", "BIGINT", "INTEGER")},
	{"int32", int32(-5), harness.ColumnTypes("INT", "INT", "INTEGER")},
	{"bool", true, harness.ColumnTypes("BOOLEAN", "BOOLEAN", "BOOLEAN")},
	{"float64", 1.25, harness.ColumnTypes("DOUBLE PRECISION", "DOUBLE", "REAL")},
	{"time", time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC), harness.ColumnTypes("TIMESTAMPTZ", "DATETIME(6)", "TIMESTAMP")},
	{"uint64 with the high bit", uint64(1<<63 + 1), harness.ColumnTypes("NUMERIC", "BIGINT UNSIGNED", "INTEGER")},
	{"uuid.UUID", uuid.MustParse(harness.Key), harness.ColumnTypes("UUID", "CHAR(36)", "TEXT")},
	{"[16]byte", [16]byte(uuid.MustParse(harness.Key)), harness.ColumnTypes("UUID", "BINARY(16)", "BLOB")},
	{"[]string", []string{"a", "b,c"}, harness.ColumnTypes("TEXT[]", "TEXT", "TEXT")},
	{"[]int64", []int64{1, 2}, harness.ColumnTypes("BIGINT[]", "TEXT", "TEXT")},
	{"pq.Array", pq.Array([]string{"a", "b,c"}), harness.ColumnTypes("TEXT[]", "TEXT", "TEXT")},
	{"map", map[string]any{"a": 1}, harness.ColumnTypes("JSONB", "TEXT", "TEXT")},
	{"json.RawMessage", json.RawMessage(`{"a": 1}`), harness.ColumnTypes("JSONB", "TEXT", "TEXT")},
	{"sql.NullString", sql.NullString{}, harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"pgtype.Text", pgtype.Text{String: "a", Valid: true}, harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"pointer", new("a"), harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"nil pointer", (*string)(nil), harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"named type", named("a"), harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"channel", make(chan int), harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"struct", struct{ A int }{1}, harness.ColumnTypes("TEXT", "TEXT", "TEXT")},
	{"text for a number", "a", harness.ColumnTypes("BIGINT", "BIGINT", "INTEGER")},
}

// TestValues stores each value by a statement that is filled, prepared and not,
// and through the raw driver: it must be stored alike, or be the same error.
// Wrappers without the driver's own checkers of arguments fail here.
func TestValues(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		cfg := &policy.Config{Tables: map[string]policy.Table{"v_*": {Column: "id"}}}
		db, _ := s.Open(t, cfg)
		for i, c := range valueCases {
			t.Run(c.name, func(t *testing.T) {
				table := fmt.Sprintf("v_%d", i)
				harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (n INT, v %s, id CHAR(36) NOT NULL PRIMARY KEY)", table, c.columns[s.Dialect.Name]))
				insert := s.Placeholders("INSERT INTO " + table + " (v, n) VALUES (?, ?)")
				withKey := s.Placeholders("INSERT INTO " + table + " (v, n, id) VALUES (?, ?, ?)")

				rows := 0
				compare := func(path string, got, want error) {
					if want == nil {
						rows++
					}
					compareErrors(t, path, got, want)
				}
				_, want := s.Raw.Exec(withKey, c.value, 0, "raw")
				compare("raw", want, want)
				_, got := db.Exec(insert, c.value, 0)
				compare("Exec", got, want)

				_, want = harness.PreparedExec(s.Raw, withKey, c.value, 0, "raw, prepared")
				compare("raw, prepared", want, want)
				for range 2 {
					_, got = harness.PreparedExec(db, insert, c.value, 0)
					compare("prepared Exec", got, want)
				}
				compare("prepared Query", preparedQuery(db, insert+" RETURNING id", c.value, 0), want)

				total := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM "+table)
				distinct := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM (SELECT DISTINCT n, v FROM "+table+") AS d")
				if total != rows || distinct != min(rows, 1) {
					t.Errorf("%d rows with %d values are stored, want %d with one", total, distinct, rows)
				}
			})
		}
	})
}

func preparedQuery(db *sql.DB, query string, args ...any) error {
	stmt, err := db.Prepare(query)
	if err != nil {
		return err
	}
	defer stmt.Close()
	rows, err := stmt.Query(args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// compareErrors compares the texts of two errors.
func compareErrors(t *testing.T, what string, got, want error) {
	t.Helper()
	if (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
		t.Errorf("%s: error %v\nwant, as through the raw driver: %v", what, got, want)
	}
}

// TestArgumentCount asks for the raw driver's error when the number of arguments is
// wrong, wherever database/sql counts them: prepared statements of drivers that report
// how many they take, and all of go-sql-driver's. Elsewhere the error may be another, but
// it must be one, and nothing may be stored.
//
//deviation:filled-inserts | A wrong number of arguments is an error of keyfill where the driver does not count. More arguments than SQLite needs are an error too. | all | two arguments for three placeholders | –
func TestArgumentCount(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, name TEXT, n INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE plain (id CHAR(36), name TEXT, n INT)")
		db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
		for _, insert := range []string{
			"INSERT INTO people (name, n) VALUES (?, ?)",
			"INSERT INTO people (id, name, n) VALUES (NULL, ?, ?)",
			"INSERT INTO people (name, n) VALUES (?, ?) RETURNING id",
		} {
			ours := s.Placeholders(insert)
			raw := strings.Replace(ours, "people", "plain", 1)
			for _, args := range [][]any{{}, {"a"}, {"a", 1, 2}} {
				prepared, direct := compareErrors, anyError
				switch {
				case s.Driver == "sqlite": // which does not report how many it takes
					prepared = anyError
				case s.Driver == "mysql" && len(args) > 0:
					direct = compareErrors
				}
				what := fmt.Sprintf("%q with %d arguments", ours, len(args))
				_, want := harness.PreparedExec(s.Raw, raw, args...)
				_, got := harness.PreparedExec(db, ours, args...)
				prepared(t, what+", prepared", got, want)
				_, want = s.Raw.Exec(raw, args...)
				_, got = db.Exec(ours, args...)
				direct(t, what+", Exec", got, want)
				want, got = harness.Drain(s.Raw, raw, args...), harness.Drain(db, ours, args...)
				direct(t, what+", Query", got, want)
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != 0 {
			t.Errorf("%d rows are stored", n)
		}
	})
}

// anyError asks for an error, whatever the raw driver's is.
func anyError(t *testing.T, what string, got, want error) {
	t.Helper()
	if got == nil {
		t.Errorf("%s: no error; the raw driver's is %v", what, want)
	}
}
