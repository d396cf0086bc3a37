package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/keysource"
)

// dummies gives the keys of an explanation: integers from 1, since those of a
// state would have to be drawn.
type dummies struct{}

func (dummies) Give(ctx context.Context, room []driver.Value, t *table, i, n int) ([]driver.Value, error) {
	k := &t.keys[i]
	if k.source != nil {
		return k.source.Append(ctx, room, keysource.Request{N: n, Layout: k.layout})
	}
	if k.shape != nil {
		return k.example(n)
	}
	return keysource.AppendIntegers(room, 1, n, k.layout), nil
}

// Reserve gives the rows of an INSERT … SELECT the numbers from 1.
func (dummies) Reserve(context.Context, *table, int, int64) (int64, error) { return 1, nil }

// Within gives the rows of an explanation the numbers from 1.
func (dummies) Within(_ context.Context, t *table, i, n int, _ parentsFunc) ([]driver.Value, error) {
	return keysource.Integers(1, n, t.keys[i].layout), nil
}

// Spares reports that an explanation shows the keys of the rows alone.
func (dummies) Spares() bool { return false }
