package statements_test

import (
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// droppedRows are INSERTs into people (code, parent, age), where a parent is 1 and an
// age is above 0, with the outcomes of their keys and LastInsertId, -1 where the
// INSERT fails.
var droppedRows = []struct {
	name, values, want string
	last               int64
}{
	{"foreign key", "('a', 99, 5)", "N", 0},
	{"foreign key, the first", "('a', 99, 5), ('b', 1, 5)", "NS", 102},
	{"foreign key, the last", "('a', 1, 5), ('b', 99, 5)", "SN", 101},
	{"check", "('a', 1, -5)", "N", -1}, // MariaDB's IGNORE leaves a failed CHECK of the only row an error
	{"check, the first", "('a', 1, -5), ('b', 1, 5)", "NS", 102},
	{"check, the last", "('a', 1, 5), ('b', 1, -5)", "SN", 101},
	{"both and a duplicate", "('a', 99, 5), ('b', 1, -5), ('c', 1, 5), ('c', 1, 6), ('d', 1, 7)", "NNSNS", 103},
	{"none", "('a', 1, 5), ('b', 1, 6)", "SS", 101},
}

// TestIgnoredByConstraints: under INSERT IGNORE a foreign key and a CHECK leave rows
// out, though no unique index has their values.
func TestIgnoredByConstraints(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		for _, inside := range []bool{false, true} {
			for _, c := range droppedRows {
				for _, table := range []string{"people", "keyfill_sequences", "parents"} {
					harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS "+table)
				}
				harness.Must(t, s.Raw, "CREATE TABLE parents (id INT PRIMARY KEY)", "INSERT INTO parents VALUES (1)",
					"CREATE TABLE people (id BIGINT PRIMARY KEY, code VARCHAR(20) UNIQUE, parent INT, age INT, FOREIGN KEY (parent) REFERENCES parents (id), CHECK (age > 0))")
				db, _ := s.Open(t, harness.FillID("people", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 101}}))
				ctx, rec := keyfill.Record(t.Context())
				conn := harness.ConnOf(t, db)
				if inside {
					harness.Must(t, conn, "BEGIN")
				}
				res, err := conn.ExecContext(ctx, "INSERT IGNORE INTO people (code, parent, age) VALUES "+c.values)
				if (err != nil) != (c.last < 0) {
					t.Fatalf("%s, inside %v: %v", c.name, inside, err)
				}
				last := int64(-1)
				if err == nil {
					last, err = res.LastInsertId()
				}
				if last != c.last {
					t.Errorf("%s, inside %v: LastInsertId is %d, error %v, want %d", c.name, inside, last, err, c.last)
				}
				if inside {
					harness.Must(t, conn, "COMMIT")
				}
				if word := outcomesOf(t, s, rec, "people"); word != c.want {
					t.Errorf("%s, inside %v: recorded is %s, want %s", c.name, inside, word, c.want)
				}
				conn.Close()
				db.Close()
			}
		}
	})
}
