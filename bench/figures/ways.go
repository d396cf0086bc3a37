package figures

// The bars of make bench that are hard to meet, and why: rows of docs/performance.md.
//
//row:hardbars | passed SELECT, seen before | ≤ 1.15x of the raw driver | Half in `database/sql`, which validates and resets keyfill's connection before each statement, by methods that the driver of these figures lacks.
//row:hardbars | passed UPDATE, unseen | ≤ 1.40x of the raw driver | Hash and search for verbs take a fifth.
//row:hardbars | filled, block | ≤ 1.50x of sqlmw's null | `Bind` 10 %, the result 4 %, the collector 1.7 times the rival's.
//row:hardbars | filled, v7 as text | ≤ 1.40x of the key by hand | `Bind` 10 %, sqlmw's call 6 %, the key with its text and interface 11 %.
//row:hardbars | prepared, block | ≤ 1.20x of sqlmw's null | `Bind` 14 %, the result 5 %, the collector 8 %.
//row:hardbars | prepared, v7 as text | ≤ 1.50x of sqlmw's null | `Bind` 8 %, conversion of arguments 8 %, the key with its text 13 %.
//row:hardbars | driver that answers ErrSkip, v7 as text, block with LAST_INSERT_ID | ≤ 1.50x of sqlmw's null | `Bind` 11 to 13 %, the prepared statement (`preparePlain`) 5 to 7 %.
//row:hardbars | block on PostgreSQL, MariaDB and SQLite: client CPU a row, rows a second | ≤ 1.10x and 1.15x of the engine's own; the interval reaches 0.97x | The engine's own key is no argument, and keyfill's is one.
//row:hardbars | v7 in 16 bytes with 8 connections on MariaDB and SQLite: rows a second | the interval reaches 0.97x of the key by hand and stays above 0.90x | The rival beside itself spreads as far. On SQLite eight connections wait for one writer.
//row:hardbars | 2,000,000 rows, v7 in 16 bytes | ≤ 1.2x of the engine's own | The key is an argument of 16 bytes, and its index is longer, as with keys that a program makes.
//row:hardbars | block as a fill calls it | ≤ 15 ns | 67 % make the interface that a driver takes, 22 % take the integer.
//row:hardbars | v7 as boxed text | ≤ 140 ns | 24 % make the interface, 32 % the 36 characters; the rest is the key.
//row:hardbars | v7, batch of 100 binary | ≤ 30 ns a key | 58 % make interfaces of 16 bytes, 39 % the keys, mostly random numbers.
//row:hardbars | comb, batch of 100 binary | ≤ 30 ns a key | 47 % make interfaces, 49 % the keys.
//row:hardbars | compiled, one row of 4 placeholders or literals, against TiDB's parser | ≥ 8 times as fast | A fifth allocates the plan, which is kept. Longer texts meet the bar.
//row:hardbars | a program with auto/mysql | ≤ 6.5 MB more | More than half is line tables, symbols and debug information, which `-ldflags=-w` leaves out.

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
