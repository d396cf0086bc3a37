package plans

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// perStatement reports whether drivers disagree about the argument of a placeholder: SQLite
// numbers the placeholders of each statement from the first
// (https://www.sqlite.org/lang_expr.html#varparam), modernc.org/sqlite gives each statement
// the same arguments, and other drivers continue with the next argument. Only the SQLite
// dialect has a ? with a number.
func (p *Draft) perStatement() bool {
	return p.Split.Statements > 1 && p.Dialect.Params.QuestionNumber
}

// Unbound returns why the text cannot be prepared with its keys as arguments; empty if it
// can. If it cannot, it is filled with literals, and only if it is executed directly.
func (pl *Plan) Unbound() rewrite.Reason {
	switch {
	case pl.LiteralReason != "":
		return pl.LiteralReason
	case pl.Placeholders()+pl.Changes.Added > pl.Dialect.Params.Max:
		return rewrite.ErrTooMany
	}
	return ""
}

// Alone reports whether the text is one INSERT, and has nothing else that returns a result,
// so that the engine's result is about that INSERT.
func (pl *Plan) Alone() bool {
	return pl.Statements == 1 && len(pl.Inserts) == 1 && !pl.Inserts[0].Nested && !pl.Inserts[0].Explained
}

// Undoes reports whether another statement of the text may undo or change what its INSERTs
// have stored, judged by the words outside of strings and comments.
func (pl *Plan) Undoes() bool {
	return pl.Lazy.undoes.is(func() bool {
		for p := reader.New(pl.Dialect, pl.Changes.Query); p.Token.Kind != scan.End; p.Advance() {
			if p.Token.Kind == scan.Executable || p.IsAny("rollback", "abort", "delete", "truncate", "drop",
				"alter", "replace", "update", "merge", "call", "do", "exec", "execute") {
				return true
			}
		}
		return false
	})
}

// A text of several statements may have an INSERT … SELECT. Its rows are numbered if the
// engine undoes the whole text when one statement fails. Other statements of the text may
// change the number of rows after the count. An extra row is then an error that undoes the
// whole text; with fewer rows some keys are a gap. If drivers execute the statements one by
// one, keyfill instead executes the text in parts: see Plan.Parts.

// CountsBeside reports whether the rows of a query must be counted before an execution, and
// other statements of the text may change the number of rows after the count.
func (pl *Plan) CountsBeside() bool { return pl.Statements > 1 && pl.Counts() && pl.Parts == nil }

// NeedsParts reports whether the text can only be executed in parts: see Plan.Parts.
func (pl *Plan) NeedsParts() bool { return pl.Parts != nil && pl.Counts() }

// fillsBehindOwn reports whether an INSERT of the text brings a key above which keyfill's
// numbering continues (Follow), or leaves such a key to the engine, and a later INSERT
// draws keys for the same table. The later keys must be drawn after the first INSERT ran.
func (pl *Plan) fillsBehindOwn() bool {
	brings := map[*Target]bool{}
	next := 0 // the first draw (call to a key source) that is not checked yet
	for i := range pl.Inserts {
		for ; next < len(pl.Draws) && pl.Draws[next].Insert <= i; next++ {
			if brings[pl.Inserts[i].Target] {
				return true
			}
		}
		for key := range pl.Inserts[i].Explicit {
			if pl.Inserts[i].Target.Keys[key].Follow && pl.Inserts[i].Explicit[key].Any() {
				brings[pl.Inserts[i].Target] = true
			}
		}
	}
	return false
}

// countsBeside reports whether the text is filled although other statements of the text
// may change the counted rows of a query.
func (p *Draft) countsBeside() bool {
	return p.Params.Count == 0 && (p.Dialect.Transactions.OneByOne || effects.OneTransaction(p.Dialect, p.Text)) && !slices.ContainsFunc(p.Inserts, func(in Insert) bool {
		return in.Query != nil && in.Query.Counted && (in.Nested || in.Explained || in.Query.Implied)
	})
}
