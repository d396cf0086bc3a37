package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// returningEngines are those with RETURNING.
var returningEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}

// wantNoTransaction waits until no transaction is open on the server's side that a
// connection of ours has begun. A server notices late that a connection was closed, and
// it is not known how late: a transaction that stays is found at the end of the test's
// time.
func wantNoTransaction(t *testing.T, s *harness.Scratch) {
	t.Helper()
	ctx := context.Background()
	if end, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-10*time.Second))
		defer cancel()
	}
	switch {
	case s.Dialect.Name == "mariadb":
		// The lock is there when no transaction has the tables any more. Asking
		// information_schema.innodb_trx again and again does not do: it shows the state
		// from 0.1 seconds before the last question, so that a client that asks more
		// often is shown the same for ever.
		admin := harness.ConnOf(t, s.Raw)
		for _, q := range []string{"SET lock_wait_timeout = 31536000", "LOCK TABLES t WRITE, keyfill_sequences WRITE", "UNLOCK TABLES"} {
			if _, err := admin.ExecContext(ctx, q); err != nil {
				t.Fatalf("a transaction is open: %v", err)
			}
		}
	case s.IsPostgres():
		for open := 1; ; time.Sleep(10 * time.Millisecond) {
			err := s.Raw.QueryRowContext(ctx, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'").Scan(&open)
			if err != nil {
				t.Fatalf("%d transactions are open: %v", open, err)
			}
			if open == 0 {
				return
			}
		}
	}
}

// TestJoinedQuery: an INSERT with RETURNING has committed when its rows are given,
// however they are read.
//
//deviation:keys-of-a-transaction | A joined INSERT through Query outside of transactions has committed when Query returns: its rows are in memory, and Query returns an error of reading the rows or of the commit. | all with RETURNING or OUTPUT | `db.Query("INSERT … RETURNING id")` | `transaction: autonomous`
func TestJoinedQuery(t *testing.T) {
	t.Parallel()
	harness.Each(t, returningEngines, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		db.SetMaxOpenConns(1)
		three := s.Placeholders("INSERT INTO t (a) VALUES (?), (?), (?) RETURNING id")
		literal := "INSERT INTO t (a) VALUES (1) RETURNING id"
		ctx, rec := keyfill.Record(context.Background())
		for _, how := range []string{"to the end", "closed early", "one row", "literal", "cancelled"} {
			t.Run(how, func(t *testing.T) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				switch how {
				case "one row":
					var id int64
					if err := db.QueryRowContext(ctx, three, 1, 2, 3).Scan(&id); err != nil {
						t.Fatal(err)
					}
				case "literal":
					var id int64
					if err := db.QueryRowContext(ctx, literal).Scan(&id); err != nil {
						t.Fatal(err)
					}
				default:
					rows, err := db.QueryContext(ctx, three, 1, 2, 3)
					if err != nil {
						t.Fatal(err)
					}
					if !rows.Next() {
						t.Fatal(rows.Err())
					}
					for how == "to the end" && rows.Next() {
					}
					if how == "cancelled" {
						cancel()
						rows.Close()
						break
					}
					if how == "to the end" {
						if err := rows.Err(); err != nil {
							t.Error(err)
						}
					}
					if err := rows.Close(); err != nil {
						t.Error(err)
					}
				}
				wantNoTransaction(t, s)
				ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
				s.WantNumbers(t, harness.UpTo(int64(len(ids)))...)
				wantNext(t, s, len(ids)+1)
			})
		}
		stored := map[any]bool{}
		for _, id := range harness.IntegersOf(t, s.Raw, "SELECT id FROM t") {
			stored[id] = true
		}
		for _, k := range rec.All() {
			if k.Outcome == keyfill.Stored && !stored[k.Key] || k.Outcome == keyfill.NotStored && stored[k.Key] {
				t.Errorf("key %v is %v", k.Key, k.Outcome)
			}
		}
	})
}

