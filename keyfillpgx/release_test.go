package keyfillpgx_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// released is the result of releasing a connection while something goes on.
type released struct {
	rows   []string // what the rows return after Release
	closed bool     // the pool closes the connection
	hook   string   // what the pool's BeforeClose has seen
	left   int32    // connections that the pool has in use after it
}

// TestReleaseWhileBusy: a connection that is released with open rows, in a transaction,
// or with a batch that was not read is closed by the pool, as it is with pgx, and the
// pool goes on.
func TestReleaseWhileBusy(t *testing.T) {
	insert := "INSERT INTO t (a) VALUES (1), (2), (3) RETURNING id, a"
	for name, leave := range map[string]func(context.Context, handle) []string{
		"open rows": func(ctx context.Context, db handle) []string {
			rows, err := db.Query(ctx, insert)
			return []string{told(err), line("%v", rows.Next())}
		},
		"a transaction": func(ctx context.Context, db handle) []string {
			_, err := db.Begin(ctx)
			return []string{told(err)}
		},
		"rows in a transaction": func(ctx context.Context, db handle) []string {
			tx, err := db.Begin(ctx)
			if err != nil {
				return []string{told(err)}
			}
			rows, err := tx.Query(ctx, insert)
			return []string{told(err), line("%v", rows.Next())}
		},
		"a table that is made in a transaction": func(ctx context.Context, db handle) []string {
			tx, err := db.Begin(ctx)
			if err != nil {
				return []string{told(err)}
			}
			return done(tx.Exec(ctx, "CREATE TABLE u (a INT)"))
		},
		"a batch": func(ctx context.Context, db handle) []string {
			b := &pgx.Batch{}
			b.Queue(insert)
			b.Queue(insert)
			rows, err := db.SendBatch(ctx, b).Query()
			return []string{told(err), line("%v", rows.Next())}
		},
		"nothing": func(ctx context.Context, db handle) []string { return done(db.Exec(ctx, "SELECT 1")) },
	} {
		t.Run(name, func(t *testing.T) {
			seen := make(chan string, 10)
			p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT DEFAULT 1000000 * random() PRIMARY KEY, a INT)", func(c *pgxpool.Config) {
				c.MaxConns = 2
				c.BeforeClose = func(conn *pgx.Conn) { seen <- line("closed %v", conn.IsClosed()) }
			})
			exec(t, p.filled, "INSERT INTO t (a) VALUES (0)") // asks what is asked once
			acquired, err := p.plain.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			plain := releases(t, acquired, acquired.Conn(), leave, seen, p.plain.Stat)
			wrapped, err := p.filled.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			filled := releases(t, wrapped, wrapped.Conn(), leave, seen, nil)
			filled.left = plain.left
			if !slices.Equal(filled.rows, plain.rows) || filled.closed != plain.closed || filled.hook != plain.hook || plain.left != 0 {
				t.Errorf("filled: %+v\nplain:  %+v", filled, plain)
			}
			if filled.closed != (name != "nothing") {
				t.Errorf("closed is %v", filled.closed)
			}
			for range 5 { // more than the pool has connections
				exec(t, p.filled, "INSERT INTO t (a) VALUES (4)")
			}
		})
	}
}

// releases has f use a connection, releases it, and returns the result.
func releases(t *testing.T, db interface {
	handle
	Release()
}, conn *pgx.Conn, f func(context.Context, handle) []string, seen chan string, stat func() *pgxpool.Stat) released {
	t.Helper()
	r := released{rows: f(t.Context(), db)}
	busy := conn.PgConn().IsBusy() || conn.PgConn().TxStatus() != 'I'
	db.Release()
	db.Release() // does nothing
	if busy {
		r.hook = <-seen
		<-conn.PgConn().CleanupDone()
		r.closed = conn.IsClosed()
	}
	if stat != nil {
		// The pool counts a connection until it has destroyed it, which is after the
		// hook.
		for began := time.Now(); stat().AcquiredConns() > 0 && time.Since(began) < time.Minute; {
			time.Sleep(time.Millisecond)
		}
		r.left = stat().AcquiredConns()
	}
	return r
}
