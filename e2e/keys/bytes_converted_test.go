package keys_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// characterSets are texts after which the server converts the arguments of prepared
// statements, and one after which it does not.
var characterSets = []string{
	"SET CHARACTER SET latin1", "SET character_set_connection = latin1", "SET collation_connection = 'utf8mb3_bin'",
	"SET character_set_client = 'latin2'", "SET NAMES utf8mb4", "SET NAMES latin1", "SET CHARACTER SET binary", "CALL sets()",
}

// TestBytesConverted: a key of BINARY(16) is stored with the bytes that are recorded, also
// where the session converts arguments: in each form of an INSERT, prepared before the
// character sets are set and after it.
//
//deviation:settings | Where the session converts arguments from its client's character set, a key of 16 bytes of a prepared statement stands in the text as x'…', and the statement is prepared anew each time. As an argument it would be stored as other bytes. | MySQL, MariaDB | `SET CHARACTER SET latin1`; `SET collation_connection = …`; `CALL p()` | `SET NAMES`; `layout: string`
//deviation:settings | Before its first INSERT with arguments and a key of 16 bytes the first session is asked whether it converts arguments; each session is asked again after a text that may have set a character set. | MySQL, MariaDB | `SET NAMES latin1` | `layout: string`
func TestBytesConverted(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BINARY(16) PRIMARY KEY, a INT)", "CREATE TABLE s (b INT)", "INSERT INTO s VALUES (1), (2), (3)",
			"CREATE PROCEDURE sets() SET character_set_connection = latin1")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{Layout: dialect.SequentialAsBinary}))
		stored := func(t *testing.T, rec *keyfill.Recorder, rows int) {
			t.Helper()
			all := rec.Keys("t")
			if len(all) != rows {
				t.Errorf("%d keys are recorded, want %d", len(all), rows)
			}
			for _, k := range all {
				if id := k.Key.(uuid.UUID); harness.Count(t, s.Raw, fmt.Sprintf("SELECT COUNT(*) FROM t WHERE id = x'%x'", id[:])) != 1 {
					t.Errorf("the key %x is recorded as %v, and not stored", id[:], k.Outcome)
				}
			}
		}
		for _, set := range characterSets {
			t.Run(set, func(t *testing.T) {
				c := harness.ConnOf(t, db)
				defer c.Close()
				before, err := c.PrepareContext(t.Context(), "INSERT INTO t (a) VALUES (?)")
				if err != nil {
					t.Fatal(err)
				}
				defer before.Close()
				for range 3 { // a byte is converted by chance
					ctx, rec := keyfill.Record(t.Context())
					if _, err := before.ExecContext(ctx, 1); err != nil {
						t.Fatal(err)
					}
					stored(t, rec, 1)
				}
				harness.Must(t, c, set)
				after, err := c.PrepareContext(t.Context(), "INSERT INTO t (a) SELECT ? UNION ALL SELECT 9")
				if err != nil {
					t.Fatal(err)
				}
				defer after.Close()
				for n := range 3 {
					ctx, rec := keyfill.Record(t.Context())
					if _, err := before.ExecContext(ctx, n); err != nil {
						t.Fatal(err)
					}
					if _, err := after.ExecContext(ctx, n); err != nil {
						t.Fatal(err)
					}
					if _, err := c.ExecContext(ctx, "INSERT INTO t (a) VALUES (?), (?)", n, n); err != nil {
						t.Fatal(err)
					}
					if _, err := c.ExecContext(ctx, "INSERT INTO t (a) VALUES (7)"); err != nil {
						t.Fatal(err)
					}
					rows, err := c.QueryContext(ctx, "INSERT INTO t (a) VALUES (?) RETURNING a", n)
					if err != nil {
						t.Fatal(err)
					}
					if err := rows.Close(); err != nil {
						t.Fatal(err)
					}
					stored(t, rec, 7)
				}
				harness.Must(t, c, "INSERT INTO t (a) SELECT b FROM s", "SET NAMES utf8mb4")
				ctx, rec := keyfill.Record(t.Context())
				if _, err := before.ExecContext(ctx, 1); err != nil {
					t.Fatal(err)
				}
				stored(t, rec, 1)
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE SUBSTR(HEX(id), 13, 1) <> '7' OR SUBSTR(HEX(id), 17, 1) NOT IN ('8', '9', 'A', 'B')"); n != 0 {
					t.Errorf("%d keys are no UUIDs of version 7", n)
				}
			})
		}
	})
}

// TestBytesConvertedNull is TestBytesConverted for keys instead of an argument that is
// NULL.
func TestBytesConvertedNull(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BINARY(16) PRIMARY KEY, a INT UNIQUE)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{Layout: dialect.SequentialAsBinary}))
		forms := []struct {
			text string
			args []any
			rows int
		}{
			{"INSERT INTO t (id, a) VALUES (?, ?)", []any{nil, 1}, 1},
			{"INSERT INTO t (a, id) VALUES (?, ?)", []any{1, nil}, 1},
			{"INSERT IGNORE INTO t (id, a) VALUES (?, ?), (DEFAULT, 2), (?, ?) /* ? */ -- '?", []any{nil, 1, nil, 3}, 3},
			{"INSERT INTO t SET id = ?, a = ?", []any{nil, 1}, 1},
			{"REPLACE INTO t (id, a) VALUES (?, ?)", []any{nil, 1}, 1},
			{"INSERT INTO t (id, a) VALUES (?, ?) ON DUPLICATE KEY UPDATE a = ?", []any{nil, 1, 5}, 1},
			{"INSERT INTO t (a) VALUES (?) ON DUPLICATE KEY UPDATE a = VALUES(a)", []any{1}, 1},
		}
		for _, set := range characterSets[:3] {
			for _, f := range forms {
				t.Run(set+"/"+f.text, func(t *testing.T) {
					c := harness.ConnOf(t, db)
					defer c.Close()
					harness.Must(t, c, set)
					for range 3 { // a byte is converted by chance
						harness.Must(t, s.Raw, "DELETE FROM t")
						ctx, rec := keyfill.Record(t.Context())
						if _, err := c.ExecContext(ctx, f.text, f.args...); err != nil {
							t.Fatal(err)
						}
						all := rec.Keys("t")
						if len(all) != f.rows {
							t.Errorf("%d keys are recorded, want %d", len(all), f.rows)
						}
						for _, k := range all {
							if id := k.Key.(uuid.UUID); harness.Count(t, s.Raw, fmt.Sprintf("SELECT COUNT(*) FROM t WHERE id = x'%x'", id[:])) != 1 {
								t.Errorf("the key %x is recorded as %v, and not stored", id[:], k.Outcome)
							}
						}
					}
				})
			}
		}
	})
}
