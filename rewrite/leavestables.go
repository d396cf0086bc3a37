package rewrite

import "github.com/keyfill/keyfill/dialect"

// LeavesTables reports whether a text leaves all tables as they are, and leaves
// every name of a table what it means. Such a text makes, changes, renames and
// drops no table, temporary ones and views included; it changes no search path,
// ends no transaction, and calls no function that may do any of these.
//
// LeavesTables answers no for every text that it does not know, which costs the
// caller a question to the server: for what is neither INSERT, UPDATE, DELETE or a
// query, nor EXPLAIN of one of these, nor the begin of a transaction or a savepoint;
// for a comment that the engine may run; and on SQL Server and Oracle, where a
// statement may follow another without a semicolon or run in a block. It does not
// see what triggers, rules and views call.
func LeavesTables(d *dialect.Dialect, query string) bool {
	if d.Grammar.NoSemicolon || d.Grammar.PLSQL {
		return false
	}
	p := &parser{scanner: scanner{d: d, q: query}}
	statements := 0
	for p.read(); p.tok.kind != tokEnd; {
		if p.acceptPunct(';') {
			continue
		}
		if !p.leavesTables() {
			return false
		}
		statements++
	}
	return statements > 0
}

// leavesTables reads a statement and reports whether it leaves all tables as they are,
// and leaves their names what they mean: see [LeavesTables].
func (p *parser) leavesTables() bool {
	switch {
	case p.isAny("insert", "replace"):
		p.inserted()
	case p.isAny("begin", "start"):
		// A block of statements begins with other words.
		for p.advance(); !p.atEnd(); p.advance() {
			if !p.isIn(beginWords) && !p.isPunct(',') {
				return false
			}
		}
	case p.isAny("savepoint", "release"):
	case p.isAny("explain", "analyze"):
		// EXPLAIN ANALYZE runs its statement, which may be CREATE TABLE AS or EXECUTE.
		for ; !p.atEnd() && !p.isIn(rowWords); p.advance() {
			if p.isAny("create", "execute", "declare", "refresh") {
				return false
			}
		}
	case !p.isIn(rowWords):
		return false
	}
	verb := false // the word before this one is an INSERT's
	for ; !p.atEnd(); p.advance() {
		switch p.tok.kind {
		case tokExec, tokError:
			return false
		case tokWord, tokQuoted:
			makes := p.d.Grammar.SelectInto && p.isWord("into") && !verb
			if makes || !p.isWord("conflict") && p.mayChange() {
				return false
			}
			verb = p.isAny("insert", "replace", "merge", "ignore") || p.isAny(p.d.Grammar.Modifiers...)
		}
	}
	return true
}

// inserted moves past the head of an INSERT: the bracket behind the table's name is
// no call.
func (p *parser) inserted() {
	p.advance()
	if p.d.Grammar.OrAction && p.accept("or") {
		p.advance()
	}
	for p.isAny(p.d.Grammar.Modifiers...) || p.isWord("ignore") {
		p.advance()
	}
	if p.accept("into") || p.d.Grammar.IntoOptional {
		p.tableName()
	}
	// What is in the bracket may be a query, or a subscript that calls something.
}

// rowWords are the words that a statement about rows begins with.
var rowWords = newWordSet("select insert replace update delete with values")

// beginWords are the words that BEGIN and START TRANSACTION may have, in all engines.
var beginWords = newWordSet(`work transaction deferred immediate exclusive concurrent isolation level read write only
	serializable repeatable committed uncommitted not deferrable with consistent snapshot`)
