package executor

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// In a statement of several rows, some of which have explicit keys, later rows are
// numbered above these keys if the column's counter follows them, as with
// AUTO_INCREMENT: VALUES (300), (DEFAULT) stores 300 and 301. The counter is raised
// before the INSERT is sent, since later rows get their keys from it. A counter that
// belongs to the transaction of the INSERT was raised there already.
//
// A row that the engine numbers, because its key is NULL at execution, gets the number
// after the greatest one. That would be the number of keyfill's next row, so that
// number is skipped.

// mixed draws keys for some rows of a statement in which other rows have explicit keys.
type mixed struct {
	*execution.Conn
	x *execution.Execution
}

// giverOf returns the value that draws the keys of an execution: its connection, or a value
// of type mixed if other rows of the statement have explicit keys.
func giverOf(x *execution.Execution) keys.Giver {
	in := &x.Plan.Inserts[0]
	if x.Follows.Any() || len(x.Plan.Inserts) == 1 && slices.ContainsFunc(x.Holes.Counts, func(n int) bool { return 0 < n && n < in.Rows }) {
		return mixed{x.Conn, x}
	}
	return x.Conn
}

// filledBy returns how many rows of an execution get a key for a column.
func filledBy(x *execution.Execution, key int) int {
	for i, d := range x.Plan.Draws {
		if d.Key == key {
			return x.Holes.Counts[i]
		}
	}
	return 0
}

// Give draws n keys and appends them to room.
func (m mixed) Give(ctx context.Context, room []driver.Value, t *table.Table, i, n int) ([]driver.Value, error) {
	if len(m.x.Plan.Inserts) != 1 || t.KeyColumns[i].Source != nil {
		return m.Conn.Give(ctx, room, t, i, n)
	}
	own := bind.BroughtKeys(m.x.Plan, m.x.Args, m.x.Holes, 0, i)
	if f := execution.FactsOf(m.x.Conn, t); f != nil && f.Columns[i].OthersNumber && slices.ContainsFunc(own, func(o bind.Brought) bool { return o.Integer == 0 }) {
		m.raiseToCounter(ctx, t, i)
	}
	if b := m.x.Follows.Of(t, i); b != nil {
		return m.giveAbove(ctx, b, own, room, n)
	}
	return m.giveBetween(ctx, own, room, t, i, n)
}

// raiseToCounter raises keyfill's counter to the engine's own counter, from which the
// engine numbers a row of the INSERT. In MySQL and MariaDB that counter may be above
// the greatest key, after an INSERT that has failed or has reserved more numbers than
// it needed. If the engine's counter cannot be read, a number that both counters give
// leads to a duplicate-key error.
func (m mixed) raiseToCounter(ctx context.Context, t *table.Table, i int) {
	follows := &m.x.Follows
	for _, b := range slices.Concat(follows.Before, follows.After) {
		k := &t.KeyColumns[i]
		column := execution.FactsOf(m.x.Conn, t).Columns[i].StoreColumn(t.Rule, k, false)
		if b.Table != t || b.Key != i || !column.Counted {
			continue
		}
		counter, err := keycolumn.Of(store.Within(m.x.Plan.Dialect, m.Own()), column).Counter(ctx)
		if err == nil && counter.Next > 1 {
			_ = b.Raise(ctx, m.Conn, counter.Next-1)
		}
		return
	}
}

// giveBetween draws all numbers at once, and omits those that the engine may give.
func (m mixed) giveBetween(ctx context.Context, own []bind.Brought, room []driver.Value, t *table.Table, i, n int) ([]driver.Value, error) {
	filled, f := filledBy(m.x, i), execution.FactsOf(m.x.Conn, t)
	var left []int // the indexes of the numbers to omit
	for at, o := range own {
		if before := o.Row - at; o.Integer == 0 && before < filled && f != nil && f.Columns[i].OthersNumber {
			left = append(left, before+len(left))
		}
	}
	drawn, err := m.Conn.Give(ctx, room, t, i, n+len(left))
	if err != nil {
		return nil, err
	}
	for k, at := range left {
		drawn = slices.Delete(drawn, len(room)+at-k, len(room)+at-k+1)
	}
	return drawn, nil
}

// giveAbove draws the numbers in parts, and raises the counter above the explicit keys
// in between.
func (m mixed) giveAbove(ctx context.Context, b *execution.Brought, own []bind.Brought, room []driver.Value, n int) ([]driver.Value, error) {
	filled, f := filledBy(m.x, b.Key), execution.FactsOf(m.x.Conn, b.Table)
	drawn := room
	for at, o := range own {
		before := o.Row - at // how many earlier rows get a key
		if before >= filled {
			break
		}
		var err error
		if more := before - len(drawn); more > 0 {
			if drawn, err = m.Conn.Give(ctx, drawn, b.Table, b.Key, more); err != nil {
				return nil, err
			}
		}
		switch {
		case o.Integer == 0 && f != nil && f.Columns[b.Key].OthersNumber:
			_, err = m.Conn.Give(ctx, nil, b.Table, b.Key, 1)
		case o.Integer <= b.Raised || isAbove(drawn, o.Integer):
		default:
			err = b.Raise(ctx, m.Conn, o.Integer)
			b.Raised = o.Integer
		}
		if err != nil {
			return nil, err
		}
	}
	return m.Conn.Give(ctx, drawn, b.Table, b.Key, n-len(drawn))
}

// isAbove reports whether the last of the drawn keys is greater than an integer.
func isAbove(drawn []driver.Value, integer int64) bool {
	if len(drawn) == 0 {
		return false
	}
	switch v := drawn[len(drawn)-1].(type) {
	case int64:
		return v > integer
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return err == nil && n > integer
	}
	return false
}
