package keys

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Giver gives the keys for statements. [Conn] draws them on a connection, [Examples]
// makes them up for an explanation.
type Giver interface {
	// Give appends n keys for key column i of table t to room.
	Give(ctx context.Context, room []driver.Value, t *table.Table, i, n int) ([]driver.Value, error)
	// Reserve returns the first of n consecutive integers for key column i.
	Reserve(ctx context.Context, t *table.Table, i int, n int64) (int64, error)
	// GiveWithin returns n keys for rows that are numbered within their parents, as the
	// lines of an order are; parents returns the parent of each row. If the key is made from
	// columns of the row, parents returns their values.
	GiveWithin(ctx context.Context, t *table.Table, i, n int, parents Parents) ([]driver.Value, error)
	// Spares reports whether more keys are drawn than a statement has rows: see
	// [SpareKeys].
	Spares() bool
}

// Draw draws the keys of an execution, once for each key column of each INSERT. It
// returns them by the index of the plan's draws. The keys in drawn, which the execution
// has already, are kept. rows holds the number of rows of each INSERT … SELECT, by the
// index of the INSERT; if the rows were not counted yet, no keys are drawn for it. room
// may be nil.
func Draw(ctx context.Context, p *plans.Plan, args []driver.NamedValue, h bind.Holes, rows map[int]int64, drawn [][]driver.Value, from Giver, room *Room) ([][]driver.Value, error) {
	keys, values := room.of(p)
	copy(keys, drawn)
	for i, d := range p.Draws {
		if h.Counts[i] == 0 || keys[i] != nil {
			continue
		}
		t := table.Of(&p.Inserts[d.Insert])
		var drawn []driver.Value
		var err error
		switch in := &p.Inserts[d.Insert]; {
		case in.Query != nil && !in.Target.Keys[d.Key].Counted:
			drawn, err = tail(ctx, in, d.Key, h.Counts[i])
		case in.Explained && in.Query != nil:
			drawn = []driver.Value{int64(0), int64(0)}
		case in.Explained:
			drawn = t.KeyColumns[d.Key].Dummies(h.Counts[i])
		case in.Query != nil:
			n, counted := rows[d.Insert]
			if !counted {
				continue
			}
			drawn, err = block(ctx, t, d.Key, n, from)
		case in.Target.Keys[d.Key].Scope != nil:
			drawn, err = from.GiveWithin(ctx, t, d.Key, h.Counts[i], func() ([][]driver.Value, error) {
				return bind.Scopes(p, args, h, d.Insert, d.Key)
			})
		default:
			n := h.Counts[i]
			if n > 1 && from.Spares() {
				n += SpareKeys(p, d, n)
			}
			if h.Counts[i] < in.Rows && in.Target.Keys[d.Key].Follow {
				own := bind.ExplicitIntegers(p, args, h, d.Insert, d.Key)
				drawn, err = beside(ctx, values, in, d.Key, n, own, from)
			} else {
				drawn, err = from.Give(ctx, values, t, d.Key, n)
			}
			if err == nil {
				drawn = drawn[:h.Counts[i]]
			}
		}
		if err != nil {
			return nil, t.KeyError(d.Key, err)
		}
		keys[i] = drawn
	}
	return keys, nil
}

// Room is memory for the keys of a statement that needs one key, as most do.
type Room struct {
	list  [1][]driver.Value
	value [1]driver.Value
}

// of returns empty lists for the keys of a plan, and the memory for their values. It
// discards the keys of an earlier attempt, whose transaction was rolled back.
func (r *Room) of(p *plans.Plan) (keys [][]driver.Value, values []driver.Value) {
	if r == nil || len(p.Draws) != 1 {
		return make([][]driver.Value, len(p.Draws)), nil
	}
	*r = Room{}
	return r.list[:], r.value[:0]
}

// SpareKeys returns how many extra keys are drawn for a statement of n rows that may skip
// its first row, and whose answer is the first key that it has stored: see lastID.spares
// in package outcome.
func SpareKeys(p *plans.Plan, d plans.Draw, n int) int {
	in := &p.Inserts[d.Insert]
	t := table.Of(in)
	k := &t.KeyColumns[d.Key]
	if n < 2 || t.LastIDKey != d.Key || p.Dialect.LastRowID || !p.Alone() || in.Returning ||
		in.Upsert.Conflict != plans.ConflictSkip && (in.Upsert.Conflict != plans.ConflictUpdate || in.Upsert.Idiom || in.Upsert.UpdatesKey) {
		return 0
	}
	if k.Source != nil || !k.IsAdjacent() || k.Rule.Joined || k.Rule.Source.Kind == policy.KindMaxPlusOne {
		return 0 // the numbers after the keys may be given to another statement, so they cannot be spare keys of this one
	}
	return n - 1
}

// block returns the two arguments by which an INSERT … SELECT numbers its rows: the
// number of keys, and the integer before the first key.
func block(ctx context.Context, t *table.Table, i int, rows int64, from Giver) ([]driver.Value, error) {
	if rows == 0 {
		return []driver.Value{int64(0), int64(0)}, nil
	}
	first, err := from.Reserve(ctx, t, i, rows)
	if err != nil {
		return nil, err
	}
	return []driver.Value{rows, first - 1}, nil
}

// beside draws n keys for a statement in which other rows have explicit keys, which are
// in own. It draws again if a drawn key is one of these: the counter is raised above
// them only after the INSERT has succeeded.
func beside(ctx context.Context, room []driver.Value, in *plans.Insert, i, n int, own []int64, from Giver) ([]driver.Value, error) {
	for tries := len(own); ; tries-- {
		drawn, err := from.Give(ctx, room, table.Of(in), i, n)
		if err != nil || tries == 0 || !slices.ContainsFunc(drawn, func(v driver.Value) bool { return slices.Contains(own, in.Target.Keys[i].NumberOf(v)) }) {
			return drawn, err
		}
	}
}

// tail returns the arguments from which the engine makes the keys of a query's rows: the
// source's prefix for this execution, and the number before the first row's. They are
// repeated for each of the places in the text that need them.
func tail(ctx context.Context, in *plans.Insert, i, places int) ([]driver.Value, error) {
	k := &table.Of(in).KeyColumns[i]
	prefix, before, err := k.Source.(keysource.RowSource).RowPrefix(ctx, k.Layout)
	if err != nil {
		return nil, err
	}
	return in.Target.Keys[i].TailValues(prefix, before, places), nil
}

// Parents returns the parent of each row: the values of the columns within which the
// policy numbers the rows.
type Parents func() ([][]driver.Value, error)
