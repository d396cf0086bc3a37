package plans

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/rewrite"
)

// divides reports whether the text is executed in parts: see [Plan.Parts].
func (p *Draft) divides(pl *Plan) bool {
	t := &p.Dialect.Transactions
	switch {
	case pl.Statements == 1:
		return false
	case t.OneByOne && pl.Counts():
		return true
	case p.Params.Count > 0 || !pl.fillsBehindOwn():
		return false
	}
	// Between two parts keyfill asks for the greatest key, and what follows a routine may
	// belong to its body.
	return t.OneByOne || t.Divisible && !pl.Counts() && p.Flow == (Flow{SeveralReason: rewrite.ErrSeveral}) && pl.Reads()&effects.ReadsCount == 0
}

// parts returns the statements of the text, if they may be executed one by one; otherwise
// nil. A comment between two statements belongs to the statement before it.
func (p *Draft) parts() []string {
	if len(p.Split.Starts) == 0 {
		return nil
	}
	parts := make([]string, 0, len(p.Split.Starts)+1)
	from := 0
	for _, next := range p.Split.Starts {
		parts = append(parts, p.Text[from:next])
		from = next
	}
	return append(parts, p.Text[from:])
}

// endOnce removes the semicolons after the last statement if a comment follows them and
// drivers execute the statements one by one: for a comment after a semicolon
// mattn/go-sqlite3 executes an empty statement, and its result, of no rows, replaces the
// INSERT's.
func (p *Draft) endOnce() {
	if len(p.Split.Semicolons) == 0 || strings.TrimSpace(p.Text[p.Split.Semicolons[0]+1:]) == "" {
		return
	}
	for _, at := range p.Split.Semicolons {
		p.Edits = append(p.Edits, Edit{Start: at, End: at + 1, Slot: -1})
	}
}
