package keyfillpgx_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// sources are the sources of the README's table, and some others: each with the type of
// its column, and what it refuses.
var sources = []struct {
	name    string
	source  policy.Source
	column  string
	inPlace bool // its keys belong to the transaction of their INSERT, so that COPY is refused
	alone   bool // batches are refused
}{
	{name: "uuidv7", source: policy.Source{Kind: policy.KindUUIDv7}, column: "UUID"},
	{name: "sequence", source: sequence(), column: "BIGINT"},
	{name: "snowflake", source: policy.Source{Kind: policy.KindSnowflake, Worker: new(int(7)), EnsureSchema: true}, column: "BIGINT"},
	{name: "joined", source: joined(), column: "BIGINT", inPlace: true},
	{name: "ulid", source: policy.Source{Kind: policy.KindULID}, column: "TEXT"},
	{name: "coprime", source: policy.Source{Kind: policy.KindCoprime, Length: 6, EnsureSchema: true}, column: "TEXT"},
	{name: "maxplusone", source: policy.Source{Kind: policy.KindMaxPlusOne, EnsureSchema: true}, column: "BIGINT", inPlace: true, alone: true},
}

// ways are the ways of an INSERT. Each stores rows and returns the keys that pgx has
// given back; nil where the way gives none.
var ways = []struct {
	name  string
	rows  int
	copy  bool
	batch bool
	run   func(context.Context, handle) ([]string, error)
}{
	{name: "Exec", rows: 2, run: func(ctx context.Context, db handle) ([]string, error) {
		_, err := db.Exec(ctx, "INSERT INTO t (a) VALUES ($1), ($2)", 1, 2)
		return nil, err
	}},
	{name: "Exec without arguments", rows: 2, run: func(ctx context.Context, db handle) ([]string, error) {
		_, err := db.Exec(ctx, "INSERT INTO t (a) VALUES (1), (2)")
		return nil, err
	}},
	{name: "Query", rows: 3, run: func(ctx context.Context, db handle) ([]string, error) {
		rows, err := db.Query(ctx, "INSERT INTO t (a) VALUES ($1), ($2), ($3) RETURNING id::text", 1, 2, 3)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[string])
	}},
	{name: "QueryRow", rows: 1, run: func(ctx context.Context, db handle) ([]string, error) {
		var id any
		err := db.QueryRow(ctx, "INSERT INTO t (a) VALUES (1) RETURNING id").Scan(&id)
		return []string{shown(id)}, err
	}},
	{name: "a key in the list", rows: 1, run: func(ctx context.Context, db handle) ([]string, error) {
		var id any
		err := db.QueryRow(ctx, "INSERT INTO t (a, id) VALUES ($1, $2) RETURNING id", 1, nil).Scan(&id)
		return []string{shown(id)}, err
	}},
	{name: "NamedArgs", rows: 1, run: func(ctx context.Context, db handle) ([]string, error) {
		var id any
		err := db.QueryRow(ctx, "INSERT INTO t (a) VALUES (@a) RETURNING id", pgx.NamedArgs{"a": 1}).Scan(&id)
		return []string{shown(id)}, err
	}},
	{name: "prepared", rows: 2, run: func(ctx context.Context, db handle) ([]string, error) {
		var keys []string
		return keys, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Prepare(ctx, "add", "INSERT INTO t (a) VALUES ($1) RETURNING id"); err != nil {
				return err
			}
			for i := range 2 {
				var id any
				if err := tx.QueryRow(ctx, "add", i).Scan(&id); err != nil {
					return err
				}
				keys = append(keys, shown(id))
			}
			return nil
		})
	}},
	{name: "batch", rows: 3, batch: true, run: func(ctx context.Context, db handle) ([]string, error) {
		var keys []string
		return keys, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			b := &pgx.Batch{}
			b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
			for i := range 2 {
				b.Queue("INSERT INTO t (a) VALUES ($1) RETURNING id", i).QueryRow(func(row pgx.Row) error {
					var id any
					err := row.Scan(&id)
					keys = append(keys, shown(id))
					return err
				})
			}
			return tx.SendBatch(ctx, b).Close()
		})
	}},
	{name: "COPY", rows: 100, copy: true, run: func(ctx context.Context, db handle) ([]string, error) {
		_, err := db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromSlice(100, func(i int) ([]any, error) { return []any{i}, nil }))
		return nil, err
	}},
	{name: "COPY with a key", rows: 2, copy: true, run: func(ctx context.Context, db handle) ([]string, error) {
		_, err := db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id", "a"}, pgx.CopyFromRows([][]any{{nil, 1}, {nil, 2}}))
		return nil, err
	}},
}

// shown returns a key as text.
func shown(id any) string {
	if b, ok := id.([16]byte); ok {
		return uuid.UUID(b).String()
	}
	return fmt.Sprint(id)
}