// TestJoinedQueryFails: an error in between, or at the commit, takes back the
// numbers, and no row is given.
func TestJoinedQueryFails(t *testing.T) {
	t.Parallel()
	harness.Each(t, returningEngines, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		db.SetMaxOpenConns(1)
		harness.Exec(t, db, "INSERT INTO t (a, c) VALUES (1, 1)")
		query := s.Placeholders("INSERT INTO t (a, c) VALUES (?, ?), (?, ?), (?, ?) RETURNING id")
		for _, tx := range []bool{false, true} {
			ctx, rec := keyfill.Record(context.Background())
			err := queryAll(s, ctx, db, tx, query, 1, 7, 2, 8, 3, 1)
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), "duplicate") && !strings.Contains(err.Error(), "UNIQUE") {
				t.Fatalf("%v, want a duplicate", err)
			}
			for _, k := range rec.All() {
				if k.Outcome != keyfill.NotStored {
					t.Errorf("in a transaction %v: key %v is %v", tx, k.Key, k.Outcome)
				}
			}
			wantNoTransaction(t, s)
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
		s.WantNumbers(t, 1, 2)
		wantNext(t, s, 3)
	})
}

// queryAll reads all rows of a query, in a transaction that goes on after an error
// where the engine lets it, or without one.
func queryAll(s *harness.Scratch, ctx context.Context, db *sql.DB, inside bool, query string, args ...any) error {
	var q interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	} = db
	if inside {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		q = tx
		if !s.IsPostgres() {
			defer tx.Commit()
		} else {
			defer tx.Rollback()
		}
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// TestJoinedDeferred: what the engine finds wrong at the commit is the error of
// the rows, or of Exec, and nothing is stored.
func TestJoinedDeferred(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, m := joinedTable(t, s)
		if s.Dialect.Name == "sqlite" {
			harness.Exec(t, s.Raw, "DROP TABLE t")
			harness.Exec(t, s.Raw, "CREATE TABLE u (id INT PRIMARY KEY)")
			harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT REFERENCES u DEFERRABLE INITIALLY DEFERRED)")
		} else {
			harness.Exec(t, s.Raw, "CREATE TABLE u (id INT PRIMARY KEY)")
			harness.Exec(t, s.Raw, "ALTER TABLE t ADD FOREIGN KEY (c) REFERENCES u DEFERRABLE INITIALLY DEFERRED")
		}
		_ = m
		db.SetMaxOpenConns(1)
		if s.Dialect.Name == "sqlite" {
			harness.Exec(t, db, "PRAGMA foreign_keys = ON")
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		for _, query := range []string{
			"INSERT INTO t (a, c) VALUES (1, 99)", s.Placeholders("INSERT INTO t (a, c) VALUES (?, ?)"),
			"INSERT INTO t (a, c) VALUES (1, 99) RETURNING id",
		} {
			ctx, rec := keyfill.Record(context.Background())
			var args []any
			if strings.ContainsAny(query, "?$") {
				args = []any{1, 99}
			}
			var err error
			if strings.Contains(query, "RETURNING") {
				err = queryAll(s, ctx, db, false, query, args...)
			} else {
				_, err = db.ExecContext(ctx, query, args...)
			}
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), "foreign key") {
				t.Errorf("%s: %v, want that of the foreign key", query, err)
			}
			for _, k := range rec.All() {
				if k.Outcome != keyfill.NotStored {
					t.Errorf("%s: key %v is %v", query, k.Key, k.Outcome)
				}
			}
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
		}
		s.WantNumbers(t, harness.UpTo(4)...)
	})
}

