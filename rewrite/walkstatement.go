package rewrite

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// statementKind says how the words behind the first one of a statement are read.
type statementKind uint8

const (
	statementOther   statementKind = iota // they are as good as any
	statementRows                         // it is about rows
	statementInsert                       // the same, and the table's name follows
	statementWith                         // the same, and another name follows
	statementNamed                        // a name follows
	statementBegin                        // BEGIN and START, of a transaction or a block
	statementExplain                      // it may run another one
	statementSet
	statementCreate
	statementAlter
	statementDrop
	statementBlock // a block of statements
)

// ofRows reports whether a statement is about rows.
func (k statementKind) ofRows() bool {
	return k == statementRows || k == statementInsert || k == statementWith
}

// defines reports whether a statement makes, changes or drops something.
func (k statementKind) defines() bool {
	return k == statementCreate || k == statementAlter || k == statementDrop
}

// begins reads the words behind BEGIN and START, and returns what they leave. Others
// than those of a transaction begin a block, where there are blocks. Behind the semicolons
// in a block, other statements of it begin, or go on.
func (w *walk) begins() Left {
	for ; !w.atEnd(); w.read() {
		switch {
		case w.tok.kind == tokWord && beginWords.has(w.text(w.tok)), w.isPunct(','):
		case w.d.Grammar.Blocks:
			return w.inner()
		default:
			return allLeft &^ TablesLeft
		}
	}
	return allLeft
}

// beginWords are the words that BEGIN and START TRANSACTION may have, in all engines.
var beginWords = newWordSet(`work transaction deferred immediate exclusive concurrent isolation level read write only
	serializable repeatable committed uncommitted not deferrable with consistent snapshot`)

// inner moves to the end of the statement, and returns what the statement leaves that may
// stand in it.
func (w *walk) inner() Left {
	start := w.tok.start
	for ; !w.atEnd(); w.read() {
		w.broken = w.broken || w.tok.kind == tokError
	}
	text := w.q[start:w.tok.start]
	w.touchy = w.touchy || w.dependsOnSettings(text)
	return w.words.mentioned(text)
}

// sets reads the words behind SET that say what is set.
func (w *walk) sets() Left {
	switch w.d.Family {
	case dialect.FamilyMySQL:
		if w.isAny("statement") {
			return w.inner() // SET STATEMENT … FOR holds any statement
		}
	case dialect.FamilyPostgreSQL:
		_ = w.accept("local") || w.accept("session")
		if !w.isAny("transaction", "constraints", "characteristics", "timezone", "time", "names", "statement_timeout", "lock_timeout", "application_name") {
			return allLeft &^ anyWay
		}
	}
	return allLeft
}

// defines reads the words that say of what a CREATE, ALTER or DROP is.
func (w *walk) defines() Left {
	left := allLeft
	switch w.d.Family {
	case dialect.FamilyMySQL:
		if equalWord(w.text(w.last), "drop") && w.isAny("database", "schema") {
			left &^= anyWay
		}
	case dialect.FamilyOracle:
		if w.isRoutine() {
			// The rest of the text is its body, which does not run.
			left &= w.words.mentioned(w.q[w.tok.start:]) | anyWay
			w.pos = len(w.q)
			w.read()
		}
	case dialect.FamilyPostgreSQL:
		// What a table, an index or a type is made of calls nothing when it is made.
		if !w.isAny("table", "index", "unique", "temp", "temporary", "view", "sequence", "type", "or") {
			left &^= anyWay
		}
		s := *w
		if s.accept("unlogged", "unique"); !s.isAny("table", "index", "sequence", "view") {
			left &^= oneLeft
		}
	}
	return left
}

// isRoutine reports whether what is defined here has a body of statements.
func (w *walk) isRoutine() bool {
	for s := *w; s.tok.kind != tokEnd && !s.isPunct(';') && !s.isPunct('('); s.read() {
		if s.tok.kind == tokWord && slices.ContainsFunc(s.d.Grammar.Routines, func(r string) bool { return s.isAny(r) }) {
			return true
		}
	}
	return false
}
