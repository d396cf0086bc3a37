package joined_test

import (
	"context"
	"database/sql/driver"
	"slices"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestUnseenBegin: a transaction that was begun past keyfill, on a connection of
// which it believes that none is open. What is reserved in it is rolled back, and
// must not have been kept.
func TestUnseenBegin(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	db, _ := s.Open(t, harness.SequenceID("t"))
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var past driver.ExecerContext
	if err := conn.Raw(func(c any) error {
		past = keyfill.Unwrap(c).(driver.ExecerContext)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	run := func(query string) {
		t.Helper()
		if _, err := past.ExecContext(ctx, query, nil); err != nil {
			t.Fatal(err)
		}
	}
	insert := func(a int) {
		t.Helper()
		if _, err := conn.ExecContext(ctx, "INSERT INTO t (a) VALUES (?)", a); err != nil {
			t.Fatal(err)
		}
	}
	// From here on keyfill knows again that no transaction is open.
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	run("BEGIN")
	insert(1)
	insert(2)
	run("ROLLBACK")
	// Another process reserves what was given back.
	other, _ := s.Open(t, harness.SequenceID("t"))
	for a := 3; a < 6; a++ {
		harness.Exec(t, other, "INSERT INTO t (a) VALUES (?)", a)
		insert(10 * a)
	}
	keys := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
	if len(keys) != 6 || len(slices.Compact(keys)) != 6 {
		t.Errorf("stored %v", keys)
	}
}
