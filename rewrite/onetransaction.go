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
	if !d.Transactions.Texts || TransactionOf(d, query) != TxUnchanged {
		return false
	}
	p := &parser{scanner: scanner{d: d, q: query}}
	for p.read(); p.tok.kind != tokEnd; {
		if p.acceptPunct(';') {
			continue
		}
		if !p.staysInside() {
			return false
		}
		for ; !p.atEnd(); p.advance() {
			if p.tok.kind == tokError || p.tok.kind == tokExec || p.isWord("concurrently") {
				return false
			}
		}
	}
	return true
}

// staysInside reads the first words of a statement, and reports whether it is one of
// those that are known to run inside of a transaction and to end none.
func (p *parser) staysInside() bool {
	if p.isAny("insert", "update", "delete", "select", "truncate", "comment", "lock", "analyze") {
		return true
	}
	if !p.accept("create") && !p.accept("alter") && !p.accept("drop") {
		return false
	}
	_ = p.accept("unlogged") || p.accept("unique")
	return p.isAny("table", "index", "sequence", "view")
}
