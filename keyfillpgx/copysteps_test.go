package keyfillpgx_test

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// copySteps are what pgx's users do with CopyFrom.
var copySteps = []step{
	{"copied rows", func(ctx context.Context, db handle) []string {
		n, err := db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a", "b"}, pgx.CopyFromRows([][]any{{1, "x"}, {2, nil}, {nil, "z"}}))
		seen := []string{line("%d %s", n, told(err))}
		n, err = db.CopyFrom(ctx, pgx.Identifier{"public", "t"}, []string{"b"}, pgx.CopyFromRows([][]any{{`a"b`}}))
		return append(seen, line("%d %s", n, told(err)))
	}},
	{"copied slice", func(ctx context.Context, db handle) []string {
		n, err := db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromSlice(5000, func(i int) ([]any, error) { return []any{i}, nil }))
		return []string{line("%d %s", n, told(err))}
	}},
	{"copied function", func(ctx context.Context, db handle) []string {
		i := 0
		n, err := db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromFunc(func() ([]any, error) {
			if i++; i > 10 {
				return nil, nil
			}
			return []any{i}, nil
		}))
		return []string{line("%d %s", n, told(err))}
	}},
	{"copied no rows", func(ctx context.Context, db handle) []string {
		n, err := db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows(nil))
		return []string{line("%d %s", n, told(err))}
	}},
	{"copy with errors", func(ctx context.Context, db handle) []string {
		n, err := db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromSlice(10, func(i int) ([]any, error) {
			if i == 5 {
				return nil, errOwn
			}
			return []any{i}, nil
		}))
		seen := []string{line("%d %v %s", n, errors.Is(err, errOwn), told(err))}
		n, err = db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a", "b"}, pgx.CopyFromRows([][]any{{1, "x"}, {2}}))
		seen = append(seen, line("%d %s", n, told(err)))
		n, err = db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows([][]any{{1}, {1}}))
		seen = append(seen, line("%d %s", n, told(err)))
		n, err = db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows([][]any{{"no number"}}))
		seen = append(seen, line("%d %v", n, err != nil))
		n, err = db.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"nothing"}, pgx.CopyFromRows([][]any{{1}}))
		seen = append(seen, line("%d %s", n, told(err)))
		n, err = db.CopyFrom(ctx, pgx.Identifier{"nothing"}, []string{"a"}, pgx.CopyFromRows([][]any{{1}}))
		return append(seen, line("%d %s", n, told(err)))
	}},
	{"copied in a transaction", func(ctx context.Context, db handle) []string {
		seen := inTx(ctx, db, true, func(tx pgx.Tx) []string {
			n, err := tx.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows([][]any{{1}, {2}}))
			return append(done(tx.Exec(ctx, "INSERT INTO t (a) VALUES (3)")), line("%d %s", n, told(err)))
		})
		return append(seen, inTx(ctx, db, false, func(tx pgx.Tx) []string {
			n, err := tx.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows([][]any{{4}, {5}}))
			return []string{line("%d %s", n, told(err))}
		})...)
	}},
}
