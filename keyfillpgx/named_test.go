package keyfillpgx_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill/keyfillpgx"
	"github.com/keyfill/keyfill/policy"
)

// namedArguments are values whose encoding needs the types of their parameters.
var namedArguments = []any{[]string{"x"}, map[string]int{"y": 1}, []int32{1, 2}, struct {
	Z int `json:"z"`
}{3}}

const (
	namedTable  = "CREATE TABLE t (id UUID PRIMARY KEY, a JSONB, b JSONB, c INT[], d JSON)"
	namedInsert = "INSERT INTO t (a, b, c, d) VALUES ($1, $2, $3, $4)"
	namedStored = "SELECT concat_ws(' ', a, b, c, d) FROM t"
	namedWant   = `["x"] {"y": 1} {1,2} {"z":3}`
)

// TestNamedTypes: an INSERT that is executed by its name has the types of its parameters in
// every mode, as pgx has them.
func TestNamedTypes(t *testing.T) {
	for _, mode := range pgxModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			p := open(t, keyed(policy.Source{Kind: policy.KindUUIDv7}), namedTable,
				func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			if err := p.filled.AcquireFunc(t.Context(), func(c *keyfillpgx.PoolConn) error {
				namedTypes(t, c, mode)
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

func namedTypes(t *testing.T, c *keyfillpgx.PoolConn, mode pgx.QueryExecMode) {
	ctx := t.Context()
	again := func(what string, send func(args []any) error) {
		t.Helper()
		for i := range 2 { // the first may prepare
			exec(t, c, "DELETE FROM t")
			if err := send(slices.Clone(namedArguments)); err != nil {
				t.Errorf("%s, %d: %v", what, i, err)
			}
			if got := column(t, c, namedStored); !slices.Equal(got, []string{namedWant}) {
				t.Errorf("%s, %d: stored is %q", what, i, got)
			}
		}
	}
	prepare := func() {
		t.Helper()
		for name, text := range map[string]string{"add": namedInsert, "give": namedInsert + " RETURNING c", namedInsert: namedInsert} {
			if _, err := c.Prepare(ctx, name, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	ways := func(what string) {
		t.Helper()
		again(what+" Exec", func(args []any) error { _, err := c.Exec(ctx, "add", args...); return err })
		again(what+" Exec by its text", func(args []any) error { _, err := c.Exec(ctx, namedInsert, args...); return err })
		for _, option := range pgxModes {
			again(what+" Exec with "+option.String(), func(args []any) error {
				_, err := c.Exec(ctx, "add", append([]any{option}, args...)...)
				return err
			})
		}
		again(what+" QueryRow", func(args []any) error {
			var numbers []int
			return c.QueryRow(ctx, "give", args...).Scan(&numbers)
		})
		again(what+" in a transaction", func(args []any) error {
			return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, "add", args...); return err })
		})
		if mode == pgx.QueryExecModeSimpleProtocol {
			return // pgx takes no names in its batches
		}
		again(what+" batch", func(args []any) error {
			b := &pgx.Batch{}
			b.Queue("DELETE FROM t")
			b.Queue("add", args...)
			return c.SendBatch(ctx, b).Close()
		})
	}
	prepare()
	ways("prepared:")
	for _, name := range []string{"add", "give", namedInsert} {
		if err := c.Deallocate(ctx, name); err != nil {
			t.Error(err)
		}
	}
	if got := column(t, c, "SELECT statement FROM pg_prepared_statements WHERE name NOT LIKE 'stmtcache%'"); len(got) != 0 {
		t.Errorf("behind Deallocate there is %q", got)
	}
	prepare()
	ways("prepared again:")
	if err := c.Deallocate(ctx, namedInsert); err != nil {
		t.Error(err)
	}
	again("its text has another name", func(args []any) error { _, err := c.Exec(ctx, "add", args...); return err })
	if err := c.DeallocateAll(ctx); err != nil {
		t.Error(err)
	}
	prepare()
	ways("behind DeallocateAll:")
}

// TestNamedManyArguments: where the keys of a named INSERT are literals, since the protocol
// takes no more arguments, the parameters have their types.
func TestNamedManyArguments(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a JSONB)",
				func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			const rows = 40_000
			text, args := manyRows(rows)
			for i := range args {
				args[i] = []string{"x"}
			}
			if err := p.filled.AcquireFunc(t.Context(), func(c *keyfillpgx.PoolConn) error {
				if _, err := c.Prepare(t.Context(), "add", text); err != nil {
					return err
				}
				_, err := c.Exec(t.Context(), "add", args...)
				return err
			}); err != nil {
				t.Error(err)
			}
			if got := column(t, p.plain, "SELECT count(DISTINCT id)::text FROM t WHERE a = '[\"x\"]'"); got[0] != "40000" {
				t.Errorf("%s rows are stored, want %d", got[0], rows)
			}
		})
	}
}
