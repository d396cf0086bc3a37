package fill

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// duplicate is the error of a statement that has failed because a key, or another value
// of a unique index, was in the table already.
type duplicate struct {
	x    *execution
	err  error
	code sqlcode.Code
}

// duplicateOf returns the duplicate that the error of an execution means; ok is false
// for any other error.
func duplicateOf(x *execution, err error) (d duplicate, ok bool) {
	code, ok := sqlcode.Of(err)
	return duplicate{x, err, code}, ok && code.Class(x.plan.Dialect()) == dialect.ErrorDuplicate
}

// giveUpBlocks gives up what is reserved for a column if the duplicate is a key that we
// have made, since more of it may be in use: somebody else fills the column, or the
// store went back.
func (d duplicate) giveUpBlocks(ctx context.Context) {
	c := d.x.conn
	for i, draw := range d.x.plan.Draws {
		t := keys.TableOf(&d.x.plan.Inserts[draw.Insert])
		f := factsOf(d.x.conn, t)
		if f == nil || t.KeyColumns[draw.Key].Source != nil || d.x.holes.Counts[i] == 0 {
			continue
		}
		if t.KeyColumns[draw.Key].Rule.Scope != nil {
			d.suspectParents(ctx, t, draw)
			continue
		}
		if slices.ContainsFunc(f.Columns[draw.Key].Unique, d.isAbout) {
			c.DB.DrawingFor(&c.Conn, t, draw.Key).DropBlock(ctx)
		}
	}
}

// suspectParents is giveUpBlocks for a column that is numbered within others. The index
// that the error names is not looked at: the next draw finds out whether the numbers of
// a parent are in use, which costs one query.
func (d duplicate) suspectParents(ctx context.Context, t *keys.Table, draw rewrite.Draw) {
	x := d.x
	rows, err := x.plan.Scopes(x.args, x.holes, draw.Insert, draw.Key)
	if err != nil {
		return
	}
	if counter, err := x.conn.DB.DrawingFor(&x.conn.Conn, t, draw.Key).Counter(ctx); err == nil {
		counter.SuspectWithin(rows)
	}
}

// hasNumbers reports whether the execution has keys that a duplicate may be about.
func (x *execution) hasNumbers() bool {
	for i, d := range x.plan.Draws {
		if x.holes.Counts[i] > 0 && keys.TableOf(&x.plan.Inserts[d.Insert]).KeyColumns[d.Key].Source == nil {
			return true
		}
	}
	return false
}

// isAbout reports whether the duplicate is in the unique index of the name. Where the
// driver does not tell the index apart, the name has to stand in the text as a word of
// its own: each engine writes it there, in every language, and quotes it as the language
// does. A value of that text costs a gap.
func (d duplicate) isAbout(name string) bool {
	if d.code.Index != "" {
		return d.code.Index == name
	}
	text := d.err.Error()
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 || name == "" {
			return false
		}
		at += from
		from = at + len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[from:])
		// SQLite names the columns of an index, the one that leads it first.
		if !isNamePart(before) && !isNamePart(after) && !strings.HasSuffix(text[:at], ", ") {
			return true
		}
	}
}

// isNamePart reports whether a name may go on with the character.
func isNamePart(c rune) bool {
	return c == '_' || c == '$' || c == '#' || unicode.IsDigit(c) || unicode.IsLetter(c)
}

// suspect gives up what is reserved where the error of a statement says that a key is in
// use.
func suspect(ctx context.Context, x *execution, err error) {
	if d, ok := duplicateOf(x, err); ok {
		d.giveUpBlocks(ctx)
	}
}
