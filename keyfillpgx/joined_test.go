package keyfillpgx_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/rewrite"
)

// keyfillError returns the error of keyfill that err is.
func keyfillError(err error) (*keyfill.Error, bool) {
	var own *keyfill.Error
	return own, errors.As(err, &own)
}

// invoices opens a database whose table is numbered without gaps.
func invoices(t *testing.T) *place {
	t.Helper()
	return open(t, keyed(joined()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT UNIQUE)")
}

// gapFree checks that the numbers of the table are 1 to n.
func gapFree(t *testing.T, p *place, n int) {
	t.Helper()
	got := column(t, p.plain, "SELECT id::text FROM t ORDER BY t.id")
	want := []string{}
	for i := range n {
		want = append(want, fmt.Sprint(i+1))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the numbers are %v, want %v", got, want)
	}
}

// TestJoinedUndone: whatever undoes rows gives their numbers back.
//
//deviation:pgx | If keyfill has drawn joined keys for a batch that pgx then does not send, keyfill makes the transaction fail, so that it cannot commit numbers without rows. | PostgreSQL with pgx | an argument that pgx cannot encode | a savepoint around the batch
func TestJoinedUndone(t *testing.T) {
	p := invoices(t)
	ctx := t.Context()
	a := 0
	insert := func(db handle) error {
		a++
		_, err := db.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", a)
		return err
	}
	batch := func(db handle, values ...any) error {
		b := &pgx.Batch{}
		for _, v := range values {
			b.Queue("INSERT INTO t (a) VALUES ($1)", v)
		}
		return db.SendBatch(ctx, b).Close()
	}
	failing := errors.New("go back")
	if err := insert(p.filled); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		run  func(tx pgx.Tx) error
		adds int
	}{
		{"rollback", func(tx pgx.Tx) error { return errors.Join(insert(tx), failing) }, 0},
		{"commit", func(tx pgx.Tx) error { return errors.Join(insert(tx), insert(tx)) }, 2},
		{"savepoint", func(tx pgx.Tx) error {
			if err := insert(tx); err != nil {
				return err
			}
			if err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error { return errors.Join(insert(inner), failing) }); !errors.Is(err, failing) {
				return err
			}
			return insert(tx)
		}, 2},
		{"savepoint by a text", func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SAVEPOINT mine")
			err = errors.Join(err, insert(tx))
			_, back := tx.Exec(ctx, "ROLLBACK TO SAVEPOINT mine")
			return errors.Join(err, back, insert(tx))
		}, 1},
		{"error behind a savepoint", func(tx pgx.Tx) error {
			err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
				_, err := inner.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 1)
				return err
			})
			if err == nil {
				return nil
			}
			return insert(tx)
		}, 1},
		{"batch", func(tx pgx.Tx) error {
			a += 3
			return batch(tx, a-2, a-1, a)
		}, 3},
		{"batch behind a savepoint", func(tx pgx.Tx) error {
			a++
			if err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error { return batch(inner, a, 1) }); err == nil {
				return errors.New("stored twice")
			}
			return insert(tx)
		}, 1},
		{"batch that is not sent", func(tx pgx.Tx) error {
			a++
			err := batch(tx, a, make(chan int)) // which pgx cannot encode
			if err == nil {
				return errors.New("a channel was stored")
			}
			return nil // its Commit fails: the numbers are not committed without rows
		}, 0},
	} {
		before := len(column(t, p.plain, "SELECT id::text FROM t"))
		err := pgx.BeginFunc(ctx, p.filled, c.run)
		if c.adds > 0 && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) { gapFree(t, p, before+c.adds) })
	}
	n := len(column(t, p.plain, "SELECT id::text FROM t"))
	if err := insert(p.filled); err != nil {
		t.Fatal(err)
	}
	gapFree(t, p, n+1)
}

// TestJoinedKilled: the server ends a connection within its transaction. The numbers of
// the rows that are gone are given again, and the pool goes on.
func TestJoinedKilled(t *testing.T) {
	p := invoices(t)
	ctx := t.Context()
	exec(t, p.filled, "INSERT INTO t (a) VALUES (1)")
	for _, when := range []string{"before the commit", "before an INSERT"} {
		tx, err := p.filled.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, "INSERT INTO t (a) VALUES (2)"); err != nil {
			t.Fatal(err)
		}
		var pid int
		if err := tx.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		exec(t, p.plain, "SELECT pg_terminate_backend($1, 10000)", pid)
		if when == "before an INSERT" {
			if _, err := tx.Exec(ctx, "INSERT INTO t (a) VALUES (3)"); err == nil {
				t.Errorf("%s: an INSERT on a killed connection has succeeded", when)
			}
		}
		if err := tx.Commit(ctx); err == nil {
			t.Errorf("%s: a killed transaction was committed", when)
		}
	}
	exec(t, p.filled, "INSERT INTO t (a) VALUES (2)")
	gapFree(t, p, 2)
}

