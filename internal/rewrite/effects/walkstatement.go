package effects

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// begins reads the words after BEGIN or START, and returns what they leave unchanged. In
// engines with blocks, a word that does not belong to a transaction begins a block. Each
// semicolon in the block ends a statement for the walk.
func (w *walk) begins() words.Left {
	for ; !w.atEnd(); w.read() {
		switch {
		case w.tok.Kind == scan.Word && beginWords.Has(w.text(w.tok)), w.isPunct(','):
		case w.Dialect.Grammar.Blocks:
			return w.inner()
		default:
			return words.AllLeft &^ words.TablesLeft
		}
	}
	return words.AllLeft
}

// beginWords are the words that BEGIN and START TRANSACTION may have, in all engines.
var beginWords = scan.NewWordSet(`work transaction deferred immediate exclusive concurrent isolation level read write only
	serializable repeatable committed uncommitted not deferrable with consistent snapshot`)

// inner moves to the end of the statement, and returns what the statements inside it leave
// unchanged, judged by their words.
func (w *walk) inner() words.Left {
	start := w.tok.Start
	for ; !w.atEnd(); w.read() {
		w.broken = w.broken || w.tok.Kind == scan.Broken
	}
	text := w.Text[start:w.tok.Start]
	w.touchy = w.touchy || w.dependsOnSettings(text)
	return w.words.Mentioned(text)
}

// sets reads the words after SET, and returns what the SET leaves unchanged.
func (w *walk) sets() words.Left {
	set := &w.words.Set
	if w.isAny(set.Holds...) {
		return w.inner() // SET STATEMENT … FOR holds any statement
	}
	w.accept(set.Scopes...)
	if set.Keeps != nil && !w.isAny(set.Keeps...) {
		return words.AllLeft &^ words.AnyWay
	}
	return words.AllLeft
}

// defines reads the words after CREATE, ALTER or DROP, and returns what the statement
// leaves unchanged.
func (w *walk) defines() words.Left {
	left := words.AllLeft
	def := &w.words.Define
	if def.Drops != nil {
		s := *w
		drops := scan.EqualWord(s.text(s.last), "drop") || s.accept("or") && s.accept("replace")
		if drops && s.isAny(def.Drops...) {
			left &^= words.AnyWay
		}
	}
	if w.Dialect.Grammar.RoutineIsRest && w.isRoutine() {
		// The rest of the text is the body of the routine, which does not run now.
		left &= w.words.Mentioned(w.Text[w.tok.Start:]) | words.AnyWay
		w.Pos = len(w.Text)
		w.read()
	}
	if def.Keeps != nil {
		// The parts of a table, an index or a type call no function when it is made.
		if !w.isAny(def.Keeps...) {
			left &^= words.AnyWay
		}
		s := *w
		if s.accept(def.Prefixes...); !s.isAny(def.One...) {
			left &^= words.OneLeft
		}
	}
	return left
}

// isRoutine reports whether the definition at the current token has a body of statements.
func (w *walk) isRoutine() bool {
	for s := *w; s.tok.Kind != scan.End && !s.isPunct(';') && !s.isPunct('('); s.read() {
		if s.tok.Kind == scan.Word && slices.ContainsFunc(s.Dialect.Grammar.Routines, func(r string) bool { return s.isAny(r) }) {
			return true
		}
	}
	return false
}
