package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// walk reads a text once, from its first token to its last one, for all questions about
// what the text leaves as it is.
type walk struct {
	scanner
	words *vocabulary

	tok          token // the current one; white space and comments are left out
	before, last token // those in front of it
	name         nameState

	// touchy says that the text may be read in another way under other settings.
	touchy bool
	// broken says that a string or a comment does not end, so that the engine refuses the
	// statement.
	broken bool
}

// nameState says whether the name of a table, a type or an alias is being read, behind
// which a bracket calls nothing.
type nameState uint8

const (
	noName   nameState = iota
	nameNext           // the next word is a part of it
	nameRead           // it may end here
)

// read moves to the next token.
func (w *walk) read() {
	w.before, w.last = w.last, w.tok
	w.tok = w.following()
}

func (w *walk) text(t token) string { return w.q[t.start:t.end] }

func (w *walk) isPunct(c byte) bool { return w.tok.kind == tokPunct && w.q[w.tok.start] == c }

func (w *walk) atEnd() bool { return w.tok.kind == tokEnd || w.isPunct(';') }

func (w *walk) isAny(words ...string) bool {
	return w.tok.kind == tokWord && equalAny(w.text(w.tok), words...)
}

// accept moves past a word if the current token is one of these.
func (w *walk) accept(words ...string) bool {
	if w.isAny(words...) {
		w.read()
		return true
	}
	return false
}

// statement reads a statement, and returns what it leaves.
func (w *walk) statement() Left {
	left := allLeft
	for ; w.tok.kind == tokExec; w.read() {
		left &= w.executed(statementOther)
	}
	for w.isPunct('(') {
		w.read()
	}
	if w.atEnd() {
		return left
	}
	is := wordFacts{}
	if w.tok.kind == tokWord {
		is = w.words.of(w.text(w.tok))
	}
	left &= is.leaves | unknownLeft
	if is.marks&markNames != 0 {
		left &^= NamesLeft
	}
	r := rest{walk: w, kind: is.kind, calls: w.words.calls}
	left &= r.word(is.marks)
	w.read()
	w.name = nameRead // a bracket behind the first word calls nothing
	switch is.kind {
	case statementInsert:
		if w.d.Grammar.IntoOptional {
			for w.accept(w.d.Grammar.Modifiers...) {
			}
			w.name = nameNext
		}
	case statementNamed, statementWith:
		w.name = nameNext
	case statementBegin:
		left &= w.begins()
	case statementSet:
		left &= w.sets()
	case statementCreate:
		r.calls = 0
		left &= w.defines()
	case statementAlter, statementDrop:
		r.calls &^= wayLeft
		left &= w.defines()
	case statementBlock:
		left &= w.inner()
	}
	return left & r.leaves()
}

// rest is the rest of a statement, behind the words that it begins with.
type rest struct {
	*walk
	kind  statementKind
	calls Left // what a function may change here that is not known
}

// leaves reads to the end of the statement, and returns what that leaves.
func (r *rest) leaves() Left {
	left := allLeft
	for ; !r.atEnd(); r.read() {
		name := noName
		switch r.tok.kind {
		case tokError:
			r.touchy, r.broken = true, true
			r.read()
			return left
		case tokExec:
			left &= r.executed(r.kind)
		case tokWord:
			m := r.words.marksOf(r.text(r.tok))
			if r.name == nameNext {
				name = nameRead
			}
			if m != 0 {
				left &= r.word(m)
				if m&markName != 0 {
					name = nameNext
				}
			}
			if r.kind == statementExplain {
				if of := r.words.of(r.text(r.tok)).kind; of.ofRows() {
					r.kind = of
				}
			}
		case tokQuoted, tokString, tokVar:
			text := r.text(r.tok)
			r.touchy = r.touchy || strings.IndexByte(text, '\\') >= 0
			if r.name == nameNext && (r.tok.kind == tokQuoted || text[0] == '"') {
				name = nameRead
			}
		case tokPunct:
			switch r.q[r.tok.start] {
			case '(':
				if r.name == noName && r.opensUnknown() {
					left &^= r.calls
				}
			case '.':
				if r.name != noName {
					name = nameNext
				}
			case ':', '[':
				r.touchy = r.touchy || r.d.Family == dialect.FamilyMySQL
			}
		}
		r.name = name
	}
	return left
}

// word returns what a word leaves that has marks.
func (r *rest) word(m marks) Left {
	left := allLeft
	if m&markInto != 0 && !r.afterVerb() {
		left &^= TablesLeft | CatalogLeft
	}
	if m&markMakes != 0 && r.kind == statementExplain {
		left &^= TablesLeft | CatalogLeft | r.calls&^wayLeft
	}
	if m&markRenames != 0 && !r.kind.ofRows() {
		left &^= RowsLeft
	}
	if m&markMoves != 0 && !r.uses() || m&markDefines != 0 && r.kind.defines() {
		left &^= anyWay
	}
	if m&markAlone != 0 {
		left &^= oneLeft
	}
	if m&markFor != 0 && r.kind == statementCreate {
		r.calls = r.words.calls &^ wayLeft // the bounds of a partition are computed at once
	}
	return left
}

// afterVerb reports whether the INTO here is that of an INSERT, and not of a query whose last
// item is named so: SELECT a AS insert INTO b.
func (r *rest) afterVerb() bool {
	if r.last.kind != tokWord || r.words.of(r.text(r.last)).marks&markVerb == 0 {
		return false
	}
	switch r.before.kind {
	case tokEnd:
		return true // the text begins so
	case tokWord:
		return equalAny(r.text(r.before), "explain", "analyze", "analyse", "verbose")
	case tokPunct:
		c := r.q[r.before.start]
		return c == '(' || c == ';' || c == ')' && r.kind != statementRows
	}
	return false
}

// uses reports whether the word here is that of OPTION (USE HINT (…)) on SQL Server.
func (w *walk) uses() bool {
	if !w.isAny("use") {
		return false
	}
	s := w.scanner
	return equalAny(w.text(s.following()), "hint", "plan")
}

// opensUnknown reports whether the bracket here opens the arguments of a function that is
// not known.
func (w *walk) opensUnknown() bool {
	switch w.last.kind {
	case tokWord:
		if w.before.kind == tokPunct && w.q[w.before.start] == '.' {
			return true
		}
		m := w.words.of(w.text(w.last)).marks
		// With a space before the bracket some of the names mean stored functions:
		// MySQL 8.4, section 11.2.5.
		return m&(markBracket|markFunction) == 0 && (m&markTouching == 0 || w.last.end != w.tok.start)
	case tokQuoted, tokVar:
		return true
	case tokString:
		return w.q[w.last.start] == '"' // a name under other settings
	}
	return false
}

// dependsOnSettings reports whether a text that is not read may have other tokens under
// other settings.
func (w *walk) dependsOnSettings(text string) bool {
	return w.d.Setting != nil && w.d.Setting.In(text) != 0
}

// executed returns what a comment leaves that the engine may run, in a statement of a kind.
func (w *walk) executed(in statementKind) Left {
	text := w.text(w.tok)
	w.touchy = w.touchy || w.dependsOnSettings(text)
	left := w.words.mentioned(text)
	if in.ofRows() && !strings.Contains(text, ";") {
		left |= SettingsLeft | CatalogLeft | TransactionLeft // it is a part of the statement
	}
	return left
}
