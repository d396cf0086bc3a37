package keyfillpgx_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillpgx"
	"github.com/keyfill/keyfill/policy"
)

// queued is what an application sees of a batch: texts, arguments and functions.
func queued(b *pgx.Batch) []string {
	var all []string
	for _, q := range b.QueuedQueries {
		all = append(all, line("%p %s %v %x", q, q.SQL, q.Arguments, reflect.ValueOf(q.Fn).Pointer()))
	}
	return all
}

// pgxModes are the ways in which pgx sends texts.
var pgxModes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

// within calls f with each handle that sends batches.
func within(t *testing.T, p *place, f func(way string, db handle)) {
	ctx := t.Context()
	f("Pool", p.filled)
	if err := p.filled.AcquireFunc(ctx, func(c *keyfillpgx.PoolConn) error {
		f("PoolConn", c)
		return nil
	}); err != nil {
		t.Error(err)
	}
	below, err := pgx.ConnectConfig(ctx, p.plain.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keyfillpgx.WrapConn(ctx, below, keyfill.Options{Policy: keyed(policy.Source{Kind: policy.KindUUIDv7})})
	if err != nil {
		t.Fatal(err)
	}
	f("Conn", c)
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	tx, err := p.filled.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f("Tx", tx)
	inner, err := tx.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f("savepoint", inner)
	if err := errors.Join(inner.Commit(ctx), tx.Commit(ctx)); err != nil {
		t.Error(err)
	}
}

// TestBatchAgain: a batch that is sent again gets keys of its own at each sending, calls its
// functions each time, and stays as the application has queued it.
//
//deviation:pgx | A `Batch` that is sent stays as it was queued. pgx puts a rewriter's text into it. A tracer gets a copy with the sent texts. | PostgreSQL with pgx | `batch.QueuedQueries[0].SQL` | a `BatchTracer`
func TestBatchAgain(t *testing.T) {
	for _, mode := range pgxModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			p := open(t, keyed(policy.Source{Kind: policy.KindUUIDv7}), "CREATE TABLE t (id UUID PRIMARY KEY, a INT)",
				func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			within(t, p, func(way string, db handle) { sendAgain(t, p, way, db) })
		})
	}
}

func sendAgain(t *testing.T, p *place, way string, db handle) {
	ctx := t.Context()
	exec(t, db, "DELETE FROM t")
	var called []string
	b := &pgx.Batch{}
	b.Queue("SELECT 1")
	b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
	b.Queue("INSERT INTO t (a) VALUES (@a)", pgx.NamedArgs{"a": 2})
	b.Queue("INSERT INTO t (a) VALUES (3)").Exec(func(tag pgconn.CommandTag) error {
		called = append(called, tag.String())
		return nil
	})
	b.Queue("INSERT INTO t (a) VALUES ($1) RETURNING a::text", 4).QueryRow(func(row pgx.Row) error {
		var s string
		err := row.Scan(&s)
		called = append(called, s)
		return err
	})
	b.Queue("INSERT INTO t (a) VALUES ($1), (6) RETURNING a::text", 5).Query(func(rows pgx.Rows) error {
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		called = append(called, all...)
		return err
	})
	texts := 6
	for i := range 3 {
		before := queued(b)
		called = nil
		ctx, rec := keyfill.Record(ctx)
		if err := db.SendBatch(ctx, b).Close(); err != nil {
			t.Fatalf("%s: sending %d: %v", way, i+1, err)
		}
		if got := strings.Join(called, " "); got != "INSERT 0 1 4 5 6" {
			t.Errorf("%s: sending %d has called back with %q", way, i+1, got)
		}
		if got := queued(b); !slices.Equal(got, before) {
			t.Errorf("%s: sending %d has changed the batch:\n%q, was\n%q", way, i+1, got, before)
		}
		if n := len(rec.All()); n != texts {
			t.Errorf("%s: sending %d has recorded %d keys, want %d", way, i+1, n, texts)
		}
		texts++
		b.Queue("INSERT INTO t (a) VALUES ($1)", 10+i)
	}
	if got := column(t, db, "SELECT count(DISTINCT id)::text FROM t"); got[0] != "21" {
		t.Errorf("%s: %s keys are stored, want 21", way, got[0])
	}
}

