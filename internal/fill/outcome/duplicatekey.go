package outcome

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Duplicate is the error of a statement that has failed because a key, or another value
// in a unique index, existed already.
type Duplicate struct {
	X    *execution.Execution
	Err  error
	code sqlcode.Code
}

// DuplicateOf returns the Duplicate for the error of an execution; ok is false for any
// other error.
func DuplicateOf(x *execution.Execution, err error) (d Duplicate, ok bool) {
	code, ok := sqlcode.Of(err)
	return Duplicate{x, err, code}, ok && code.Class(x.Plan.Dialect) == dialect.ErrorDuplicate
}

// GiveUpBlocks gives up the reserved keys of a column if the duplicate is a key that
// keyfill has made, since more of them may be in use: another program fills the column, or
// the store has gone back (its counter is lower than before).
func (d Duplicate) GiveUpBlocks(ctx context.Context) {
	c := d.X.Conn
	for i, draw := range d.X.Plan.Draws {
		t := table.Of(&d.X.Plan.Inserts[draw.Insert])
		f := execution.FactsOf(d.X.Conn, t)
		if f == nil || t.KeyColumns[draw.Key].Source != nil || d.X.Holes.Counts[i] == 0 {
			continue
		}
		if t.KeyColumns[draw.Key].IsWithin() {
			d.suspectParents(ctx, t, draw)
			continue
		}
		if slices.ContainsFunc(f.Columns[draw.Key].Unique, d.IsAbout) {
			c.DrawingFor(t, draw.Key).DropBlock(ctx)
		}
	}
}

// suspectParents does what GiveUpBlocks does, for a column that is numbered within other
// columns. It does not check which index the error names: the next draw finds out, by one
// query, whether the numbers of a parent (such as an order) are in use.
func (d Duplicate) suspectParents(ctx context.Context, t *table.Table, draw plans.Draw) {
	x := d.X
	rows, err := bind.Scopes(x.Plan, x.Args, x.Holes, draw.Insert, draw.Key)
	if err != nil {
		return
	}
	if counter, err := x.Conn.DrawingFor(t, draw.Key).Counter(ctx); err == nil {
		counter.SuspectWithin(ctx, rows)
	}
}

// IsAbout reports whether the duplicate is in the unique index called name. If the
// driver does not return the index's name, the error's text must contain the name as a
// separate word: each engine writes it there, in every language, in the quotes of that
// language. If the text contains the name by chance, the cost is a gap.
func (d Duplicate) IsAbout(name string) bool {
	if d.code.Index != "" {
		return d.code.Index == name
	}
	text := d.Err.Error()
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 || name == "" {
			return false
		}
		at += from
		from = at + len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[from:])
		// SQLite lists the columns of an index instead of its name, and only the first of
		// them counts.
		if !isNamePart(before) && !isNamePart(after) && !strings.HasSuffix(text[:at], ", ") {
			return true
		}
	}
}

// isNamePart reports whether the character may be part of a name.
func isNamePart(c rune) bool {
	return c == '_' || c == '$' || c == '#' || unicode.IsDigit(c) || unicode.IsLetter(c)
}

// Suspect gives up the reserved keys if err means that a key is in use.
func Suspect(ctx context.Context, x *execution.Execution, err error) {
	if d, ok := DuplicateOf(x, err); ok {
		d.GiveUpBlocks(ctx)
	}
}
