package keys

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/mapping"
	"github.com/keyfill/keyfill/keysource"
)

// mapped returns n keys, each of which is made from a number.
func (dr Drawing) mapped(ctx context.Context, n int) ([]driver.Value, error) {
	if texts := dr.Key.Texts(); texts != nil && dr.Key.IsWithin() {
		return dr.within(ctx, make([][]driver.Value, n)) // within periods alone, which the clock decides
	} else if texts != nil {
		return dr.texts(ctx, texts, n)
	}
	if _, ok := dr.Key.Shape.(*keysource.Composite); !ok {
		c, first, err := dr.Reserve(ctx, int64(n))
		if err != nil {
			return nil, err
		}
		keys, err := mapping.Keys(c.Mapping, first, n, dr.Key.Layout)
		if err == nil {
			dr.warn(ctx, c, first+int64(n)-1)
		}
		return keys, err
	}
	// One tick of the clock may have room for only one key of this kind, so a statement
	// with several rows draws each key separately.
	keys := make([]driver.Value, 0, n)
	for range n {
		c, number, err := dr.Reserve(ctx, 1)
		if err != nil {
			return nil, err
		}
		one, err := mapping.Keys(c.Mapping, number, 1, dr.Key.Layout)
		if err != nil {
			return nil, err
		}
		keys = append(keys, one[0])
	}
	return keys, nil
}

// within returns the keys of rows that are numbered within their parents, or in periods.
func (dr Drawing) within(ctx context.Context, rows [][]driver.Value) ([]driver.Value, error) {
	c, err := dr.Counter(ctx)
	if err != nil {
		return nil, err
	}
	s, ok := c.Numbers.(numbering.ParentNumbers)
	if !ok {
		return nil, numbering.ErrNoParent // the policy has changed, so that the counter does not number rows within parents
	}
	keys, err := s.Within(ctx, dr.On, dr.Table, dr.Index, rows)
	if err == nil && !c.Drawn.Load() {
		dr.firstDrawn(c)
	}
	if unusable(err) {
		// The next statement may be about another table with the same name, so it gets a
		// new counter.
		if err := c.Forget(ctx); err != nil {
			return nil, err
		}
		dr.sources.found.Drop(dr.Key, c)
	}
	return keys, err
}

// texts draws n numbers and returns them as texts such as INV-2026-00042. A value of the
// application that such a text cannot show is an error before a number is drawn.
func (dr Drawing) texts(ctx context.Context, texts *table.Texts, n int) ([]driver.Value, error) {
	shown := dr.Key.Shape
	if !texts.IsConstant() {
		facts, err := dr.Tables.Facts(ctx, dr.On, dr.Table)
		if err != nil {
			return nil, err
		}
		parts, err := texts.Parts(ctx, dr.Table, dr.Index, facts)
		if err != nil {
			return nil, err
		}
		if shown, err = texts.Of(parts); err != nil {
			return nil, err
		}
	}
	c, first, err := dr.Reserve(ctx, int64(n))
	if err != nil {
		return nil, err
	}
	keys, err := mapping.Keys(shown, first, n, dr.Key.Layout)
	if err == nil {
		dr.warn(ctx, c, first+int64(n)-1)
	}
	return keys, err
}

// warnOfEnd logs once that most numbers of a counter are used, if the numbers are the keys.
func (dr Drawing) warnOfEnd(ctx context.Context, c *counter.Counter) {
	if c.Warned.CompareAndSwap(false, true) {
		dr.LogNearEnd(ctx, dr.Key.Limit(), c.Remedy)
	}
}

// warn logs once that most keys of a counter are used, for keys that are made from
// numbers. last is the number of the key that was just made.
func (dr Drawing) warn(ctx context.Context, c *counter.Counter, last int64) {
	if mapping.Share(c.Mapping, last+1) < mapping.WarnShare || !c.Warned.CompareAndSwap(false, true) {
		return
	}
	dr.LogNearEnd(ctx, c.Mapping.Last(), table.EndRemedy(c.Mapping))
}
