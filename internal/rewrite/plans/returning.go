package plans

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// ReturnsKey reports whether the rows that the plan's first INSERT returns have the stored
// value of a column, given by its folded name, under that name, and nothing else under it:
// RETURNING id, t.id or *, but not parent AS id, and not lower(id).
func (pl *Plan) ReturnsKey(column string) bool {
	in := &pl.Inserts[0]
	g := &pl.Dialect.Grammar
	p := reader.At(pl.Dialect, pl.Changes.Query, in.Offset)
	for depth := 0; p.Token.Kind != scan.End; p.Advance() {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case depth > 0:
		case g.Returning && p.IsWord("returning"):
			p.Advance()
			s, _ := shows(&p, column)
			return s
		case g.Output && p.IsWord("output"):
			p.Advance()
			if s, into := shows(&p, column); !into {
				return s
			}
		}
	}
	return false
}

// shows reads the list after RETURNING or OUTPUT. It reports whether the list returns the
// stored value of the column, and whether the rows go INTO a table instead of to the
// caller.
func shows(p *reader.Reader, column string) (shows, into bool) {
	hides := false
	for {
		i := returned(p, column)
		switch {
		case i.plain && (i.star || i.last == column):
			shows = true
			hides = hides || i.old
		case i.mentions:
			hides = true
		}
		if !p.AcceptPunct(',') {
			return shows && !hides, p.IsWord("into")
		}
	}
}

// item is one item of a list after RETURNING or OUTPUT.
type item struct {
	plain    bool   // the item is a name, perhaps with a qualifier, or a star
	star     bool   // the item ends with a star
	old      bool   // the item is a value of the old row: old.id, deleted.id
	mentions bool   // the item has the column's name somewhere
	last     string // the last name, folded
}

// returned reads one item of a list after RETURNING or OUTPUT.
func returned(p *reader.Reader, column string) item {
	i := item{plain: true}
	name := true // whether a name must come next
	for first, depth := true, 0; !p.AtEnd(); first = false {
		switch {
		case depth == 0 && (p.IsPunct(',') || !first && endsItem(p)):
			return i
		case p.Token.Kind == scan.Word, p.Token.Kind == scan.Quoted:
			i.last = p.Folded(p.Token)
			i.mentions = i.mentions || i.last == column
			i.old = i.old || first && (i.last == "old" || i.last == "deleted")
			i.plain = i.plain && name && !(first && p.IsWord("with"))
			name = false
		case p.IsPunct('.'):
			i.plain = i.plain && !name
			name = true
		case p.IsPunct('*') && name:
			i.star, name = true, false
		case p.IsPunct('('):
			i.plain = false
			depth++
		case p.IsPunct(')'):
			depth--
		default:
			i.plain = false
		}
		p.Advance()
	}
	return i
}

// endsItem reports whether the current word ends a list of SQL Server's OUTPUT.
func endsItem(p *reader.Reader) bool {
	return p.Dialect.Grammar.Output && p.IsAny("into", "values", "default", "select", "exec", "execute", "with", "output")
}
