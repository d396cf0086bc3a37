package keyfillpgx_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill"
)

// TestBatchNotRaised: a numbering that cannot be raised after a batch fails the
// transaction, and with it the INSERT: it is counted and recorded as failed.
func TestBatchNotRaised(t *testing.T) {
	source := joined()
	source.FollowExplicit = true
	p := open(t, keyed(source), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	exec(t, p.filled, "INSERT INTO t (a) VALUES (0)")
	exec(t, p.plain, "ALTER TABLE keyfill_sequences ADD CHECK (next_value < 50)")
	ctx, rec := keyfill.Record(t.Context())
	err := pgx.BeginFunc(ctx, p.filled, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (id, a) VALUES (length(repeat('x', 100)), 1), (DEFAULT, 2)")
		return tx.SendBatch(ctx, b).Close()
	})
	if err == nil {
		t.Fatal("the batch has succeeded, and its numbering is not raised")
	}
	if got := column(t, p.plain, "SELECT id::text FROM t"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("stored is %v, want what was there before", got)
	}
	if got := outcomes(rec); !slices.Equal(got, []keyfill.Outcome{keyfill.NotStored}) {
		t.Errorf("recorded %v of a key that is not stored", got)
	}
	if got := p.filled.Mount().Stats().Tables["t"]; got.Failed != 1 || got.Stored != 1 || got.Filled != 2 {
		t.Errorf("counted is %+v, want one that is stored and one that has failed", got)
	}
}

// panicking returns a context whose tracer panics.
func panicking(t *testing.T) context.Context {
	return keyfill.WithTrace(t.Context(), func(keyfill.Event) { panic("of the tracer") })
}

// caught runs a function, which must panic.
func caught(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: the tracer was not called", what)
		}
	}()
	f()
}

// TestTracerPanicsInPool: a tracer that panics keeps no connection of the pool, and hides
// from the statistics none of the texts of its batch but its own.
func TestTracerPanicsInPool(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)", func(c *pgxpool.Config) { c.MaxConns = 1 })
	ctx := panicking(t)
	const insert, refused = "INSERT INTO t (a) VALUES (1)", "INSERT INTO t VALUES (1, 2, 3)"
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"Exec", func() { _, _ = p.filled.Exec(ctx, insert) }},
		{"Query of a text that is refused", func() { _, _ = p.filled.Query(ctx, refused) }},
		{"the end of rows", func() {
			rows, err := p.filled.Query(ctx, insert+" RETURNING id")
			if err != nil {
				t.Error(err)
			}
			rows.Close()
		}},
		{"a batch that is refused", func() {
			b := &pgx.Batch{}
			b.Queue(insert)
			b.Queue(refused)
			p.filled.SendBatch(ctx, b)
		}},
		{"a batch", func() {
			b := &pgx.Batch{}
			for range 3 {
				b.Queue(insert)
			}
			_ = p.filled.SendBatch(ctx, b).Close()
		}},
	} {
		caught(t, c.name, c.run)
		limited, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if _, err := p.filled.Exec(limited, "SELECT 1"); err != nil {
			t.Fatalf("behind %s the pool has no connection: %v", c.name, err)
		}
		cancel()
	}
	stored := column(t, p.plain, "SELECT count(*)::text FROM t")
	if got := p.filled.Mount().Stats().Tables["t"]; stored[0] != line("%d", got.Filled) || stored[0] != "5" {
		t.Errorf("%s rows are stored, and counted is %+v, want 5", stored[0], got)
	}
}

// TestTracerPanicsInTransaction: numbers without gaps that are drawn for a batch which is
// not sent are not committed, also where a tracer panics at its end.
func TestTracerPanicsInTransaction(t *testing.T) {
	p := invoices(t)
	exec(t, p.filled, "INSERT INTO t (a) VALUES (1)")
	for name, queue := range map[string]func(*pgx.Batch){
		"a batch that cannot be sent": func(b *pgx.Batch) { b.Queue("INSERT INTO t (a) VALUES ($1)", make(chan int)) },
		"a batch that is refused":     func(b *pgx.Batch) { b.Queue("INSERT INTO t VALUES (1, 2, 3)") },
	} {
		tx, err := p.filled.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx := panicking(t)
		caught(t, name, func() {
			b := &pgx.Batch{}
			b.Queue("INSERT INTO t (a) VALUES ($1)", 2)
			queue(b)
			_ = tx.SendBatch(ctx, b).Close()
		})
		if err := tx.Commit(t.Context()); err == nil {
			t.Errorf("%s: its numbers were committed", name)
		}
	}
	exec(t, p.filled, "INSERT INTO t (a) VALUES (2)")
	gapFree(t, p, 2)
}
