package keyfillpgx_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillpgx"
)

// preparer is a *pgx.Conn, or a Conn of this package.
type preparer interface {
	handle
	Deallocate(ctx context.Context, name string) error
	DeallocateAll(ctx context.Context) error
}

// TestDeallocate: whichever way statements go, their names end with pgx's, and a name that
// has not ended is filled.
//
//deviation:pgx | A name deallocated by the text `DEALLOCATE name`, or by `DEALLOCATE ALL` or `DISCARD ALL` through `Query`, in a `Batch` or before the end of a text, is still filled and executed. pgx returns error 26000. | PostgreSQL with pgx | `conn.Exec(ctx, "DEALLOCATE add")` | `Deallocate`, `DeallocateAll`, or `Exec` of `DEALLOCATE ALL`
func TestDeallocate(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	run := func(db preparer, prepare func(context.Context, string) error) (seen []string) {
		ctx := t.Context()
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		again := func(what string) {
			if err := prepare(ctx, "add"); err != nil {
				seen = append(seen, told(err))
			}
			_, err := db.Exec(ctx, "add", 1)
			seen = append(seen, what+": "+told(err))
		}
		again("prepared")
		if db.Deallocate(cancelled, "add") == nil {
			t.Error("Deallocate went through without a context")
		}
		_, err := db.Exec(ctx, "add", 2)
		seen = append(seen, told(err))
		if err := db.Deallocate(ctx, "add"); err != nil {
			t.Error(err)
		}
		again("deallocated")
		if err := db.DeallocateAll(ctx); err != nil {
			t.Error(err)
		}
		_, err = db.Exec(ctx, "add", 3)
		seen = append(seen, told(err))
		again("all are deallocated")
		for _, text := range []string{"DEALLOCATE ALL", "discard all", "/* */ deallocate prepare all;"} {
			if err := db.DeallocateAll(ctx); err != nil {
				t.Error(err)
			}
			again("before " + text)
			exec(t, db, text)
			_, err := db.Exec(ctx, "add", 4)
			seen = append(seen, text+": "+told(err))
		}
		return seen
	}
	const insert = "INSERT INTO t (a) VALUES ($1)"
	below, err := pgx.Connect(t.Context(), p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer below.Close(context.WithoutCancel(t.Context()))
	plain := run(below, func(ctx context.Context, name string) error {
		// The plain connection has a key by the text.
		_, err := below.Prepare(ctx, name, "INSERT INTO t (id, a) SELECT -1 - count(*), $1::int FROM t")
		return err
	})
	around, err := pgx.Connect(t.Context(), p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keyfillpgx.WrapConn(t.Context(), around, keyfill.Options{Policy: keyed(sequence())})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	filled := run(c, func(ctx context.Context, name string) error {
		_, err := c.Prepare(ctx, name, insert)
		return err
	})
	if !slices.Equal(filled, plain) {
		t.Errorf("filled: %q\nplain:  %q", filled, plain)
	}
	if got := column(t, p.plain, "SELECT count(*) || ' ' || count(*) FILTER (WHERE id > 0) FROM t"); got[0] != "14 7" {
		t.Errorf("stored are %s rows, all and filled; want 14 and 7", got[0])
	}
}
