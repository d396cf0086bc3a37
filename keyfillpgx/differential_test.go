package keyfillpgx_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill/policy"
)

// step does something with a database and returns what it has seen, without keys.
type step struct {
	name string
	run  func(context.Context, handle) []string
}

// scans returns the columns a of rows, and their end.
func scans(rows pgx.Rows, err error) []string {
	var seen []string
	if err != nil {
		return append(seen, "query: "+told(err))
	}
	for rows.Next() {
		var id any
		var a *int
		if err := rows.Scan(&id, &a); err != nil {
			return append(seen, "scan: "+told(err))
		}
		if id == nil {
			seen = append(seen, "no id")
		}
		n := -1
		if a != nil {
			n = *a
		}
		values, err := rows.Values()
		fields := rows.FieldDescriptions()
		seen = append(seen, line("a=%d, %d values %s, %d raw, %s", n, len(values), told(err), len(rows.RawValues()), fields[1].Name))
	}
	return append(seen, line("%v %q %s", rows.Next(), rows.CommandTag(), told(rows.Err())))
}

// done returns what an Exec has given.
func done(tag pgconn.CommandTag, err error) []string {
	return []string{line("%q %s", tag, told(err))}
}

// stored returns the rows of t without keys.
func stored(ctx context.Context, db handle) []string {
	rows, err := db.Query(ctx, "SELECT a, b FROM t ORDER BY a, b")
	if err != nil {
		return []string{told(err)}
	}
	type row struct {
		A *int
		B *string
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	seen := []string{told(err)}
	for _, r := range all {
		a, b := -1, "NULL"
		if r.A != nil {
			a = *r.A
		}
		if r.B != nil {
			b = *r.B
		}
		seen = append(seen, line("(%d, %s)", a, b))
	}
	return seen
}

var errOwn = errors.New("the program's own")

// inTx runs f in a transaction and ends it.
func inTx(ctx context.Context, db handle, commit bool, f func(pgx.Tx) []string) []string {
	tx, err := db.Begin(ctx)
	if err != nil {
		return []string{told(err)}
	}
	seen := f(tx)
	if commit {
		err = tx.Commit(ctx)
	} else {
		err = tx.Rollback(ctx)
	}
	_, behind := tx.Exec(ctx, "SELECT 1")
	return append(seen, told(err), told(tx.Commit(ctx)), told(tx.Rollback(ctx)), told(behind))
}

// steps are what pgx's users do: each is done plain and filled, on the same tables but
// for the default of the key.
var steps = []step{
	{"Exec", func(ctx context.Context, db handle) []string {
		seen := done(db.Exec(ctx, "INSERT INTO t (a, b) VALUES ($1, $2)", 1, "x"))
		seen = append(seen, done(db.Exec(ctx, "INSERT INTO t (a, b) VALUES (2, 'y'), (3, NULL)"))...)
		seen = append(seen, done(db.Exec(ctx, "INSERT INTO t (a) VALUES (4); UPDATE t SET b = 'z' WHERE a = 4; INSERT INTO t (a) VALUES (5), (6)"))...)
		seen = append(seen, done(db.Exec(ctx, "UPDATE t SET b = b WHERE a > $1", 2))...)
		seen = append(seen, done(db.Exec(ctx, "INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT (a) DO NOTHING", 1, "w"))...)
		seen = append(seen, done(db.Exec(ctx, "INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET b = excluded.b", 1, "w"))...)
		seen = append(seen, done(db.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 1))...)
		seen = append(seen, done(db.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", "no number"))...)
		return append(seen, done(db.Exec(ctx, "INSERT INTO t (nothing) VALUES (1)"))...)
	}},
	{"Query", func(ctx context.Context, db handle) []string {
		seen := scans(db.Query(ctx, "INSERT INTO t (a) VALUES ($1), ($2) RETURNING id, a", 1, 2))
		seen = append(seen, scans(db.Query(ctx, "INSERT INTO t (a) VALUES (3) RETURNING id, a"))...)
		seen = append(seen, scans(db.Query(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", 1))...)
		seen = append(seen, scans(db.Query(ctx, "INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO NOTHING RETURNING id, a", 1))...)
		return append(seen, scans(db.Query(ctx, "SELECT id, a FROM t ORDER BY a"))...)
	}},
	{"Query left early", func(ctx context.Context, db handle) []string {
		rows, err := db.Query(ctx, "INSERT INTO t (a) VALUES (1), (2), (3) RETURNING id, a")
		seen := []string{told(err), line("%v", rows.Next())}
		rows.Close()
		return append(seen, line("%v %q %s", rows.Next(), rows.CommandTag(), told(rows.Err())))
	}},
	{"QueryRow", func(ctx context.Context, db handle) []string {
		var id any
		var a int
		seen := []string{told(db.QueryRow(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", 7).Scan(&id, &a)), line("%d %v", a, id != nil)}
		seen = append(seen, told(db.QueryRow(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", 7).Scan(&id, &a)))
		seen = append(seen, told(db.QueryRow(ctx, "INSERT INTO t (a) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id, a", 7).Scan(&id, &a)))
		seen = append(seen, told(db.QueryRow(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", 8).Scan(&a)))
		return append(seen, told(db.QueryRow(ctx, "SELECT a FROM t WHERE a = $1", 9).Scan(&a)))
	}},
	{"collected", func(ctx context.Context, db handle) []string {
		rows, _ := db.Query(ctx, "INSERT INTO t (a) VALUES (1), (2) RETURNING a")
		all, err := pgx.CollectRows(rows, pgx.RowTo[int])
		seen := []string{line("%v %s", all, told(err))}
		rows, _ = db.Query(ctx, "INSERT INTO t (a) VALUES (3), (1) RETURNING a")
		all, err = pgx.CollectRows(rows, pgx.RowTo[int])
		return append(seen, line("%v %s", all, told(err)))
	}},
	{"options", func(ctx context.Context, db handle) []string {
		var seen []string
		for i, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
			pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
			seen = append(seen, done(db.Exec(ctx, "INSERT INTO t (a, b) VALUES ($1, $2)", mode, 10+i, mode.String()))...)
			seen = append(seen, scans(db.Query(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", mode, 20+i))...)
		}
		seen = append(seen, scans(db.Query(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", pgx.QueryResultFormats{pgx.TextFormatCode, pgx.TextFormatCode}, 30))...)
		return append(seen, scans(db.Query(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", pgx.QueryResultFormatsByOID{23: pgx.TextFormatCode}, 31))...)
	}},
	{"rewriters", func(ctx context.Context, db handle) []string {
		seen := done(db.Exec(ctx, "INSERT INTO t (a, b) VALUES (@a, @b)", pgx.NamedArgs{"a": 1, "b": "x"}))
		seen = append(seen, scans(db.Query(ctx, "INSERT INTO t (a, b) VALUES (@a, @b) RETURNING id, a", pgx.StrictNamedArgs{"a": 2, "b": "y"}))...)
		seen = append(seen, scans(db.Query(ctx, "INSERT INTO t (a) VALUES (@a) RETURNING id, a", pgx.QueryExecModeExec, pgx.NamedArgs{"a": 3}))...)
		return append(seen, done(db.Exec(ctx, "INSERT INTO t (a, b) VALUES (@a, @c)", pgx.StrictNamedArgs{"a": 1, "b": "x"}))...)
	}},
	{"committed", func(ctx context.Context, db handle) []string {
		return inTx(ctx, db, true, func(tx pgx.Tx) []string {
			seen := done(tx.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 1))
			return append(seen, scans(tx.Query(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", 2))...)
		})
	}},
	{"rolled back", func(ctx context.Context, db handle) []string {
		return inTx(ctx, db, false, func(tx pgx.Tx) []string {
			return done(tx.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 1))
		})
	}},
	{"failed transaction", func(ctx context.Context, db handle) []string {
		return inTx(ctx, db, true, func(tx pgx.Tx) []string {
			seen := done(tx.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 1))
			seen = append(seen, done(tx.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 1))...)
			return append(seen, done(tx.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 2))...)
		})
	}},
	{"nested", func(ctx context.Context, db handle) []string {
		return inTx(ctx, db, true, func(tx pgx.Tx) []string {
			seen := done(tx.Exec(ctx, "INSERT INTO t (a) VALUES (1)"))
			seen = append(seen, inTx(ctx, tx, false, func(inner pgx.Tx) []string {
				seen := done(inner.Exec(ctx, "INSERT INTO t (a) VALUES (2)"))
				return append(seen, done(inner.Exec(ctx, "INSERT INTO t (a) VALUES (2)"))...)
			})...)
			seen = append(seen, inTx(ctx, tx, true, func(inner pgx.Tx) []string {
				return append(done(inner.Exec(ctx, "INSERT INTO t (a) VALUES (3)")), inTx(ctx, inner, true, func(third pgx.Tx) []string {
					return scans(third.Query(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id, a", 4))
				})...)
			})...)
			err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
				if _, err := inner.Exec(ctx, "INSERT INTO t (a) VALUES (5)"); err != nil {
					return err
				}
				return errOwn
			})
			return append(seen, told(err))
		})
	}},
	{"prepared", func(ctx context.Context, db handle) []string {
		return inTx(ctx, db, true, func(tx pgx.Tx) []string {
			d, err := tx.Prepare(ctx, "add", "INSERT INTO t (a, b) VALUES ($1, $2) RETURNING id, a")
			seen := []string{told(err), line("%s %v %d", d.Name, d.ParamOIDs, len(d.Fields))}
			for i := range 3 {
				seen = append(seen, scans(tx.Query(ctx, "add", i, "x"))...)
			}
			seen = append(seen, done(tx.Exec(ctx, "add", 9, nil))...)
			b := &pgx.Batch{}
			b.Queue("add", 10, "batched")
			return append(seen, told(tx.SendBatch(ctx, b).Close()))
		})
	}},
	{"prepared and failed", func(ctx context.Context, db handle) []string {
		return inTx(ctx, db, true, func(tx pgx.Tx) []string {
			_, err := tx.Prepare(ctx, "bad", "INSERT INTO t (nothing) VALUES ($1)")
			return []string{told(err)}
		})
	}},
}

// schemas are the tables of a program: plain ones make their keys, filled ones have none.
var schemas = map[string]struct {
	source        policy.Source
	plain, filled string
}{
	"integers": {sequence(), "id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "id BIGINT PRIMARY KEY"},
	"UUIDs":    {policy.Source{Kind: policy.KindUUIDv7}, "id UUID DEFAULT gen_random_uuid() PRIMARY KEY", "id UUID PRIMARY KEY"},
}

// TestAsPgx: a program sees through a filled pool what it sees through the pool of pgx,
// by each default mode of execution, and has stored the same rows.
//
//deviation:pgx | An INSERT that was prepared by name is executed as its filled text, for which pgx keeps a statement of its own. In the modes `exec` and `simple_protocol` keyfill prepares it at its first execution and deallocates it with the name. | PostgreSQL with pgx | `tx.Prepare(ctx, "add", "INSERT …")` | –
func TestAsPgx(t *testing.T) {
	all := slices.Concat(steps, batchSteps, copySteps)
	for name, s := range schemas {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
			t.Run(name+"/"+strings.ReplaceAll(mode.String(), " ", "_"), func(t *testing.T) {
				const rest = ", a INT UNIQUE, b TEXT)"
				change := func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode }
				plain := open(t, keyed(s.source), "CREATE TABLE t ("+s.plain+rest, change)
				filled := open(t, keyed(s.source), "CREATE TABLE t ("+s.filled+rest, change)
				for _, one := range all {
					t.Run(strings.ReplaceAll(one.name, " ", "_"), func(t *testing.T) {
						want, got := outcome(t, one, plain.plain), outcome(t, one, filled.filled)
						if !slices.Equal(got, want) {
							t.Errorf("filled:\n%s\nplain:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
						}
					})
				}
			})
		}
	}
}

// outcome runs a step on an empty table, and returns what it has seen and stored.
func outcome(t *testing.T, s step, db handle) []string {
	t.Helper()
	exec(t, db, "TRUNCATE t")
	seen := s.run(t.Context(), db)
	return append(seen, stored(t.Context(), db)...)
}
