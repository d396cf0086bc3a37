package keyfillpgx_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keyfillpgx"
	"github.com/keyfill/keyfill/policy"
)

// namedConn is a connection of a pool, plain or filled.
type namedConn interface {
	handle
	Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error)
	Deallocate(ctx context.Context, name string) error
	DeallocateAll(ctx context.Context) error
	Release()
}

// plainConn is a connection of pgx's pool as a namedConn.
type plainConn struct{ *pgxpool.Conn }

func (c plainConn) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return c.Conn.Conn().Prepare(ctx, name, sql)
}
func (c plainConn) Deallocate(ctx context.Context, name string) error {
	return c.Conn.Conn().Deallocate(ctx, name)
}
func (c plainConn) DeallocateAll(ctx context.Context) error { return c.Conn.Conn().DeallocateAll(ctx) }

// namedSession is one side of the law: a pool of one connection, and that connection.
type namedSession struct {
	namedConn
	acquire func(context.Context) (namedConn, error)
}

// namedSteps are what TestForgottenNames does with the statements "add" and "two", which
// have the same text, and "add" for a while another one.
var namedSteps = map[string]func(ctx context.Context, s *namedSession) error{
	"prepare add":   preparing("add", "INSERT INTO t (a) VALUES ($1)"),
	"prepare two":   preparing("two", "INSERT INTO t (a) VALUES ($1)"),
	"prepare other": preparing("add", "INSERT INTO t (a) VALUES ($1 + 1000)"),
	"exec add":      func(ctx context.Context, s *namedSession) error { return executing(ctx, s, "add") },
	"exec two":      func(ctx context.Context, s *namedSession) error { return executing(ctx, s, "two") },
	"exec in a transaction": func(ctx context.Context, s *namedSession) error {
		return pgx.BeginFunc(ctx, s, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, "add", 3); return err })
	},
	"batch": func(ctx context.Context, s *namedSession) error {
		b := &pgx.Batch{}
		b.Queue("add", 4)
		return s.SendBatch(ctx, b).Close()
	},
	"discard all":        sending("DISCARD ALL"),
	"deallocate all":     func(ctx context.Context, s *namedSession) error { return quietly(s.Query(ctx, "DEALLOCATE ALL")) },
	"deallocate by text": sending("DEALLOCATE add"),
	"Deallocate add":     func(ctx context.Context, s *namedSession) error { return s.Deallocate(ctx, "add") },
	"DeallocateAll":      func(ctx context.Context, s *namedSession) error { return s.DeallocateAll(ctx) },
	"release": func(ctx context.Context, s *namedSession) error {
		s.Release()
		var err error
		s.namedConn, err = s.acquire(ctx)
		return err
	},
}

func preparing(name, text string) func(context.Context, *namedSession) error {
	return func(ctx context.Context, s *namedSession) error {
		_, err := s.Prepare(ctx, name, text)
		return err
	}
}

func sending(text string) func(context.Context, *namedSession) error {
	return func(ctx context.Context, s *namedSession) error { _, err := s.Exec(ctx, text); return err }
}

func executing(ctx context.Context, s *namedSession, name string) error {
	_, err := s.Exec(ctx, name, 1)
	return err
}

// quietly reads all rows and returns their error.
func quietly(rows pgx.Rows, err error) error {
	rows.Close()
	if err == nil {
		err = rows.Err()
	}
	return err
}

// TestForgottenNames: after each order of preparing, executing and forgetting a name, in
// each mode of pgx, an INSERT that plain pgx executes by the name is executed and filled.
func TestForgottenNames(t *testing.T) {
	var steps []string
	for name := range namedSteps {
		steps = append(steps, name)
	}
	var orders [][]string
	for _, a := range steps {
		for _, b := range steps {
			for _, c := range steps {
				orders = append(orders, []string{"prepare two", "exec two", "prepare add", "exec add", a, b, c, "exec add", "exec two", "exec add"})
			}
		}
	}
	for _, mode := range pgxModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			p := open(t, keyed(policy.Source{Kind: policy.KindUUIDv7}), "CREATE TABLE t (id UUID PRIMARY KEY, a INT); CREATE SCHEMA p; CREATE TABLE p.t (id UUID PRIMARY KEY DEFAULT gen_random_uuid(), a INT)", func(c *pgxpool.Config) {
				c.ConnConfig.DefaultQueryExecMode, c.MaxConns = mode, 1
			})
			plainConfig := p.plain.Config()
			plainConfig.ConnConfig.RuntimeParams["search_path"] = "p"
			plain, err := pgxpool.NewWithConfig(t.Context(), plainConfig)
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			sides := [2]*namedSession{
				{acquire: func(ctx context.Context) (namedConn, error) { c, err := plain.Acquire(ctx); return plainConn{c}, err }},
				{acquire: func(ctx context.Context) (namedConn, error) { return p.filled.Acquire(ctx) }},
			}
			for i, s := range sides {
				if s.namedConn, err = s.acquire(t.Context()); err != nil {
					t.Fatalf("%d: %v", i, err)
				}
				defer func() { s.Release() }()
			}
			for i, order := range orders {
				if !testturn.Of(t, i, 16) || mode == pgx.QueryExecModeSimpleProtocol && strings.Contains(fmt.Sprint(order), "batch") {
					continue // pgx takes no names in batches of the simple protocol
				}
				forgottenNames(t, sides, order)
			}
		})
	}
}

// forgottenNames does the steps of an order on both sides, and compares what they return and
// store.
func forgottenNames(t *testing.T, sides [2]*namedSession, order []string) {
	t.Helper()
	ctx := t.Context()
	for _, s := range sides {
		if err := s.DeallocateAll(ctx); err != nil {
			t.Fatal(err)
		}
		exec(t, s, "DELETE FROM t")
	}
	stored := 0
	for n, step := range order {
		plain, filled := namedSteps[step](ctx, sides[0]), namedSteps[step](ctx, sides[1])
		executes := strings.HasPrefix(step, "exec") || step == "batch"
		if plain == nil && filled != nil || plain != nil && filled == nil && !executes {
			t.Errorf("%q, step %d (%s): plain %v, filled %v", order, n, step, plain, filled)
		}
		if filled == nil && executes {
			stored++
		}
	}
	if got := column(t, sides[1], "SELECT count(*) FROM t"); got[0] != fmt.Sprint(stored) {
		t.Errorf("%q: %s rows, want %d", order, got, stored)
	}
}

var _ namedConn = (*keyfillpgx.PoolConn)(nil)
