package keys_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestFollowMixed: after a key that a row brings, at or above the state, the rows of the
// same INSERT go on above it, as with AUTO_INCREMENT, and later ones too.
func TestFollowMixed(t *testing.T) {
	t.Parallel()
	steps := []struct {
		query string
		args  []any
		want  []int64 // in the order of the rows
		first int64   // LastInsertId of MySQL and MariaDB
	}{
		{"INSERT INTO t (id, a) VALUES (DEFAULT, 1), (DEFAULT, 2)", nil, []int64{1, 2}, 1},
		{"INSERT INTO t (id, a) VALUES (300, 3), (DEFAULT, 4)", nil, []int64{300, 301}, 301},
		{"INSERT INTO t (id, a) VALUES (DEFAULT, 5), (400, 6), (DEFAULT, 7), (NULL, 8)", nil, []int64{302, 400, 401, 402}, 302},
		{"INSERT INTO t (id, a) VALUES (350, 9), (DEFAULT, 10)", nil, []int64{350, 403}, 403},
		{"INSERT INTO t (id, a) VALUES (?, 11), (?, 12), (?, 13), (?, 14)", []any{nil, 500, nil, 600}, []int64{404, 500, 501, 600}, 404},
		{"INSERT INTO t (a, id) VALUES (15, '700'), (16, NULL), (17, 800), (18, NULL)", nil, []int64{700, 701, 800, 801}, 701},
		{"INSERT INTO t (a) VALUES (19)", nil, []int64{802}, 802},
		{"INSERT INTO t (id, a) VALUES (900, 20), (901, 21), (NULL, 22)", nil, []int64{900, 901, 902}, 902},
		{"INSERT INTO t (a) VALUES (23)", nil, []int64{903}, 903},
	}
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, FollowExplicit: true, Block: 1,
		}}))
		for _, c := range steps {
			query := c.query
			if s.Dialect.LastRowID {
				query = strings.ReplaceAll(query, "DEFAULT", "NULL")
			}
			res, err := db.Exec(s.Placeholders(query), c.args...)
			if err != nil {
				t.Errorf("%s: %v", query, err)
				continue
			}
			n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t")
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY a")[n-len(c.want):]; !slices.Equal(got, c.want) {
				t.Errorf("%s, %v: stored %v, want %v", query, c.args, got, c.want)
			}
			if id, _ := res.LastInsertId(); s.Driver == "mysql" && id != c.first {
				t.Errorf("%s, %v: LastInsertId is %d, want %d", query, c.args, id, c.first)
			}
		}
	})
}

// TestFollowMixedKeys: the numbers of one key column do not depend on how many rows take a
// key of another one.
func TestFollowMixedKeys(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, joined := range []bool{false, true} {
			table, column := fmt.Sprint("t_", joined), "INTEGER PRIMARY KEY"
			if s.Server != nil {
				column = "BIGINT PRIMARY KEY AUTO_INCREMENT"
			}
			harness.Must(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (id %s, u CHAR(36) NOT NULL, a INT)", table, column))
			src := harness.Counted(func(p *policy.Source) {
				p.Exclusive = s.Server != nil
				if joined {
					p.Block, p.Transaction = 0, policy.TransactionJoined
				}
			})
			db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{table: {Keys: []policy.Key{
				{Column: "id", InPlace: &src}, {Column: "u", InPlace: &policy.Source{Kind: policy.KindUUIDv4}},
			}}}})
			for _, rows := range []string{"(NULL, 1)", "(NULL, 2), ((SELECT NULL), 3), (NULL, 4)", "(50, 5), (NULL, 6), (60, 7)", "(NULL, 8), (70, 9), (NULL, 10)"} {
				if _, err := db.Exec("INSERT INTO " + table + " (id, a) VALUES " + rows); err != nil {
					t.Errorf("joined %v, %s: %v", joined, rows, err)
				}
			}
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM "+table); n != 10 {
				t.Errorf("joined %v: %d rows", joined, n)
			}
		}
	})
}

// TestFollowMixedCounter: the counter of InnoDB stands above the greatest key after an
// INSERT of several rows. The rows of the next one have different numbers all the same.
func TestFollowMixedCounter(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		for _, joined := range []bool{false, true} {
			table := fmt.Sprint("t_", joined)
			harness.Must(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT PRIMARY KEY AUTO_INCREMENT, a INT)")
			src := harness.Counted(func(p *policy.Source) {
				if p.Exclusive = true; joined {
					p.Block, p.Transaction = 0, policy.TransactionJoined
				}
			})
			db, _ := s.Open(t, harness.FillID(table, policy.Table{InPlace: &src}))
			for i, rows := range []string{
				"INSERT %s (NULL, 1), ((SELECT NULL), 2), (NULL, 3)",
				"INSERT %s ((SELECT NULL), 4), (NULL, 5), (NULL, 6)",
				"REPLACE %s ((SELECT NULL), 7), (NULL, 8), (NULL, 9)",
				"REPLACE %s ((SELECT NULL), 10), (NULL, 11), ((SELECT NULL), 12), (NULL, 13), (900, 14), ((SELECT NULL), 15), (NULL, 16)",
				"REPLACE %s (NULL, 17), ((SELECT NULL), 18), (NULL, 19)",
			} {
				query := fmt.Sprintf(rows, "INTO "+table+" (id, a) VALUES")
				if _, err := db.Exec(query); err != nil {
					t.Errorf("%s: %v", query, err)
				}
				want := []int{3, 6, 9, 16, 19}[i]
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM "+table+" WHERE a > 0"); n != want {
					t.Errorf("%s: %d rows, want %d", query, n, want)
				}
			}
		}
	})
}
