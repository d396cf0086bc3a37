package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// copyText is a migration's copy of a table without its keys.
const copyText = "CREATE TABLE x_new (id BIGINT NOT NULL PRIMARY KEY, a INT); INSERT INTO x_new (a) SELECT a FROM x ORDER BY a; DROP TABLE x; ALTER TABLE x_new RENAME TO x"

// eachTableCopy runs a test where such a text is one transaction, beside a table with
// two rows.
func eachTableCopy(t *testing.T, f func(t *testing.T, c *copyTest)) {
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	harness.Each(t, []harness.Engine{harness.PgxSimple, harness.PQDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE x (id BIGINT NOT NULL PRIMARY KEY, a INT)", "INSERT INTO x VALUES (5, 1), (7, 2)")
		db, _ := s.Open(t, harness.FillID("x*", policy.Table{InPlace: &source}))
		f(t, &copyTest{s, db})
	})
}

type copyTest struct {
	*harness.Scratch
	db *sql.DB
}

// stored compares the rows of x.
func (c *copyTest) stored(t *testing.T, when string, want ...string) {
	t.Helper()
	if got := harness.RowsOf(t, c.Raw, "SELECT id, a FROM x ORDER BY a, id"); !slices.Equal(got, want) {
		t.Errorf("%s: stored %q, want %q", when, got, want)
	}
}

// values are the values of x besides its keys, which are to be distinct.
func (c *copyTest) values(t *testing.T, when string, want []int64) {
	t.Helper()
	if got := harness.IntegersOf(t, c.Raw, "SELECT a FROM x ORDER BY a"); !slices.Equal(got, want) {
		t.Errorf("%s: values %v, want %v", when, got, want)
	}
	if n := harness.Count(t, c.Raw, "SELECT COUNT(DISTINCT id) FROM x"); n != len(want) {
		t.Errorf("%s: %d keys for %d rows", when, n, len(want))
	}
	if n := harness.Count(t, c.Raw, "SELECT COUNT(*) FROM pg_class WHERE relname = 'x_new'"); n != 0 {
		t.Errorf("%s: x_new is there", when)
	}
}

// TestTableCopyText: the text is filled, what it stores is what the plain driver stores
// but for the keys, and no key is called stored.
func TestTableCopyText(t *testing.T) {
	t.Parallel()
	eachTableCopy(t, func(t *testing.T, c *copyTest) {
		ctx, rec := keyfill.Record(context.Background())
		if _, err := c.db.ExecContext(ctx, copyText); err != nil {
			t.Fatal(err)
		}
		c.stored(t, "copied", "[{1 true} {1 true}]", "[{2 true} {2 true}]")
		for _, k := range rec.Keys("x_new") {
			if k.Outcome != keyfill.Unknown {
				t.Fatalf("key %v is %v", k.Key, k.Outcome)
			}
		}
		harness.Must(t, c.db, copyText)
		c.values(t, "again", []int64{1, 2})
		harness.Must(t, c.Raw, "DELETE FROM x")
		harness.Must(t, c.db, copyText)
		c.values(t, "without rows", nil)
	})
}

// TestTableCopyTransaction: in a transaction of the application the text is a part of it,
// and so is a refusal.
func TestTableCopyTransaction(t *testing.T) {
	t.Parallel()
	eachTableCopy(t, func(t *testing.T, c *copyTest) {
		for _, end := range []string{"ROLLBACK", "COMMIT"} {
			conn := harness.ConnOf(t, c.db)
			harness.Must(t, conn, "BEGIN", "INSERT INTO x VALUES (9, 3)")
			made := "CREATE TABLE made (a INT); INSERT INTO made VALUES (1); INSERT INTO x (a) SELECT a FROM made"
			if _, err := conn.ExecContext(context.Background(), made); !errors.Is(err, rewrite.ErrSelectSeveral) {
				t.Fatalf("a source that the text makes: %v", err)
			}
			harness.Must(t, conn, copyText, end)
			conn.Close()
			if end == "ROLLBACK" {
				c.stored(t, end, "[{5 true} {1 true}]", "[{7 true} {2 true}]")
			} else {
				c.values(t, end, []int64{1, 2, 3})
			}
		}
		conn := harness.ConnOf(t, c.db)
		defer conn.Close()
		harness.Must(t, conn, "BEGIN")
		grows := "INSERT INTO x (id, a) SELECT n + 1000, n FROM generate_series(4, 203) n; " + copyText
		_, err := conn.ExecContext(context.Background(), grows)
		c.grew(t, err)
		harness.MustFail(t, conn, "SELECT 1") // as the engine has it
		harness.Must(t, conn, "ROLLBACK")
		c.values(t, "grown in a transaction", []int64{1, 2, 3})
	})
}

// grew wants the error of a text that had more rows than were counted.
func (c *copyTest) grew(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "nothing of it is stored") {
		t.Errorf("more rows than were counted: %v", err)
	}
}

