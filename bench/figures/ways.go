package figures

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// ProfileStatements profiles statements on a driver that does nothing.
func ProfileStatements(r Run, folder string) (all []Profile, err error) {
	err = singly(func() error {
		for _, of := range []struct {
			driver nullDriver
			ways   func(layers) ([]way, error)
		}{{nullDriver{}, waysOfStatements}, {nullDriver{skips: true}, waysOfSkips}} {
			l, err := openLayers(&of.driver, "mysql", 1)
			if err != nil {
				return err
			}
			ways, err := of.ways(l)
			if err == nil {
				var some []Profile
				some, err = profiler{r, folder}.all(ways)
				all = append(all, some...)
			}
			if err := errors.Join(err, l.close()); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// waysOfStatements are the ways through a driver that takes every text.
func waysOfStatements(l layers) ([]way, error) {
	texts := &freshTexts{head: "UPDATE orders SET customer = ?, city = ?, sum = ? WHERE (id = "}
	fresh := func(name string) Variant {
		return Variant{Name: name, Setup: texts.make, Run: func(int) error { return texts.execute(l[name], updateArgs) }}
	}
	statements := map[string]*sql.Stmt{}
	for name, s := range map[string]struct{ layer, text string }{
		null: {null, ordersText}, "block": {ours, invoicesText}, "v7": {ours, ordersText},
	} {
		stmt, err := l[s.layer].Prepare(s.text) //nolint:sqlclosecheck // closed with the layers
		if err != nil {
			return nil, err
		}
		statements[name] = stmt
	}
	nulls := Variant{Name: null, Run: execute(l[null], ordersText, insertArgs...)}
	onNull := Variant{Name: null, Run: prepared(statements[null], insertArgs...)}
	return []way{
		{"passed SELECT, seen before", Variant{Name: ours, Run: execute(l[ours], selectText)}, Variant{Name: raw, Run: execute(l[raw], selectText)}},
		{"passed UPDATE, unseen", fresh(ours), fresh(raw)},
		{"filled, block", Variant{Name: ours, Run: execute(l[ours], invoicesText, insertArgs...)}, nulls},
		{"filled, v7 as text", Variant{Name: ours, Run: execute(l[ours], ordersText, insertArgs...)}, Variant{Name: hand, Run: byHand(l[raw])}},
		{"prepared, block", Variant{Name: ours, Run: prepared(statements["block"], insertArgs...)}, onNull},
		{"prepared, v7 as text", Variant{Name: ours, Run: prepared(statements["v7"], insertArgs...)}, onNull},
	}, nil
}

// waysOfSkips are the ways through a driver that has every text prepared.
func waysOfSkips(l layers) ([]way, error) {
	nulls := Variant{Name: null, Run: execute(l[null], ordersText, insertArgs...)}
	return []way{
		{"driver that answers ErrSkip, v7 as text", Variant{Name: ours, Run: execute(l[ours], ordersText, insertArgs...)}, nulls},
		{"driver that answers ErrSkip, block with LAST_INSERT_ID", Variant{Name: ours, Run: execute(l[ours], invoicesText, insertArgs...)}, nulls},
	}, nil
}

// ProfileParts profiles the sources of keys and the compiling of a text.
func ProfileParts(r Run, folder string) (all []Profile, err error) {
	counted, err := newCounted()
	if err != nil {
		return nil, err
	}
	d := dialect.MySQL()
	lookup := ordersLookup(d)
	ways := []way{{what: "compiled, one row of 4 placeholders", ours: Variant{Run: func(n int) error {
		for range n {
			rewrite.Compile(d, lookup, ordersText)
		}
		return nil
	}}}}
	for _, v := range slicesOf(uuids(), counted.variants()[:1]) {
		ways = append(ways, way{what: v.Name + ", a key", ours: v})
	}
	err = singly(func() (err error) {
		all, err = profiler{r, folder}.all(ways)
		return err
	})
	return all, errors.Join(err, counted.close())
}

// ProfileRows profiles rows on a real engine, with one connection.
func ProfileRows(ctx context.Context, r Run, folder string, e engines.Engine, connector driver.Connector) (all []Profile, err error) {
	dbs, err := openRows(e, connector)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dbs.close()) }()
	dbs.limit(1)
	var ways []way
	for _, c := range comparisons(e) {
		if err := c.create(ctx, dbs.plain); err != nil {
			return nil, err
		}
		variants := c.variants(ctx, e, 1, dbs)
		at := slices.IndexFunc(variants, func(v Variant) bool { return v.Name == integerByHand })
		ways = append(ways, way{e.Name + ", " + c.what, variants[0], variants[max(at, 1)]})
	}
	err = singly(func() error {
		all, err = profiler{r, folder}.all(ways)
		return err
	})
	return all, err
}
