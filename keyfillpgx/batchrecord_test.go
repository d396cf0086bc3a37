package keyfillpgx_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill"
)

// outcomes returns what a recorder says of its keys.
func outcomes(rec *keyfill.Recorder) []keyfill.Outcome {
	all := []keyfill.Outcome{}
	for _, k := range rec.All() {
		all = append(all, k.Outcome)
	}
	return all
}

// TestBatchOwnError: what a queued function returns says nothing of the rows of the batch,
// unless it is the server's error of the batch.
//
//deviation:pgx | `Record` says unknown for a batch outside of a transaction in which a function of the application returned an error, and for a batch that ends a transaction and fails. | PostgreSQL with pgx | `QueuedQuery.Exec(f)`, and f fails | –
//deviation:pgx | Under the simple protocol `Record` says unknown for a batch in which one text has several statements, none, or a comment. | PostgreSQL with pgx | `batch.Queue("INSERT …; SELECT 1")` | one statement a text
func TestBatchOwnError(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT UNIQUE); INSERT INTO t VALUES (1000, 1000)")
	elsewhere := &pgconn.PgError{Code: "23505", Message: "of another table"}
	var id int64
	for name, c := range map[string]struct {
		queue  func(*pgx.Batch)
		want   keyfill.Outcome
		stored bool
	}{
		"an error of another statement": {func(b *pgx.Batch) {
			b.Queue("INSERT INTO t (a) VALUES (2)").Exec(func(pgconn.CommandTag) error { return elsewhere })
		}, keyfill.Unknown, true},
		"the error of the batch": {func(b *pgx.Batch) {
			b.Queue("INSERT INTO t (a) VALUES (1000) RETURNING id").QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
		}, keyfill.NotStored, false},
		"another error for that of the batch": {func(b *pgx.Batch) {
			b.Queue("INSERT INTO t (a) VALUES (1000) RETURNING id").QueryRow(func(row pgx.Row) error {
				if row.Scan(&id) != nil {
					return errOwn
				}
				return nil
			})
		}, keyfill.NotStored, false},
	} {
		exec(t, p.plain, "DELETE FROM t WHERE a < 1000")
		ctx, rec := keyfill.Record(t.Context())
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES (1)")
		c.queue(b)
		if p.filled.SendBatch(ctx, b).Close() == nil {
			t.Errorf("%s: the batch has succeeded", name)
		}
		if got := outcomes(rec); !slices.Equal(got, []keyfill.Outcome{c.want, c.want}) {
			t.Errorf("%s: recorded %v, want %v", name, got, c.want)
		}
		if got := column(t, p.plain, "SELECT a::text FROM t WHERE a = 1"); (len(got) == 1) != c.stored {
			t.Errorf("%s: stored is %v", name, got)
		}
	}
	if got := p.filled.Mount().Stats().Tables["t"]; got.Suspects != 0 {
		t.Errorf("the statistics are %+v, want no suspect", got)
	}
}

// TestBatchEmptyTexts: under the simple protocol a text without a statement has no result.
// The results of the others are read as pgx reads them, and of no other text.
func TestBatchEmptyTexts(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT UNIQUE); INSERT INTO t VALUES (1000, 1000)",
		func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol })
	read := func(ctx context.Context, db handle, text string, byHand bool) error {
		b := &pgx.Batch{}
		b.Queue(text)
		b.Queue("INSERT INTO t (a) VALUES (1000) ON CONFLICT DO NOTHING")
		b.Queue("INSERT INTO t (id, a) VALUES (2000, 2000) ON CONFLICT DO NOTHING")
		r := db.SendBatch(ctx, b)
		if byHand {
			for range 2 {
				if _, err := r.Exec(); err != nil {
					return errors.Join(err, r.Close())
				}
			}
		}
		return r.Close()
	}
	for _, text := range []string{"", " ; ", "/* nothing */", "-- nothing\n"} {
		for _, byHand := range []bool{false, true} {
			exec(t, p.plain, "DELETE FROM t WHERE a = 2000")
			ctx, rec := keyfill.Record(t.Context())
			if err := read(ctx, p.filled, text, byHand); err != nil {
				t.Errorf("%q: %v", text, err)
			}
			if got := outcomes(rec); len(got) != 1 || got[0] == keyfill.Stored {
				t.Errorf("%q: recorded %v of a row that was left out", text, got)
			}
			if got := column(t, p.plain, "SELECT id::text FROM t ORDER BY t.id"); !slices.Equal(got, []string{"1000", "2000"}) {
				t.Errorf("%q: stored is %v", text, got)
			}
		}
	}
}

// TestBatchOrder: the keys of a batch are recorded in the order of its texts, also where
// the rows of a later one are read before the results of the others are noted.
func TestBatchOrder(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	ctx, rec := keyfill.Record(t.Context())
	b := &pgx.Batch{}
	b.Queue("INSERT INTO t (a) VALUES (1), (2)")
	b.Queue("INSERT INTO t (a) VALUES (3) RETURNING id")
	b.Queue("INSERT INTO t (id, a) VALUES (1000, 4)")
	b.Queue("INSERT INTO t (a) VALUES (5)")
	r := p.filled.SendBatch(ctx, b)
	if _, err := r.Exec(); err != nil {
		t.Fatal(err)
	}
	var returned int64
	if err := r.QueryRow().Scan(&returned); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := column(t, p.plain, "SELECT id::text FROM t WHERE id < 1000 ORDER BY a")
	got := []string{}
	for _, k := range rec.All() {
		got = append(got, line("%v", k.Key))
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded are %v, want %v", got, want)
	}
	if last, ok := keyfill.Last[int64](rec, "t"); !ok || line("%d", last) != want[len(want)-1] {
		t.Errorf("the last is %d, want one of %v", last, want)
	}
}
