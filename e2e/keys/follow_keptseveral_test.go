package keys_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestKeptNullSeveral: in a text of several statements, rows that the engine numbers, since
// their key is NULL when they run, rows that bring their key, and rows that keyfill numbers
// have different numbers.
//
//deviation:brought-keys | A text of several statements in which an INSERT brings or leaves out a key, and a later one into the same table gets a key, is executed one statement after the other. `AllRowsAffected` of go-sql-driver shows the last statement alone. | SQLite; MySQL, MariaDB | `INSERT INTO t (id, a) SELECT NULL, 1; INSERT INTO t (a) VALUES (2)` | two texts
//deviation:brought-keys | With arguments, through Query, and with `ROW_COUNT()` or `FOUND_ROWS()`, a text of several statements is sent whole, and the later key may be a duplicate-key error. | SQLite; MySQL, MariaDB | `INSERT INTO t (id, a) VALUES (?, 1); INSERT INTO t (a) VALUES (2)` | two texts
func TestKeptNullSeveral(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]policy.Source{
		"sequence": harness.Counted(nil), "block 1": harness.Counted(func(s *policy.Source) { s.Block = 1 }),
		"joined": *harness.JoinedSource(), "recycled": {Kind: policy.KindRecycled, EnsureSchema: true, Series: 40},
	} {
		t.Run(name, func(t *testing.T) {
			engines := []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.SQLiteFile, harness.MattnFile}
			engines[0].Params = "multiStatements=true"
			engines[1].Params += "&multiStatements=true"
			harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
				column := "INTEGER PRIMARY KEY"
				if s.Server != nil {
					column = "BIGINT PRIMARY KEY AUTO_INCREMENT"
					src.Exclusive = true
				}
				harness.Must(t, s.Raw, "CREATE TABLE t (id "+column+", a INT)", "CREATE TABLE staging (id BIGINT, a INT)", "INSERT INTO staging VALUES (NULL, 1), (NULL, 1)")
				db, _ := s.Open(t, harness.InPlace(src))
				for _, kept := range keptNulls {
					if !strings.Contains(kept, "(id, a)") || name == "joined" && strings.Contains(kept, "CAST") {
						continue // refused in such a text: it needs a column list, and CAST(NULL …) is filled
					}
					for _, text := range severalWith(kept) {
						if name == "joined" && (strings.HasPrefix(text, "BEGIN") || strings.HasPrefix(text, "UPDATE") || strings.HasPrefix(kept, "REPLACE")) {
							continue // refused: the key belongs to a transaction that the text begins, or may undo
						}
						next := harness.Count(t, s.Raw, "SELECT COALESCE(MAX(id), 0) + 1 FROM t")
						text = strings.ReplaceAll(text, "next", fmt.Sprint(next))
						before := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t")
						harness.Exec(t, db, text)
						if n, want := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t")-before, rowsOf(text); n != want {
							t.Errorf("%s: %d rows, want %d", text, n, want)
						}
						harness.Exec(t, db, harness.InsertT)
					}
				}
			})
		})
	}
}

// severalWith returns texts of several statements with an INSERT.
func severalWith(kept string) []string {
	const filled, two = "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a) VALUES (1), (1)"
	return []string{
		kept + "; " + filled, filled + "; " + kept + "; " + filled + ";", kept + "; " + two + "; " + kept + "; " + filled,
		kept + "; INSERT INTO t (id, a) VALUES (1000 + next, 1); " + filled, "INSERT INTO t (id, a) VALUES (next, 1); " + filled,
		"BEGIN; " + kept + "; " + filled + "; COMMIT; " + filled, "UPDATE staging SET a = 2; " + kept + "; /* ; */ " + filled + " -- ;",
	}
}

// rowsOf returns how many rows a text of severalWith stores.
func rowsOf(text string) (n int) {
	for _, part := range strings.Split(text, "; ") {
		switch {
		case strings.Contains(part, "FROM staging UNION"):
			n += 3
		case strings.Contains(part, "FROM staging"), strings.Contains(part, "), ("):
			n += 2
		case strings.Contains(part, "INTO"):
			n++
		}
	}
	return n
}