// TestJoinedAlone: outside of a transaction keyfill makes one around the draw and the
// INSERT, also where rows come back, and an INSERT that fails leaves no gap.
//
//deviation:pgx | `Query` of a text that concerns keyfill waits for its first row. If a key belongs to the INSERT's transaction, `Query` reads all rows before it returns, so that the connection is free. | PostgreSQL with pgx | `INSERT … RETURNING` through `Query` | `Exec`
func TestJoinedAlone(t *testing.T) {
	p := invoices(t)
	ctx := t.Context()
	var at []int
	for i := range 4 {
		var id, a int
		ctx, rec := keyfill.Record(ctx)
		rows, err := p.filled.Query(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", i)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pgx.ForEachRow(rows, []any{&id, &a}, func() error {
			at = append(at, id, a)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if last, ok := keyfill.Last[int64](rec, "t"); !ok || int(last) != id {
			t.Errorf("recorded is %d, want %d", last, id)
		}
		if tag := rows.CommandTag(); tag.String() != "INSERT 0 1" {
			t.Errorf("the tag is %q", tag)
		}
		var code *pgconn.PgError
		if err := p.filled.QueryRow(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id", i).Scan(&id); !errors.As(err, &code) || code.Code != "23505" {
			t.Errorf("%v, want a unique violation", err)
		}
	}
	if want := []int{1, 0, 2, 1, 3, 2, 4, 3}; !slices.Equal(at, want) {
		t.Errorf("RETURNING has given %v, want %v", at, want)
	}
	gapFree(t, p, 4)
}

// TestJoinedConcurrent: transactions on several connections, some of which go back.
func TestJoinedConcurrent(t *testing.T) {
	p := invoices(t)
	ctx := t.Context()
	const workers, each = 4, 20
	var all sync.WaitGroup
	failures := make(chan error, workers)
	for w := range workers {
		all.Go(func() {
			for i := range each {
				err := pgx.BeginFunc(ctx, p.filled, func(tx pgx.Tx) error {
					if _, err := tx.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", w*each+i); err != nil {
						return err
					}
					if i%2 == 1 {
						return errOwn
					}
					return nil
				})
				if err != nil && !errors.Is(err, errOwn) {
					failures <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	gapFree(t, p, workers*each/2)
}

// TestJoinedBehindConn: what is sent on the connection of pgx is not seen, and the status
// that the server sends says that the transaction has ended.
//
//deviation:pgx | keyfill neither fills nor sees statements that the program sends on pgx's own objects: the wrapped pool or connection, the connection that `Conn()` returns, a `*pgconn.PgConn`, and a statement prepared by name there. | PostgreSQL with pgx | `tx.Conn().Exec(…)` | the wrapper's own methods, `Prepare` among them
func TestJoinedBehindConn(t *testing.T) {
	p := invoices(t)
	ctx := t.Context()
	tx, err := p.filled.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO t (a) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Conn().Exec(ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO t (a) VALUES (2)"); err == nil {
		t.Error("an INSERT was numbered in a transaction that has ended")
	} else if !strings.Contains(err.Error(), "the transaction had ended before this INSERT") {
		t.Errorf("%v, want that the transaction has ended", err)
	}
	_ = tx.Rollback(ctx)
	exec(t, p.filled, "INSERT INTO t (a) VALUES (3)")
	gapFree(t, p, 2)

	c, err := p.filled.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if _, err := c.Conn().Exec(ctx, "BEGIN"); err != nil {
		t.Fatal(err)
	}
	exec(t, c, "INSERT INTO t (a) VALUES (4)")
	exec(t, c, "ROLLBACK")
	exec(t, c, "INSERT INTO t (a) VALUES (5)")
	gapFree(t, p, 3)
}

// TestJoinedBatches: a batch draws numbers in a transaction that it neither begins nor
// ends; any other is refused before anything is sent.
//
//deviation:pgx | In a batch, a key that belongs to its transaction is refused unless the transaction was begun before the batch and no text of the batch begins or ends one. `maxplusone` is always refused. | PostgreSQL with pgx | `transaction: joined`, `scope:` | `Begin`, then the batch
func TestJoinedBatches(t *testing.T) {
	p := invoices(t)
	ctx := t.Context()
	for name, queue := range map[string]func(*pgx.Batch){
		"no transaction": func(b *pgx.Batch) {},
		"BEGIN":          func(b *pgx.Batch) { b.Queue("BEGIN") },
		"Batch.BeginTx":  func(b *pgx.Batch) { b.BeginTx(pgx.TxOptions{}) },
	} {
		b := &pgx.Batch{}
		queue(b)
		b.Queue("INSERT INTO t (a) VALUES (1)")
		r := p.filled.SendBatch(ctx, b)
		err := r.Close()
		if own, ok := keyfillError(err); !ok || !errors.Is(own, rewrite.ErrTogether) {
			t.Errorf("%s: %v, want %q", name, err, string(rewrite.ErrTogether))
		}
		if r.Tx() != nil {
			if err := r.Tx().Commit(ctx); !errors.Is(err, pgx.ErrTxClosed) {
				t.Errorf("%s: the transaction: %v", name, err)
			}
		}
	}
	exec(t, p.filled, "INSERT INTO t (a) VALUES (1)")
	gapFree(t, p, 1)
	if got := p.filled.Mount().Stats().Tables["t"].Refused[keyfill.Reason(rewrite.ErrTogether)]; got != 3 {
		t.Errorf("%d refusals were counted, want 3", got)
	}
}

// TestContextOfCommit: a Commit whose context has ended commits nothing, and its numbers
// are given again.
func TestContextOfCommit(t *testing.T) {
	p := invoices(t)
	ctx := t.Context()
	tx, err := p.filled.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO t (a) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := tx.Commit(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: %v", err)
	}
	exec(t, p.filled, "INSERT INTO t (a) VALUES (2)")
	gapFree(t, p, 1)
}
