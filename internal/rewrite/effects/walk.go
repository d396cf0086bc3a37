package effects

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// walk reads a text once, from its first token to its last, and answers all questions about
// what the text leaves unchanged.
type walk struct {
	scan.Scanner
	words *words.Vocabulary

	tok          scan.Token // the current token; white space and comments are left out
	before, last scan.Token // the two tokens before tok
	name         nameState

	// touchy means that the text may have other tokens under other settings.
	touchy bool
	// broken means that a string or comment is not closed, so that the engine refuses the
	// statement.
	broken bool
}

// nameState says how far the name of a table, a type or an alias is read. A bracket after
// such a name calls nothing.
type nameState uint8

const (
	noName   nameState = iota
	nameNext           // the next word is a part of the name
	nameRead           // the name may end here
)

// read moves to the next token.
func (w *walk) read() {
	w.before, w.last = w.last, w.tok
	w.tok = w.Following()
}

// text returns the text of a token.
func (w *walk) text(t scan.Token) string { return w.Text[t.Start:t.End] }

// isPunct reports whether the current token is the sign.
func (w *walk) isPunct(c byte) bool { return w.tok.Kind == scan.Punct && w.Text[w.tok.Start] == c }

// atEnd reports whether the statement ends here.
func (w *walk) atEnd() bool { return w.tok.Kind == scan.End || w.isPunct(';') }

// isAny reports whether the current token is one of the words.
func (w *walk) isAny(words ...string) bool {
	return w.tok.Kind == scan.Word && scan.EqualAny(w.text(w.tok), words...)
}

// accept moves past the current token if it is one of the words.
func (w *walk) accept(words ...string) bool {
	if w.isAny(words...) {
		w.read()
		return true
	}
	return false
}

// statement reads a statement, and returns what it leaves unchanged.
func (w *walk) statement() words.Left {
	left := words.AllLeft
	for ; w.tok.Kind == scan.Executable; w.read() {
		left &= w.executed(words.StatementOther)
	}
	for w.isPunct('(') {
		w.read()
	}
	if w.atEnd() {
		return left
	}
	is := words.Facts{}
	if w.tok.Kind == scan.Word {
		is = w.words.Word(w.text(w.tok))
	}
	left &= is.Leaves | words.UnknownLeft
	if is.Marks&words.MarkNames != 0 {
		left &^= words.NamesLeft
	}
	r := rest{walk: w, kind: is.Kind, calls: w.words.Calls}
	left &= r.word(is.Marks)
	w.read()
	w.name = nameRead // a bracket after the first word calls nothing
	switch is.Kind {
	case words.StatementInsert:
		if w.Dialect.Grammar.IntoOptional {
			for w.accept(w.Dialect.Grammar.Modifiers...) {
			}
			w.name = nameNext
		}
	case words.StatementNamed, words.StatementWith:
		w.name = nameNext
	case words.StatementBegin:
		left &= w.begins()
	case words.StatementSet:
		left &= w.sets()
	case words.StatementCreate:
		r.calls = 0
		left &= w.defines()
	case words.StatementAlter, words.StatementDrop:
		r.calls &^= words.WayLeft
		left &= w.defines()
	case words.StatementBlock:
		left &= w.inner()
	}
	return left & r.leaves()
}

// rest reads the part of a statement after its first words.
type rest struct {
	*walk
	kind  words.StatementKind
	calls words.Left // what an unknown function may change in this part of the statement
}

// leaves reads to the end of the statement, and returns what the words there leave
// unchanged.
func (r *rest) leaves() words.Left {
	left := words.AllLeft
	for ; !r.atEnd(); r.read() {
		name := noName
		switch r.tok.Kind {
		case scan.Broken:
			r.touchy, r.broken = true, true
			r.read()
			return left
		case scan.Executable:
			left &= r.executed(r.kind)
		case scan.Word:
			m := r.words.MarksOf(r.text(r.tok))
			if r.name == nameNext {
				name = nameRead
			}
			if m != 0 {
				left &= r.word(m)
				if m&words.MarkName != 0 {
					name = nameNext
				}
			}
			if r.kind == words.StatementExplain {
				if of := r.words.Word(r.text(r.tok)).Kind; of.OfRows() {
					r.kind = of
				}
			}
		case scan.Quoted, scan.String, scan.Variable:
			text := r.text(r.tok)
			r.touchy = r.touchy || strings.IndexByte(text, '\\') >= 0
			if r.name == nameNext && (r.tok.Kind == scan.Quoted || text[0] == '"') {
				name = nameRead
			}
		case scan.Punct:
			switch r.Text[r.tok.Start] {
			case '(':
				if r.name == noName && r.opensUnknown() {
					left &^= r.calls
				}
			case '.':
				if r.name != noName {
					name = nameNext
				}
			case ':', '[':
				r.touchy = r.touchy || strings.IndexByte(r.words.Touchy, r.Text[r.tok.Start]) >= 0
			}
		}
		r.name = name
	}
	return left
}

