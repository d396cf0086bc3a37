package harness

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
)

// MustFail executes a statement that must have an error.
func MustFail(t *testing.T, x Execer, query string) {
	t.Helper()
	if _, err := x.ExecContext(context.Background(), query); err == nil {
		t.Fatalf("%s had no error", query)
	}
}

// InTx runs f in a transaction, and commits it unless f returns an error.
func InTx(db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		if failed := tx.Rollback(); failed != nil {
			return errors.Join(err, failed)
		}
		return err
	}
	return tx.Commit()
}

// Open opens a database with a raw driver, closed when the test ends.
func Open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Exec executes a statement that must succeed.
func Exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%.200s: %v", query, err)
	}
}

// Count reads one number.
func Count(t *testing.T, db *sql.DB, query string, args ...any) int {
	t.Helper()
	var n int
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// Execer is a *sql.DB, *sql.Tx or *sql.Conn.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Must executes statements.
func Must(t *testing.T, x Execer, queries ...string) {
	t.Helper()
	for _, q := range queries {
		if _, err := x.ExecContext(context.Background(), q); err != nil {
			t.Fatalf("%.200s: %v", q, err)
		}
	}
}

// ConnOf returns one connection of the pool db.
func ConnOf(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Eventually calls f until it succeeds, for a minute at most.
func Eventually(t *testing.T, f func() error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// CountInt does what Count does, for numbers that may be greater than an int.
func CountInt(t testing.TB, db *sql.DB, query string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// Text reads one value as text.
func Text(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	var s sql.NullString
	if err := db.QueryRow(query, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s.String
}

// PreparedExec prepares a statement, executes it once and closes it.
func PreparedExec(db *sql.DB, query string, args ...any) (sql.Result, error) {
	stmt, err := db.Prepare(query)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	return stmt.Exec(args...)
}

// Drain runs a query and reads its rows to the end.
func Drain(db *sql.DB, query string, args ...any) error {
	return DrainContext(context.Background(), db, query, args...)
}

// DrainContext is Drain with a context.
func DrainContext(ctx context.Context, db *sql.DB, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// PastKeyfill returns the driver's own connection. keyfill assumes that no transaction is
// open on it.
func PastKeyfill(t testing.TB, conn *sql.Conn) driver.ExecerContext {
	t.Helper()
	var past driver.ExecerContext
	if err := conn.Raw(func(c any) error {
		past = keyfill.Unwrap(c).(driver.ExecerContext)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return past
}
