package rewrite

// ReturnsKey reports whether the rows that the plan's first INSERT gives back
// show the stored value of a column under its name, and nothing else under that
// name: RETURNING id, t.id or *, but not parent AS id, and not lower(id). The
// column comes folded.
func (pl *Plan) ReturnsKey(column string) bool {
	in := &pl.Inserts[0]
	g := &pl.Dialect.Grammar
	p := readerAt(pl.Dialect, pl.query, in.Offset)
	for depth := 0; p.tok.kind != tokEnd; p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth > 0:
		case g.Returning && p.isWord("returning"):
			p.advance()
			s, _ := p.shows(column)
			return s
		case g.Output && p.isWord("output"):
			p.advance()
			if s, into := p.shows(column); !into {
				return s
			}
		}
	}
	return false
}

// shows reads the list behind RETURNING or OUTPUT, and whether its rows go INTO
// a table instead of back.
func (p *reader) shows(column string) (shows, into bool) {
	hides := false
	for {
		i := p.item(column)
		switch {
		case i.plain && (i.star || i.last == column):
			shows = true
			hides = hides || i.old
		case i.mentions:
			hides = true
		}
		if !p.acceptPunct(',') {
			return shows && !hides, p.isWord("into")
		}
	}
}

// item is one item of a list behind RETURNING or OUTPUT.
type item struct {
	plain    bool   // a name, with others in front of it, or a star
	star     bool   // it ends with a star
	old      bool   // it is of the row before: old.id, deleted.id
	mentions bool   // it has the column's name somewhere
	last     string // the last name, folded
}

func (p *reader) item(column string) item {
	i := item{plain: true}
	name := true // a name is due
	for first, depth := true, 0; !p.atEnd(); first = false {
		switch {
		case depth == 0 && (p.isPunct(',') || !first && p.endsItem()):
			return i
		case p.tok.kind == tokWord, p.tok.kind == tokQuoted:
			i.last = p.folded(p.tok)
			i.mentions = i.mentions || i.last == column
			i.old = i.old || first && (i.last == "old" || i.last == "deleted")
			i.plain = i.plain && name && !(first && p.isWord("with"))
			name = false
		case p.isPunct('.'):
			i.plain = i.plain && !name
			name = true
		case p.isPunct('*') && name:
			i.star, name = true, false
		case p.isPunct('('):
			i.plain = false
			depth++
		case p.isPunct(')'):
			depth--
		default:
			i.plain = false
		}
		p.advance()
	}
	return i
}

// endsItem reports whether the word here ends a list of SQL Server's OUTPUT.
func (p *reader) endsItem() bool {
	return p.d.Grammar.Output && p.isAny("into", "values", "default", "select", "exec", "execute", "with", "output")
}
