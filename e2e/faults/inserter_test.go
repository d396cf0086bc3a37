package faults_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// inserter inserts statements of some rows into t, which has the columns of bulkTable.
type inserter struct {
	engine harness.Engine
	db     *sql.DB
	form   form
	rows   int // of a statement
	stmt   int64
	stored int // rows
}

func newInserter(e harness.Engine, db *sql.DB, rows int) *inserter {
	return &inserter{engine: e, db: db, rows: rows}
}

// insert inserts one statement, for which it waits so long.
func (i *inserter) insert(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	i.stmt++
	_, err := i.db.ExecContext(ctx, i.form.insertRows(i.engine, i.rows), i.form.rowArgs(i.stmt, i.rows)...)
	if err == nil {
		i.stored += i.rows
	}
	return err
}

// many inserts statements that must not fail.
func (i *inserter) many(t *testing.T, statements int) {
	t.Helper()
	for range statements {
		if err := i.insert(jobPatience); err != nil {
			t.Fatal(err)
		}
	}
}

// wantDistinct fails unless each row of t has a key of its own.
func wantDistinct(t *testing.T, s *harness.Scratch, f form, rows int) {
	t.Helper()
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != rows || rows == 0 {
		t.Errorf("%d rows, want %d", n, rows)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM (SELECT DISTINCT "+f.key()+" FROM t WHERE id IS NOT NULL) k"); n != rows {
		t.Errorf("%d keys in %d rows", n, rows)
	}
}
