package keyfillpgx_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/keyfill/keyfill"
)

// TestStored: what is counted as stored is in the table, by every way to send an INSERT.
func TestStored(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id bigint PRIMARY KEY, a int NOT NULL)")
	ctx := t.Context()
	const insert = "INSERT INTO t (a) VALUES ($1)"
	var id int64
	for _, send := range []func() error{
		func() error { _, err := p.filled.Exec(ctx, insert, 1); return err },
		func() error { return p.filled.QueryRow(ctx, insert+" RETURNING id", 2).Scan(&id) },
		func() error {
			b := &pgx.Batch{}
			b.Queue(insert, 3)
			b.Queue(insert, 4)
			return p.filled.SendBatch(ctx, b).Close()
		},
		func() error {
			_, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows([][]any{{5}, {6}}))
			return err
		},
	} {
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	b := &pgx.Batch{}
	b.Queue(insert, 7)
	b.Queue(insert, nil)
	if err := p.filled.SendBatch(ctx, b).Close(); err == nil {
		t.Fatal("a row without a value was stored")
	}
	if _, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows([][]any{{8}, {nil}})); err == nil {
		t.Fatal("a row without a value was stored")
	}
	var stored uint64
	if err := p.plain.QueryRow(ctx, "SELECT count(*) FROM t").Scan(&stored); err != nil {
		t.Fatal(err)
	}
	got := p.filled.Mount().Stats().Tables["t"]
	if stored != 6 || got.Stored != stored || got.Failed != 4 || got.FailedBy[keyfill.CauseEngine] != 4 || got.Filled != 10 {
		t.Errorf("%d rows are stored, and counted is %+v", stored, got)
	}
}