// word returns what a statement leaves unchanged if it has a word with the given meanings.
func (r *rest) word(m words.Marks) words.Left {
	left := words.AllLeft
	if m&words.MarkInto != 0 && !r.afterVerb() {
		left &^= words.TablesLeft | words.CatalogLeft
	}
	if m&words.MarkMakes != 0 && r.kind == words.StatementExplain {
		left &^= words.TablesLeft | words.CatalogLeft | r.calls&^words.WayLeft
	}
	if m&words.MarkRenames != 0 && !r.kind.OfRows() {
		left &^= words.RowsLeft
	}
	if m&words.MarkMoves != 0 && !r.uses() || m&words.MarkDefines != 0 && r.kind.Defines() {
		left &^= words.AnyWay
	}
	if m&words.MarkAlone != 0 {
		left &^= words.OneLeft
	}
	if m&words.MarkFor != 0 && r.kind == words.StatementCreate {
		r.calls = r.words.Calls &^ words.WayLeft // the bounds of a partition are computed by the CREATE itself
	}
	return left
}

// afterVerb reports whether the INTO here belongs to an INSERT, and not to a query whose
// last item has that name: SELECT a AS insert INTO b.
func (r *rest) afterVerb() bool {
	if r.last.Kind != scan.Word || r.words.Word(r.text(r.last)).Marks&words.MarkVerb == 0 {
		return false
	}
	switch r.before.Kind {
	case scan.End:
		return true // the text begins with the verb
	case scan.Word:
		return scan.EqualAny(r.text(r.before), "explain", "analyze", "analyse", "verbose")
	case scan.Punct:
		c := r.Text[r.before.Start]
		return c == '(' || c == ';' || c == ')' && r.kind != words.StatementRows
	}
	return false
}

// uses reports whether the current word belongs to OPTION (USE HINT (…)) of SQL Server.
func (w *walk) uses() bool {
	if !w.isAny("use") {
		return false
	}
	s := w.Scanner
	return scan.EqualAny(w.text(s.Following()), "hint", "plan")
}

// opensUnknown reports whether the bracket at the current token opens the arguments of an
// unknown function.
func (w *walk) opensUnknown() bool {
	switch w.last.Kind {
	case scan.Word:
		if w.before.Kind == scan.Punct && w.Text[w.before.Start] == '.' {
			return true
		}
		m := w.words.Word(w.text(w.last)).Marks
		// If a space precedes the bracket, some names of the engine's functions mean stored
		// functions instead: MySQL 8.4, section 11.2.5.
		return m&(words.MarkBracket|words.MarkFunction) == 0 && (m&words.MarkTouching == 0 || w.last.End != w.tok.Start)
	case scan.Quoted, scan.Variable:
		return true
	case scan.String:
		return w.Text[w.last.Start] == '"' // a string in double quotes is a name under other settings
	}
	return false
}

// dependsOnSettings reports whether a text whose tokens are not read may have other tokens
// under other session settings.
func (w *walk) dependsOnSettings(text string) bool {
	return w.Dialect.Setting != nil && w.Dialect.Setting.In(text) != 0
}

// executed returns what an executable comment leaves unchanged. in is the kind of the
// statement that the comment is in.
func (w *walk) executed(in words.StatementKind) words.Left {
	text := w.text(w.tok)
	w.touchy = w.touchy || w.dependsOnSettings(text)
	left := w.words.Mentioned(text)
	if in.OfRows() && !strings.Contains(text, ";") {
		left |= words.SettingsLeft | words.CatalogLeft | words.TransactionLeft // the comment is a part of the statement
	}
	return left
}
