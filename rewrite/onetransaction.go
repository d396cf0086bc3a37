package rewrite

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// A text of several statements whose rows come from a query is numbered where the
// engine undoes all of the text when one statement fails. Other statements of the
// text may change the number of rows after the count. A row too many is then an error
// that undoes the whole text; with fewer rows some keys are a gap. Where drivers execute
// the statements one by one, keyfill does so in their place: see Plan.Parts.

// CountsBeside reports whether the rows of a query are to be counted before an
// execution, and other statements of the text may change them behind the count.
func (pl *Plan) CountsBeside() bool { return pl.Statements > 1 && pl.Counts() && pl.Parts == nil }

// NeedsParts reports whether the text is executed in parts or not at all.
func (pl *Plan) NeedsParts() bool { return pl.Parts != nil && pl.Counts() }

// fillsBehindOwn reports whether an INSERT of the text brings a key that is followed, or
// leaves it to the engine, and one after it draws keys for the same column: they are to be
// drawn behind the first.
func (pl *Plan) fillsBehindOwn() bool {
	brings := map[*Target]bool{}
	next := 0 // the first draw that was not looked at
	for i := range pl.Inserts {
		for ; next < len(pl.Draws) && pl.Draws[next].Insert <= i; next++ {
			if brings[pl.Inserts[i].Target] {
				return true
			}
		}
		for key := range pl.Inserts[i].explicit {
			if pl.Inserts[i].Target.Keys[key].Follow && pl.Inserts[i].explicit[key].Any() {
				brings[pl.Inserts[i].Target] = true
			}
		}
	}
	return false
}

// countsBeside reports whether the text is filled although the rows of a query
// are counted while other statements of the text may change them.
func (p *parser) countsBeside() bool {
	return p.params.count == 0 && (p.d.Transactions.OneByOne || oneTransaction(p.d, p.q)) && !slices.ContainsFunc(p.inserts, func(in Insert) bool {
		return in.Query != nil && in.Query.counted && (in.Nested || in.Explained || in.Query.implied)
	})
}

// oneTransaction reports whether an engine executes a text as one transaction, or
// within the one that is open: no statement of the text ends a transaction, or must
// not stand in one.
func oneTransaction(d *dialect.Dialect, query string) bool {
	return d.Transactions.Texts && Leaves(d, query)&oneLeft != 0 && TransactionOf(d, query) == TxUnchanged
}