// TestBatchAgainJoined: a numbering without gaps numbers a batch anew after its transaction
// was rolled back, whatever number the first sending had.
func TestBatchAgainJoined(t *testing.T) {
	p := open(t, keyed(joined()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	ctx := t.Context()
	b := &pgx.Batch{}
	b.Queue("INSERT INTO t (a) VALUES (7)")
	b.Queue("INSERT INTO t (a) VALUES ($1)", 8)
	send := func(end func(pgx.Tx) error) {
		t.Helper()
		tx, err := p.filled.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tx.SendBatch(ctx, b).Close(), end(tx)); err != nil {
			t.Fatal(err)
		}
	}
	rollback := func(tx pgx.Tx) error { return tx.Rollback(ctx) }
	commit := func(tx pgx.Tx) error { return tx.Commit(ctx) }
	send(rollback)
	exec(t, p.filled, "INSERT INTO t (a) VALUES (1)")
	send(commit)
	send(rollback)
	send(commit)
	if got := column(t, p.plain, "SELECT id || '.' || a FROM t ORDER BY t.id"); !slices.Equal(got, []string{"1.1", "2.7", "3.8", "4.7", "5.8"}) {
		t.Errorf("stored is %v", got)
	}
}

// TestBatchAgainAfterAnError: a batch that has failed is sent again, also one that begins its
// transaction, and one that keyfill has refused.
func TestBatchAgainAfterAnError(t *testing.T) {
	for _, mode := range pgxModes {
		p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT UNIQUE)",
			func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
		ctx := t.Context()
		exec(t, p.plain, "INSERT INTO t (id, a) VALUES (-1, 2)")
		b := &pgx.Batch{}
		b.BeginTx(pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		b.Queue("INSERT INTO t (a) VALUES ($1)", 2)
		before := queued(b)
		r := p.filled.SendBatch(ctx, b)
		if got := told(r.Close()); got != "23505 *pgconn.PgError" {
			t.Errorf("%v: the first sending: %s", mode, got)
		}
		if err := r.Tx().Rollback(ctx); err != nil {
			t.Error(err)
		}
		exec(t, p.plain, "DELETE FROM t")
		r = p.filled.SendBatch(ctx, b)
		if err := errors.Join(r.Close(), r.Tx().Commit(ctx)); err != nil {
			t.Errorf("%v: the second sending: %v", mode, err)
		}
		if got := queued(b); !slices.Equal(got, before) {
			t.Errorf("%v: the batch is now %q, was %q", mode, got, before)
		}
		if got := column(t, p.plain, "SELECT string_agg(a::text, ' ' ORDER BY a) FROM t"); got[0] != "1 2" {
			t.Errorf("%v: stored is %v", mode, got)
		}
	}
}

// TestBatchAtOnce: one batch is sent on two connections at the same time.
func TestBatchAtOnce(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	b := &pgx.Batch{}
	for i := range 20 {
		b.Queue("INSERT INTO t (a) VALUES ($1)", i).Exec(func(pgconn.CommandTag) error { return nil })
	}
	var at sync.WaitGroup
	for range 2 {
		at.Go(func() {
			for range 10 {
				if err := p.filled.SendBatch(context.WithoutCancel(t.Context()), b).Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	at.Wait()
	if got := column(t, p.plain, "SELECT count(DISTINCT id)::text FROM t"); got[0] != "400" {
		t.Errorf("%s keys are stored, want 400", got[0])
	}
}

// TestBatchFunctionQueuedLater: pgx takes a function that the application sets between
// sending and closing.
func TestBatchFunctionQueuedLater(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	for name, db := range map[string]handle{"plain": p.plain, "filled": p.filled} {
		b := &pgx.Batch{}
		q := b.Queue("SELECT 1")
		r := db.SendBatch(t.Context(), b)
		called := false
		q.Exec(func(pgconn.CommandTag) error {
			called = true
			return nil
		})
		if err := r.Close(); err != nil || !called {
			t.Errorf("%s: called: %v, error %v", name, called, err)
		}
	}
}
