package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// joinedEngines are those whose drivers execute in ways that differ for keys of a
// transaction.
var joinedEngines = []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault, harness.PQBinary}

// joinedTable opens a database with a table t that is numbered without gaps; c
// is unique.
func joinedTable(t *testing.T, s *harness.Scratch) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)")
	return s.Open(t, harness.JoinedID("t"))
}

// wantNext compares what the row of t's numbering holds, but in a database in
// memory, whose connection may be in use.
func wantNext(t *testing.T, s *harness.Scratch, want int) {
	t.Helper()
	if got := s.Next(t, "t.id"); got != want {
		t.Errorf("the next number is %d, want %d", got, want)
	}
}

// TestJoinedPaths: on every path the numbers are the ones of the rows that were
// committed, one after another, in transactions of the application and outside.
func TestJoinedPaths(t *testing.T) {
	t.Parallel()
	harness.Each(t, joinedEngines, func(t *testing.T, s *harness.Scratch) {
		db, m := joinedTable(t, s)
		ctx, rec := keyfill.Record(context.Background())
		one := s.Placeholders("INSERT INTO t (a) VALUES (?)")
		do := func(x interface {
			ExecContext(context.Context, string, ...any) (sql.Result, error)
		}, query string, args ...any) {
			t.Helper()
			if _, err := x.ExecContext(ctx, query, args...); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		do(db, "INSERT INTO t (a) VALUES (1)")                                             // 1
		do(db, one, 2)                                                                     // 2
		do(db, s.Placeholders("INSERT INTO t (a) VALUES (?), (?), (?)"), 3, 4, 5)          // 3 to 5
		do(db, s.Placeholders("INSERT INTO t (id, a) VALUES (NULL, ?), (NULL, ?)"), 6, 60) // 6, 7
		do(db, s.Placeholders("INSERT INTO t (id, a) VALUES (?, ?)"), nil, 8)              // 8
		stmt, err := db.PrepareContext(ctx, one)
		if err != nil {
			t.Fatal(err)
		}
		for a := range 3 { // 9 to 11
			if _, err := stmt.ExecContext(ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		stmt.Close()
		for _, commits := range []bool{true, false} { // 12 to 16
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			do(tx, one, 1)
			do(tx, "INSERT INTO t (a) VALUES (1), (2)")
			stmt, err := tx.PrepareContext(ctx, one)
			if err != nil {
				t.Fatal(err)
			}
			for a := range 2 {
				if _, err := stmt.ExecContext(ctx, a); err != nil {
					t.Fatal(err)
				}
			}
			stmt.Close()
			if commits {
				err = tx.Commit()
			} else {
				err = tx.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		conn, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		do(conn, "BEGIN")
		do(conn, one, 17) // and back
		do(conn, "ROLLBACK")
		do(conn, "BEGIN")
		do(conn, one, 17)
		do(conn, "SAVEPOINT mine")
		do(conn, one, 18) // and back
		do(conn, "ROLLBACK TO SAVEPOINT mine")
		do(conn, one, 18)
		do(conn, "COMMIT")
		do(conn, one, 19)
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		s.WantNumbers(t, harness.UpTo(19)...)
		wantNext(t, s, 20)
		for _, k := range rec.All() {
			if k.Outcome != keyfill.Stored {
				t.Errorf("row %d, key %v: %v", k.Row, k.Key, k.Outcome)
			}
		}
		if got := m.Stats().Tables["t"]; got.Keys != 26 {
			t.Errorf("%d keys counted, want 26", got.Keys)
		}
	})
}

// TestJoinedFails: the numbers of a statement that fails after they were reserved
// go to the next one, in a transaction that goes on and outside.
func TestJoinedFails(t *testing.T) {
	t.Parallel()
	harness.Each(t, joinedEngines, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		ctx, rec := keyfill.Record(context.Background())
		one := s.Placeholders("INSERT INTO t (a, c) VALUES (?, ?)")
		two := s.Placeholders("INSERT INTO t (a, c) VALUES (?, ?), (?, ?)")
		harness.Exec(t, db, one, 1, 1)
		for range 2 {
			if _, err := db.ExecContext(ctx, one, 2, 1); err == nil {
				t.Fatal("a duplicate was stored")
			}
			if _, err := db.ExecContext(ctx, two, 2, 2, 2, 1); err == nil {
				t.Fatal("a duplicate was stored")
			}
		}
		harness.Exec(t, db, one, 2, 2)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(one, 3, 3); err != nil {
			t.Fatal(err)
		}
		if s.IsPostgres() {
			if _, err := tx.Exec("SAVEPOINT mine"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tx.ExecContext(ctx, two, 4, 4, 4, 1); err == nil {
			t.Fatal("a duplicate was stored")
		}
		if s.IsPostgres() {
			if _, err := tx.Exec("ROLLBACK TO SAVEPOINT mine"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tx.Exec(one, 4, 4); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		s.WantNumbers(t, harness.UpTo(4)...)
		wantNext(t, s, 5)
		for _, k := range rec.All() {
			if k.Outcome != keyfill.NotStored {
				t.Errorf("row %d, key %v: %v", k.Row, k.Key, k.Outcome)
			}
		}
	})
}

// TestJoinedEncoding: an argument that the driver cannot send fails after the
// number was reserved; the transaction cannot commit it without a row.
//
//deviation:keys-of-a-transaction | With `transaction: joined` an argument that the driver cannot send aborts the transaction, as an error of the server does. | PostgreSQL | a list for an integer | –
func TestJoinedEncoding(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	db, _ := joinedTable(t, s)
	harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
	for range 2 {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO t (a) VALUES ($1)", []string{"no number"}); err == nil {
			t.Fatal("a list was stored as a number")
		} else if errors.As(err, new(*pgconn.PgError)) {
			t.Fatalf("the server has answered: %v", err)
		}
		if err := tx.Commit(); err == nil {
			t.Error("the number was committed without a row")
		}
		if _, err := db.Exec("INSERT INTO t (a) VALUES ($1)", []string{"no number"}); err == nil {
			t.Fatal("a list was stored as a number")
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
	}
	s.WantNumbers(t, 1, 2, 3)
}

// TestJoinedTwoColumns: several keys of an INSERT are drawn in its transaction,
// whether their numbers may have gaps or not.
func TestJoinedTwoColumns(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, no BIGINT NOT NULL UNIQUE, a INT, c INT UNIQUE)")
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {Keys: []policy.Key{
			{Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 10}},
			{Column: "no", InPlace: harness.JoinedSource()},
		}}}})
		insert := s.Placeholders("INSERT INTO t (c) VALUES (?)")
		for c := range 30 {
			harness.Exec(t, db, insert, c)
			if _, err := db.Exec(insert, c); err == nil {
				t.Fatal("a duplicate was stored")
			}
		}
		if no := harness.IntegersOf(t, s.Raw, "SELECT no FROM t ORDER BY c"); !slices.Equal(no, harness.UpTo(30)) {
			t.Errorf("numbers %v", no)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM t"); n != 30 {
			t.Errorf("%d ids", n)
		}
	})
}

// TestJoinedStart: a numbering begins above the rows that are there.
func TestJoinedStart(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (41, 1)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO t (a) VALUES (2)"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (3)")
		s.WantNumbers(t, 41, 42)
		for i := range 3 {
			harness.Exec(t, db, fmt.Sprintf("INSERT INTO t (a) VALUES (%d)", i))
		}
		wantNext(t, s, 46)
	})
}