// TestTableCopyWriter: rows that another writer adds between the count and the INSERT are
// numbered too, or are too many and the whole text is undone.
//
//deviation:insert-select | In a text of several statements the rows are counted before the text. keyfill reserves an eighth more keys than rows, and 64; unused keys are gaps, which `Stats` counts and `Record` calls unknown. If more rows come, the whole text is an error and stores nothing. | PostgreSQL | `CREATE TABLE x_new …; INSERT INTO x_new (a) SELECT a FROM x; DROP TABLE x; ALTER TABLE x_new RENAME TO x` | send the INSERT alone
func TestTableCopyWriter(t *testing.T) {
	t.Parallel()
	eachTableCopy(t, func(t *testing.T, c *copyTest) {
		for _, rows := range []int64{7, 300} {
			writer, err := c.Raw.Begin()
			if err != nil {
				t.Fatal(err)
			}
			harness.Must(t, writer, fmt.Sprintf("INSERT INTO x SELECT n + 1000, n FROM generate_series(%d, %d) n", rows, 2*rows-1))
			done := make(chan error, 1)
			go func() {
				_, err := c.db.ExecContext(context.Background(), "LOCK TABLE x IN ACCESS EXCLUSIVE MODE; "+copyText)
				done <- err
			}()
			harness.Eventually(t, func() error {
				if harness.CountInt(t, c.Raw, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 0 {
					return errors.New("nobody waits for the writer")
				}
				return nil
			})
			if err := writer.Commit(); err != nil {
				t.Fatal(err)
			}
			err = <-done
			want := append([]int64{1, 2}, harness.Above(7, 7)...)
			if rows == 7 {
				if err != nil {
					t.Fatal(err)
				}
			} else {
				c.grew(t, err)
				want = append(want, harness.Above(rows, int(rows))...)
			}
			c.values(t, fmt.Sprint(rows, " rows more"), want)
		}
	})
}

// TestTableCopyTrigger: so are rows that a trigger of an earlier statement adds.
func TestTableCopyTrigger(t *testing.T) {
	t.Parallel()
	eachTableCopy(t, func(t *testing.T, c *copyTest) {
		harness.Must(t, c.Raw, "CREATE TABLE cause (n INT)",
			`CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS
				'BEGIN INSERT INTO x SELECT i + 1000, i FROM generate_series(NEW.n, 2 * NEW.n - 1) i; RETURN NEW; END'`,
			"CREATE TRIGGER more AFTER INSERT ON cause FOR EACH ROW EXECUTE FUNCTION more()")
		want := append([]int64{1, 2}, harness.Above(7, 7)...)
		harness.Must(t, c.db, "INSERT INTO cause VALUES (7); "+copyText)
		c.values(t, "seven rows more", want)
		_, err := c.db.ExecContext(context.Background(), "INSERT INTO cause VALUES (300); "+copyText)
		c.grew(t, err)
		c.values(t, "300 rows more", want)
		if n := harness.Count(t, c.Raw, "SELECT COUNT(*) FROM cause"); n != 1 {
			t.Errorf("%d rows in cause: a part of the text has run", n)
		}
	})
}

// TestTableCopyQuery: sent as a query, the text stores the same or nothing.
func TestTableCopyQuery(t *testing.T) {
	t.Parallel()
	eachTableCopy(t, func(t *testing.T, c *copyTest) {
		for _, text := range []string{copyText, "INSERT INTO x (id, a) SELECT n + 1000, n FROM generate_series(4, 203) n; " + copyText} {
			rows, err := c.db.Query(text)
			if err == nil {
				for more := true; more; more = rows.NextResultSet() {
					for rows.Next() {
					}
				}
				err = rows.Err()
				rows.Close()
			}
			t.Log(err) // some drivers prepare what is queried
			c.values(t, text, []int64{1, 2})
		}
	})
}

// TestTableCopyRefused: a source whose numbers may not be left unused refuses the text
// before anything in it runs.
//
//deviation:insert-select | A text of several statements is refused unless the source is `sequence` with its own transaction and no scope, the INSERT names its columns, there are no arguments, and the query can be counted before the text runs. | PostgreSQL | `…; INSERT INTO x_new (a) SELECT a FROM x; COMMIT`; a query over a table that the text makes | send the INSERT alone; name the key column
//deviation:insert-select | Beside an `INSERT … SELECT` with integer keys a text may have INSERT, UPDATE, DELETE, SELECT, TRUNCATE, COMMENT, LOCK, ANALYZE, and CREATE, ALTER and DROP of tables, indexes, sequences and views without CONCURRENTLY. With any other statement beside it, keyfill refuses the whole text. | PostgreSQL | `CALL p(); INSERT INTO x_new (a) SELECT a FROM x` | send the INSERT alone; name the key column
func TestTableCopyRefused(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]policy.Source{
		"joined":     harness.AlteredSources["joined"],
		"maxplusone": harness.AlteredSources["maxplusone"],
		"recycled":   {Kind: policy.KindRecycled, EnsureSchema: true},
	} {
		t.Run(name, func(t *testing.T) {
			eachTableCopy(t, func(t *testing.T, c *copyTest) {
				db, _ := c.Open(t, harness.FillID("x*", policy.Table{InPlace: &source}))
				_, err := db.Exec(copyText)
				if !errors.Is(err, rewrite.ErrSelectSeveral) && !errors.Is(err, rewrite.ErrSelect) && !errors.Is(err, rewrite.ErrTogether) {
					t.Errorf("%v, want the reason %s", err, string(rewrite.ErrSelectSeveral))
				}
				c.stored(t, name, "[{5 true} {1 true}]", "[{7 true} {2 true}]")
			})
		})
	}
}
