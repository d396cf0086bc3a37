package fill

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// suspect looks whether a statement has failed because a key that we have made
// was in the table already. Then what is reserved is given up, since more of it
// may be in use: somebody else fills the column, or the store went back.
func (x *execution) suspect(ctx context.Context, err error) {
	code, ok := sqlcode.Of(err)
	if !ok || code.Class(x.plan.Dialect()) != dialect.ErrorDuplicate {
		return
	}
	for i, d := range x.plan.Draws {
		t := keys.TableOf(&x.plan.Inserts[d.Insert])
		f := t.Facts()
		if f == nil || t.KeyColumns[d.Key].Source != nil || x.holes.Counts[i] == 0 {
			continue
		}
		if t.KeyColumns[d.Key].Rule.Scope != nil {
			x.suspectParents(ctx, t, d)
			continue
		}
		for _, name := range f.Columns[d.Key].Unique {
			if namesIndex(code, err, name) {
				x.conn.DB.DrawingFor(&x.conn.Conn, t, d.Key).DropBlock(ctx)
				break
			}
		}
	}
}

// suspectParents is suspect for a column that is numbered within others. The index that
// the error names is not looked at: the next draw finds out whether the numbers of a
// parent are in use, which costs one query.
func (x *execution) suspectParents(ctx context.Context, t *keys.Table, d rewrite.Draw) {
	rows, err := x.plan.Scopes(x.args, x.holes, d.Insert, d.Key)
	if err != nil {
		return
	}
	if c, err := x.conn.DB.DrawingFor(&x.conn.Conn, t, d.Key).Counter(ctx); err == nil {
		c.SuspectWithin(rows)
	}
}

// numbers reports whether the execution has keys that suspect looks for.
func (x *execution) numbers() bool {
	for i, d := range x.plan.Draws {
		if x.holes.Counts[i] > 0 && keys.TableOf(&x.plan.Inserts[d.Insert]).KeyColumns[d.Key].Source == nil {
			return true
		}
	}
	return false
}

// namesIndex reports whether the error of a duplicate key is about the unique index
// of the name. Where the driver does not tell it apart, the name has to stand in the
// text as a word of its own: each engine writes it there, in every language, and
// quotes it as the language does. A value of that text costs a gap.
func namesIndex(code sqlcode.Code, err error, name string) bool {
	if code.Index != "" {
		return code.Index == name
	}
	text := err.Error()
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