// TestSources: by each source and each way every row has its own key, which RETURNING
// returns, Record reports as stored, and the statistics count.
//
//deviation:pgx | `CopyFrom` refuses keys that belong to the transaction of their INSERT. | PostgreSQL with pgx | `transaction: joined` | a batch in a transaction
func TestSources(t *testing.T) {
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			p := open(t, keyed(s.source), "CREATE TABLE t (id "+s.column+" PRIMARY KEY, a INT)")
			all := 0
			for _, w := range ways {
				before := column(t, p.plain, "SELECT id::text FROM t")
				ctx, recorder := keyfill.Record(t.Context())
				returned, err := w.run(ctx, p.filled)
				if s.inPlace && w.copy || s.alone && w.batch {
					if _, ok := keyfillError(err); !ok {
						t.Errorf("%s: %v, want a refusal", w.name, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", w.name, err)
					continue
				}
				all += w.rows
				stored := slices.DeleteFunc(column(t, p.plain, "SELECT id::text FROM t"), func(id string) bool { return slices.Contains(before, id) })
				var recorded []string
				for _, k := range recorder.Keys("t") {
					if k.Outcome != keyfill.Stored {
						t.Errorf("%s: row %d is %v", w.name, k.Row, k.Outcome)
					}
					recorded = append(recorded, fmt.Sprint(k.Key))
				}
				for _, list := range [][]string{stored, returned, recorded} {
					slices.Sort(list)
				}
				if len(stored) != w.rows || !slices.Equal(recorded, stored) {
					t.Errorf("%s: stored %v, recorded %v, want %d keys", w.name, stored, recorded, w.rows)
				}
				for _, key := range returned {
					if !slices.Contains(stored, key) {
						t.Errorf("%s: %s was returned, and %v stored", w.name, key, stored)
					}
				}
			}
			if got := p.filled.Mount().Stats().Tables["t"].Keys; got != uint64(all) {
				t.Errorf("%d keys were counted, want %d", got, all)
			}
		})
	}
}

// TestScoped: lines are numbered from 1 in each order, in transactions, batches and by
// single statements.
func TestScoped(t *testing.T) {
	cfg := &policy.Config{Version: 1, Tables: map[string]policy.Table{"t": {Keys: []policy.Key{
		{Column: "line", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Scope: &policy.Scope{{Column: "a"}}}}}}}}
	p := open(t, cfg, "CREATE TABLE t (a INT, line BIGINT, b TEXT, PRIMARY KEY (a, line))")
	ctx := t.Context()
	exec(t, p.filled, "INSERT INTO t (a) VALUES ($1), ($2), ($3)", 1, 2, 1)
	if err := pgx.BeginFunc(ctx, p.filled, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		for i := range 4 {
			b.Queue("INSERT INTO t (a) VALUES ($1)", i%2+1)
		}
		return tx.SendBatch(ctx, b).Close()
	}); err != nil {
		t.Fatal(err)
	}
	got := column(t, p.plain, "SELECT a || '.' || line FROM t ORDER BY a, line")
	if want := []string{"1.1", "1.2", "1.3", "1.4", "2.1", "2.2", "2.3"}; !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}

// TestUUIDv5: the rows of statements, batches and copies get the keys that their values
// make, whichever of pgx's types an argument has; a second delivery is the same rows.
func TestUUIDv5(t *testing.T) {
	from := policy.Scope{{Column: "sender", Type: policy.ScopeText}, {Column: "no"}}
	source := policy.Source{Kind: policy.KindUUIDv5, Namespace: "c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17", From: &from}
	cfg := &policy.Config{Version: 1, Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &source}}}
	p := open(t, cfg, "CREATE TABLE t (id UUID PRIMARY KEY, sender TEXT, no INT, b TEXT)")
	ctx := t.Context()
	type named string
	for range 2 {
		b := &pgx.Batch{}
		for i, sender := range []any{"a", named("b"), pgtype.Text{String: "c", Valid: true}} {
			b.Queue("INSERT INTO t (sender, no) VALUES ($1, $2), ($1, $3) ON CONFLICT DO NOTHING", sender, i, pgtype.Int4{Int32: int32(-i - 1), Valid: true})
		}
		if err := p.filled.SendBatch(ctx, b).Close(); err != nil {
			t.Fatal(err)
		}
		exec(t, p.filled, "INSERT INTO t (no, sender) VALUES ($1, $2) ON CONFLICT DO NOTHING", "7", "d")
	}
	rows := [][]any{{7, "x", "e"}, {int64(8), nil, named("f")}, {"09", nil, pgtype.Text{String: "g", Valid: true}}}
	if n, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"no", "b", "sender"}, pgx.CopyFromRows(rows)); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	for _, row := range [][]any{{nil, "x", "e"}, {7.0, "x", "e"}, {7, "x", 1}, {7, "x", []byte("e")}, {7, "x", "e "}} {
		if _, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"no", "b", "sender"}, pgx.CopyFromRows([][]any{row})); err == nil {
			t.Errorf("%v is copied", row)
		}
	}
	maker := keysource.NewUUIDv5(uuid.MustParse(source.Namespace))
	stored, err := p.plain.Query(ctx, "SELECT id, sender, no FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	n := 0
	for ; stored.Next(); n++ {
		var id uuid.UUID
		var sender string
		var no int64
		if err := stored.Scan(&id, &sender, &no); err != nil {
			t.Fatal(err)
		}
		if want, err := maker.Key(sender, no); err != nil || id != uuid.UUID(want) {
			t.Errorf("%s %d has the key %s, want %s, error %v", sender, no, id, uuid.UUID(want), err)
		}
	}
	if err := stored.Err(); err != nil || n != 10 {
		t.Errorf("%d rows are stored, error %v, want 10", n, err)
	}
}
