package bind

import (
	"database/sql/driver"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Brought is a key that the application brings for a row.
type Brought struct {
	Row     int   // the index of the row, from 0
	Integer int64 // 0 unless every engine reads the key as the same integer
}

// BroughtKeys returns, in order, the keys that the application brings for some rows of an
// INSERT while other rows get a key from keyfill. It is nil if it cannot read them.
func BroughtKeys(pl *plans.Plan, args []driver.NamedValue, h Holes, insert, key int) []Brought {
	in := &pl.Inserts[insert]
	if in.Listing == nil {
		return nil
	}
	f := &broughtKeys{plan: pl, holes: h, args: Given{List: args}}
	for _, i := range pl.SlotsOf(insert) {
		if int(pl.Changes.Slots[i].Key) == key {
			f.slots = append(f.slots, i)
		}
	}
	f.KeyReader = plans.NewKeyReader(pl.Dialect, pl.Changes.Query, in, key)
	f.Found = f
	if !f.Insertion() {
		return nil
	}
	return f.brought
}

// broughtKeys notes the keys that the application brings, row by row.
type broughtKeys struct {
	*plans.KeyReader
	plan    *plans.Plan
	args    Given
	holes   Holes
	slots   []int32 // the slots (places for keys) of the rows that are not read yet
	brought []Brought
}

// Listed does nothing: the key's place in the column list does not matter.
func (f *broughtKeys) Listed(plans.Element) bool { return true }

// Implied does nothing: a missing column list does not matter.
func (f *broughtKeys) Implied() bool { return true }

// Row notes the key of a row, if the application brings it.
func (f *broughtKeys) Row(row int, i plans.Element, v reader.Value, _ string) bool {
	one := Brought{Row: row}
	if len(f.slots) > 0 && int(f.plan.Changes.Slots[f.slots[0]].Row) == row {
		at := f.slots[0]
		f.slots = f.slots[1:]
		if f.holes.isHole(int(at)) {
			return true
		}
		one.Integer = f.integerOf(&f.plan.Changes.Slots[at])
	} else if t, ok := f.Core(v); ok && (t.Kind == scan.Number || t.Kind == scan.String) {
		if n, sure := plans.IntegerIn(strings.Trim(f.TextOf(t), `'"`)); sure {
			one.Integer = n
		}
	} else if ok && t.Kind == scan.Placeholder {
		one.Integer = f.integerOf(&plans.Slot{Before: int32(i.Before), Text: f.TextOf(t)})
	}
	f.brought = append(f.brought, one)
	return true
}

// integerOf returns the integer that is bound for a slot (a place for a key); 0 if the
// argument is no integer.
func (f *broughtKeys) integerOf(s *plans.Slot) int64 {
	at, err := IndexOf(f.plan, s, &f.args)
	if err != nil {
		return 0
	}
	if n, sure := plans.IntegerOf(f.args.List[at].Value); sure {
		return n
	}
	return 0
}
