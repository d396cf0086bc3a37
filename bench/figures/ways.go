package figures

import (
	"database/sql"
	"errors"

	"github.com/keyfill/keyfill/bench/nulldriver"
)

// ProfileStatements profiles statements on a driver that does nothing.
func ProfileStatements(r Run, folder string) (all []Profile, err error) {
	err = singly(func() error {
		for _, of := range []struct {
			driver nulldriver.Driver
			ways   func(layers) ([]way, error)
		}{{nulldriver.Driver{}, waysOfStatements}, {nulldriver.Driver{Skips: true}, waysOfSkips}} {
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

// waysOfStatements returns the ways through a driver that executes every text directly.
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
		{what: "passed SELECT, seen before", ours: Variant{Name: ours, Run: execute(l[ours], selectText)}, rival: Variant{Name: raw, Run: execute(l[raw], selectText)}},
		{what: "passed UPDATE, unseen", ours: fresh(ours), rival: fresh(raw)},
		{what: "filled, block", ours: Variant{Name: ours, Run: execute(l[ours], invoicesText, insertArgs...)}, rival: nulls},
		{what: "filled, v7 as text", ours: Variant{Name: ours, Run: execute(l[ours], ordersText, insertArgs...)}, rival: Variant{Name: hand, Run: byHand(l[raw])}},
		{what: "prepared, block", ours: Variant{Name: ours, Run: prepared(statements["block"], insertArgs...)}, rival: onNull},
		{what: "prepared, v7 as text", ours: Variant{Name: ours, Run: prepared(statements["v7"], insertArgs...)}, rival: onNull},
	}, nil
}

// waysOfSkips returns the ways through a driver that makes database/sql prepare every text.
func waysOfSkips(l layers) ([]way, error) {
	nulls := Variant{Name: null, Run: execute(l[null], ordersText, insertArgs...)}
	return []way{
		{what: "driver that answers ErrSkip, v7 as text", ours: Variant{Name: ours, Run: execute(l[ours], ordersText, insertArgs...)}, rival: nulls},
		{what: "driver that answers ErrSkip, block with LAST_INSERT_ID", ours: Variant{Name: ours, Run: execute(l[ours], invoicesText, insertArgs...)}, rival: nulls},
	}, nil
}

// profiledTexts is how many of the texts in compiled are profiled: the first ones, which
// are short and take the longest time for each byte.
const profiledTexts = 2

// ProfileParts profiles the sources of keys and the compiling of a text.
func ProfileParts(r Run, folder string) (all []Profile, err error) {
	counted, err := newCounted()
	if err != nil {
		return nil, err
	}
	var ways []way
	for _, c := range compiled[:profiledTexts] {
		compiled, parse := compiling(c.text)
		ways = append(ways, way{what: "compiled, one row of " + c.name, ours: Variant{Run: compiled}, rival: Variant{Name: tidb, Run: parse}})
	}
	for _, v := range slicesOf(uuids(), counted.variants()[:1]) {
		ways = append(ways, way{what: v.Name + ", a key", ours: v})
	}
	err = singly(func() (err error) {
		all, err = profiler{r, folder}.all(ways)
		return err
	})
	return all, errors.Join(err, counted.close())
}
