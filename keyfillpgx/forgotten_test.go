package keyfillpgx_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill/keyfillpgx"
	"github.com/keyfill/keyfill/policy"
)

// texts counts texts that never come again.
var texts atomic.Int64

// forgetting are ways in which an application has the server forget what pgx has prepared.
var forgetting = map[string]func(ctx context.Context, c *keyfillpgx.PoolConn) error{
	"Exec": func(ctx context.Context, c *keyfillpgx.PoolConn) error {
		_, err := c.Exec(ctx, "DISCARD ALL")
		return err
	},
	"DEALLOCATE by Exec": func(ctx context.Context, c *keyfillpgx.PoolConn) error {
		_, err := c.Exec(ctx, "DEALLOCATE ALL")
		return err
	},
	"Query": func(ctx context.Context, c *keyfillpgx.PoolConn) error {
		rows, err := c.Query(ctx, "deallocate all", pgx.QueryExecModeExec)
		rows.Close()
		return errors.Join(err, rows.Err())
	},
	"batch": func(ctx context.Context, c *keyfillpgx.PoolConn) error {
		b := &pgx.Batch{}
		b.Queue(line("SELECT %d", texts.Add(1)))
		b.Queue(line("DEALLOCATE ALL -- %d", texts.Add(1)))
		return c.SendBatch(ctx, b).Close()
	},
	"DeallocateAll": func(ctx context.Context, c *keyfillpgx.PoolConn) error { return c.DeallocateAll(ctx) },
	"the connection of pgx": func(ctx context.Context, c *keyfillpgx.PoolConn) error {
		_, err := c.Conn().Exec(ctx, "DISCARD ALL")
		return err
	},
}

// TestForgotten: keyfill's own statements go through after the server has forgotten what pgx
// has prepared, whichever way that went.
func TestForgotten(t *testing.T) {
	for name, source := range map[string]policy.Source{
		"joined": joined(), "maxplusone": {Kind: policy.KindMaxPlusOne, Lock: policy.LockRange, EnsureSchema: true}, "sequence": sequence(),
	} {
		p := open(t, keyed(source), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		ctx := t.Context()
		if err := p.filled.AcquireFunc(ctx, func(c *keyfillpgx.PoolConn) error {
			for what, forget := range forgetting {
				for range 2 {
					exec(t, c, line("INSERT INTO t (a) VALUES (%d)", 1))
					if err := forget(ctx, c); err != nil {
						t.Fatalf("%s, %s: %v", name, what, err)
					}
					if err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
						for i := range 2 {
							if _, err := tx.Exec(ctx, line("INSERT INTO t (a) VALUES (%d)", i)); err != nil {
								return err
							}
						}
						return nil
					}); err != nil {
						t.Errorf("%s, %s: %v", name, what, err)
					}
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestForgottenByHook: where a hook of the pool has the server forget at each release what pgx
// has prepared, that is known from the first statement that was gone.
func TestForgottenByHook(t *testing.T) {
	p := open(t, keyed(joined()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)", func(c *pgxpool.Config) {
		c.MaxConns = 1
		c.AfterRelease = func(conn *pgx.Conn) bool {
			_, err := conn.Exec(context.Background(), "DISCARD ALL")
			return err == nil
		}
	})
	exec(t, p.filled, "INSERT INTO t (a) VALUES (1)")
	for range 3 {
		exec(t, p.filled, "INSERT INTO t (a) VALUES (1)")
		if err := pgx.BeginFunc(t.Context(), p.filled, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "INSERT INTO t (a) VALUES (2)")
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}