// TestJoinedRowsOpen: the rows of an INSERT are there, with what the driver says of
// their columns, and its connection takes other statements meanwhile.
//
//deviation:keys-of-a-transaction | With `transaction: joined` the rows of an INSERT through Query are in memory when it returns, inside a transaction too. | all with RETURNING or OUTPUT | `tx.Query` | –
func TestJoinedRowsOpen(t *testing.T) {
	t.Parallel()
	harness.Each(t, returningEngines, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		for _, inside := range []bool{false, true} {
			name := map[bool]string{true: "inside", false: "outside"}[inside]
			ctx := context.Background()
			c, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if inside {
				harness.Must(t, c, "BEGIN")
			}
			query := "INSERT INTO t (a) VALUES (1), (2) RETURNING id, 'x' AS x"
			rows, err := c.QueryContext(ctx, query)
			if err != nil {
				t.Fatal(err)
			}
			harness.Must(t, c, "UPDATE t SET a = 3")
			harness.Must(t, c, "INSERT INTO t (a) VALUES (3)")
			if inside {
				harness.Must(t, c, "COMMIT")
			}
			got := columnsOf(t, rows)
			var texts []string
			for rows.Next() {
				var id, x string
				if err := rows.Scan(&id, &x); err != nil {
					t.Fatal(err)
				}
				texts = append(texts, id+x)
			}
			if err := rows.Err(); err != nil {
				t.Error(err)
			}
			first := map[bool]int{true: 4, false: 1}[inside]
			if want := []string{fmt.Sprintf("%dx", first), fmt.Sprintf("%dx", first+1)}; !slices.Equal(texts, want) {
				t.Errorf("%s: rows %q, want %q", name, texts, want)
			}
			plain, err := s.Raw.Query("INSERT INTO t (id, a) VALUES (100, 1), (101, 2) RETURNING id, 'x' AS x")
			if err != nil {
				t.Fatal(err)
			}
			if want := columnsOf(t, plain); got != want {
				t.Errorf("%s: columns %s, the driver's are %s", name, got, want)
			}
			if err := plain.Close(); err != nil {
				t.Fatal(err)
			}
			harness.Exec(t, s.Raw, "DELETE FROM t WHERE id >= 100")
		}
		s.WantNumbers(t, 1, 2, 3, 4, 5, 6)
	})
}

// columnsOf returns what a driver says of the columns of rows.
func columnsOf(t *testing.T, rows *sql.Rows) string {
	t.Helper()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range types {
		length, hasLength := c.Length()
		nullable, tells := c.Nullable()
		precision, scale, decimal := c.DecimalSize()
		fmt.Fprintln(&b, c.Name(), c.DatabaseTypeName(), c.ScanType(), length, hasLength, nullable, tells, precision, scale, decimal)
	}
	return b.String()
}

// TestJoinedKilled: the connection dies at each place of an INSERT outside of
// transactions: nothing is stored twice, and no number is lost.
func TestJoinedKilled(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		db.SetMaxOpenConns(1)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (0)")
		one := s.Placeholders("INSERT INTO t (a, c) VALUES (?, ?)")
		done := 0
		for c := range 5 {
			id := s.SessionOf(t, db)
			s.Kill(t, id)
			_, err := db.Exec(one, 1, c)
			if err == nil {
				done++
			} else {
				t.Log(err)
			}
		}
		n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t")
		if n != done+1 {
			t.Errorf("%d rows for %d that were answered", n, done+1)
		}
		s.WantNumbers(t, harness.UpTo(int64(n))...)
	})
}

// TestJoinedCancelled: an INSERT that waits for the row of its numbering ends with
// its context, and leaves nothing. Not so lib/pq's: it cancels once, and what
// arrives between two of its messages cancels nothing.
func TestJoinedCancelled(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO t (a) VALUES (2)"); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			ctx, cancel := context.WithTimeout(context.Background(), 200e6)
			_, err := db.ExecContext(ctx, s.Placeholders("INSERT INTO t (a) VALUES (?)"), i)
			cancel()
			if err == nil {
				t.Fatal("it did not wait")
			}
			if s.Dialect.Name == "mariadb" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (3)")
		s.WantNumbers(t, 1, 2, 3)
	})
}
