package keyfillpgx_test

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// batchSteps are what pgx's users do with batches.
var batchSteps = []step{
	{"batch closed", func(ctx context.Context, db handle) []string {
		b := &pgx.Batch{}
		for i := range 5 {
			b.Queue("INSERT INTO t (a, b) VALUES ($1, $2)", i, "x")
		}
		b.Queue("INSERT INTO t (a) VALUES (9)")
		r := db.SendBatch(ctx, b)
		return []string{told(r.Close()), told(r.Close()), line("%v", r.Tx() == nil)}
	}},
	{"batch read", func(ctx context.Context, db handle) []string {
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		b.Queue("INSERT INTO t (a) VALUES ($1), ($2) RETURNING id, a", 2, 3)
		b.Queue("SELECT id, a FROM t ORDER BY a")
		b.Queue("INSERT INTO t (a) VALUES (@a) RETURNING a", pgx.NamedArgs{"a": 4})
		b.Queue("UPDATE t SET b = 'u'")
		r := db.SendBatch(ctx, b)
		seen := done(r.Exec())
		seen = append(seen, scans(r.Query())...)
		seen = append(seen, scans(r.Query())...)
		var a int
		seen = append(seen, told(r.QueryRow().Scan(&a)), line("%d", a))
		seen = append(seen, done(r.Exec())...)
		_, err := r.Exec()
		return append(seen, line("%v", err != nil), told(r.Close()))
	}},
	{"batch called back", func(ctx context.Context, db handle) []string {
		var seen []string
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1).Exec(func(tag pgconn.CommandTag) error {
			seen = append(seen, tag.String())
			return nil
		})
		b.Queue("INSERT INTO t (a) VALUES ($1), ($2) RETURNING id, a", 2, 3).Query(func(rows pgx.Rows) error {
			seen = append(seen, scans(rows, nil)...)
			return nil
		})
		b.Queue("INSERT INTO t (a) VALUES (4) RETURNING a").QueryRow(func(row pgx.Row) error {
			var a int
			err := row.Scan(&a)
			seen = append(seen, line("%d %s", a, told(err)))
			return err
		})
		return append(seen, told(db.SendBatch(ctx, b).Close()), line("%v", seen))
	}},
	{"batch called back with an error", func(ctx context.Context, db handle) []string {
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1).Exec(func(pgconn.CommandTag) error { return errOwn })
		called := false
		b.Queue("INSERT INTO t (a) VALUES ($1)", 2).Exec(func(pgconn.CommandTag) error {
			called = true
			return nil
		})
		return []string{line("%v", errors.Is(db.SendBatch(ctx, b).Close(), errOwn)), line("%v", called)}
	}},
	{"batch failed", func(ctx context.Context, db handle) []string {
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		b.Queue("INSERT INTO t (a) VALUES ($1)", 2)
		r := db.SendBatch(ctx, b)
		seen := done(r.Exec())
		seen = append(seen, done(r.Exec())...)
		seen = append(seen, done(r.Exec())...)
		return append(seen, told(r.Close()))
	}},
	{"batch not sent", func(ctx context.Context, db handle) []string {
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		b.Queue("INSERT INTO t (nothing) VALUES ($1)", 1)
		seen := []string{told(db.SendBatch(ctx, b).Close())}
		b = &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		b.Queue("INSERT INTO t (a) VALUES ($1)", make(chan int))
		return append(seen, line("%v", db.SendBatch(ctx, b).Close() != nil))
	}},
	{"batch in a transaction", func(ctx context.Context, db handle) []string {
		return inTx(ctx, db, true, func(tx pgx.Tx) []string {
			b := &pgx.Batch{}
			b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
			b.Queue("INSERT INTO t (a) VALUES ($1)", 2)
			seen := []string{told(tx.SendBatch(ctx, b).Close())}
			return append(seen, inTx(ctx, tx, false, func(inner pgx.Tx) []string {
				b := &pgx.Batch{}
				b.Queue("INSERT INTO t (a) VALUES ($1)", 3)
				b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
				return []string{told(inner.SendBatch(ctx, b).Close())}
			})...)
		})
	}},
	{"batch with texts of a transaction", func(ctx context.Context, db handle) []string {
		b := &pgx.Batch{}
		b.Queue("begin")
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		b.Queue("commit")
		b.Queue("begin")
		b.Queue("INSERT INTO t (a) VALUES ($1)", 2)
		b.Queue("rollback")
		return []string{told(db.SendBatch(ctx, b).Close())}
	}},
	{"batch that begins a transaction", func(ctx context.Context, db handle) []string {
		var seen []string
		for i, commit := range []bool{true, false} {
			b := &pgx.Batch{}
			b.BeginTx(pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
			b.Queue("INSERT INTO t (a) VALUES ($1)", 10+i)
			r := db.SendBatch(ctx, b)
			tx := r.Tx()
			seen = append(seen, told(r.Close()))
			seen = append(seen, done(tx.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 20+i))...)
			if commit {
				seen = append(seen, told(tx.Commit(ctx)))
			}
			seen = append(seen, told(tx.Rollback(ctx)), told(tx.Rollback(ctx)))
		}
		return append(seen, inTx(ctx, db, true, func(tx pgx.Tx) []string {
			b := &pgx.Batch{}
			b.BeginTx(pgx.TxOptions{})
			return []string{told(tx.SendBatch(ctx, b).Close())}
		})...)
	}},
	{"batch whose transaction fails", func(ctx context.Context, db handle) []string {
		b := &pgx.Batch{}
		b.BeginTx(pgx.TxOptions{})
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		r := db.SendBatch(ctx, b)
		seen := []string{told(r.Close())}
		seen = append(seen, done(r.Tx().Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 2))...)
		return append(seen, told(r.Tx().Commit(ctx)), told(r.Tx().Rollback(ctx)))
	}},
	{"batch that begins no transaction", func(ctx context.Context, db handle) []string {
		b := &pgx.Batch{}
		b.BeginTx(pgx.TxOptions{BeginQuery: "begin nonsense"})
		b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
		r := db.SendBatch(ctx, b)
		return []string{told(r.Close()), told(r.Tx().Commit(ctx)), told(r.Tx().Rollback(ctx))}
	}},
	{"batch without texts", func(ctx context.Context, db handle) []string {
		r := db.SendBatch(ctx, &pgx.Batch{})
		_, err := r.Exec()
		return []string{line("%v", err != nil), told(r.Close())}
	}},
}
