package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Transaction says how a text changes the transaction of its connection.
type Transaction uint8

// What a text may do to the transaction.
const (
	TxUnchanged Transaction = iota // what was open is open, and nothing else
	TxBegins                       // a transaction is open
	TxEnds                         // none is open
	TxUnknown                      // one may be open or not
	TxSaves                        // one is open, which begins here where none was, until its savepoint is released
	TxReleases                     // one that has begun with a savepoint may end; any other is open
	TxCommits                      // DDL has gone by, which commits on the side, or has failed before it did: the engine is to be asked
)

// String returns the word for it: "unchanged", "begins", "ends", "unknown", "saves",
// "releases" or "commits".
func (t Transaction) String() string {
	return [...]string{"unchanged", "begins", "ends", "unknown", "saves", "releases", "commits"}[t]
}

// then returns what two statements do together.
func (t Transaction) then(next Transaction) Transaction {
	switch {
	case next == TxUnchanged:
		return t
	case next != TxSaves && next != TxReleases, t == TxUnchanged:
		return next
	case t == TxBegins, t == TxSaves && next == TxSaves:
		return t
	}
	return TxUnknown
}

// TransactionOf returns the state after the text has run without an error. Of
// several statements the last one counts that says something certain; a change
// of when transactions begin (SET autocommit, SET IMPLICIT_TRANSACTIONS) makes
// the state unknown whatever follows, and so does a block of statements.
//
// What a first word does that is not known to leave the transaction alone is
// unknown, so new statements are. Not seen are MySQL's completion_type set on
// the server, and procedures and triggers that end a transaction.
func TransactionOf(d *dialect.Dialect, query string) Transaction {
	p := newReader(d, query)
	if d.Grammar.NoSemicolon {
		return p.tsqlBatch()
	}
	state := TxUnchanged
	for p.tok.kind != tokEnd {
		if p.acceptPunct(';') {
			continue
		}
		state = state.then(p.transaction())
	}
	return state
}

// transaction reads one statement and returns what it does. Behind a comment
// that the engine runs nothing is certain but what changes nothing either way.
func (p *reader) transaction() Transaction {
	if p.tok.kind != tokExec {
		return p.effect()
	}
	tx := TxUnchanged
	for ; p.tok.kind == tokExec; p.advance() {
		if p.executed() != TxUnchanged {
			tx = TxUnknown
		}
	}
	if !p.atEnd() && p.effect() != TxUnchanged {
		tx = TxUnknown
	}
	return tx
}

// effect reads a statement from its first token.
func (p *reader) effect() Transaction {
	switch {
	case p.isPunct('('):
		return p.unchanged()
	case p.tok.kind != tokWord:
		p.unchanged()
		return TxUnknown
	}
	switch vocabularyOf(p.d).of(p.text(p.tok)).effect {
	case effectNone, effectRun:
		return p.unchanged()
	case effectDefine:
		start := p.tok.start
		if p.passDefinition() && vocabularyOf(p.d).suspectsBehind(p.d, p.q[start:]) {
			return TxUnknown // the text that is taken for its body may follow it
		}
		return TxUnchanged
	case effectCommits:
		return p.commits()
	case effectBegin:
		return p.begin()
	case effectEnd, effectRollback:
		return p.ends()
	case effectSave:
		return p.certain(TxSaves)
	case effectRelease:
		return p.certain(TxReleases)
	case effectStart:
		return p.followed(TxBegins, TxUnknown, "transaction")
	case effectPrepare:
		return p.followed(TxUnknown, TxUnchanged, "transaction")
	case effectLoad:
		return p.followed(TxUnchanged, TxUnknown, "data", "xml")
	case effectSet:
		return p.setting()
	case effectBlock:
		return p.unknown()
	}
	p.unchanged()
	return TxUnknown
}

// unknown moves to the end of the text.
func (p *reader) unknown() Transaction {
	for p.tok.kind != tokEnd {
		p.advance()
	}
	return TxUnknown
}

// unchanged reads the rest of a statement that does nothing, unless a comment
// that the engine runs ends it.
func (p *reader) unchanged() Transaction {
	tx := TxUnchanged
	for ; !p.atEnd(); p.advance() {
		if p.tok.kind == tokError || p.tok.kind == tokExec && vocabularyOf(p.d).suspectsBehind(p.d, p.text(p.tok)) {
			tx = TxUnknown
		}
	}
	return tx
}

// certain reads the rest of a statement that does what tx says, unless a
// comment that the engine runs makes it another one.
func (p *reader) certain(tx Transaction) Transaction {
	for ; !p.atEnd(); p.advance() {
		if p.tok.kind == tokError || p.tok.kind == tokExec {
			tx = TxUnknown
		}
	}
	return tx
}

// followed reads the rest of a statement, which does one thing when one of the
// words follows the first, else the other.
func (p *reader) followed(yes, no Transaction, words ...string) Transaction {
	p.advance()
	if p.isAny(words...) {
		return p.certain(yes)
	}
	return p.certain(no)
}

// executed returns what a comment does that the engine may run: TxUnchanged or
// TxUnknown.
func (p *reader) executed() Transaction {
	text, open := strings.CutSuffix(p.text(p.tok), "*/")
	text = strings.TrimLeft(text[strings.IndexByte(text, '!')+1:], "0123456789")
	if !open || strings.Contains(text, "*/") || TransactionOf(p.d, text) != TxUnchanged {
		return TxUnknown
	}
	return TxUnchanged
}

// commits reads DDL of an engine where DDL commits the transaction, except DDL
// that concerns the session alone: temporary tables in MySQL 8.4, section
// 15.3.3, and ALTER SESSION in Oracle.
func (p *reader) commits() Transaction {
	q := *p
	alter := q.isWord("alter")
	q.advance()
	if q.accept("or") {
		q.accept("replace")
	}
	switch {
	case alter && p.d.Family == dialect.FamilyOracle && q.isWord("session"),
		!alter && p.d.Family == dialect.FamilyMySQL && q.accept("temporary") && q.isAny("table", "tables"):
		return p.certain(TxUnchanged)
	}
	start := p.tok.start
	if p.passDefinition() && vocabularyOf(p.d).suspectsBehind(p.d, p.q[start:]) {
		return TxUnknown // what is taken for its body may be what follows it
	}
	return TxCommits
}

// begin reads BEGIN: a transaction, or a block of statements where the dialect
// has blocks.
func (p *reader) begin() Transaction {
	p.advance()
	if p.d.Grammar.Blocks && !p.atEnd() && !p.isWord("work") {
		return p.unknown()
	}
	return p.certain(TxBegins)
}

// ends reads COMMIT, END, ABORT and ROLLBACK.
func (p *reader) ends() Transaction {
	rollback := p.isWord("rollback")
	p.advance()
	switch {
	case p.isWord("prepared"):
		// PostgreSQL: a transaction of another session.
		return p.certain(TxUnchanged)
	case p.isWord("force"):
		// Oracle: a distributed one in doubt.
		return p.certain(TxUnknown)
	}
	tx := TxEnds
	for no := false; !p.atEnd(); p.advance() {
		switch {
		case p.tok.kind == tokError, p.tok.kind == tokExec:
			tx = TxUnknown
		case rollback && p.isWord("to"):
			return p.certain(TxUnchanged)
		case p.isWord("chain") && !no && tx == TxEnds:
			tx = TxBegins
		}
		no = p.isWord("no")
	}
	return tx
}

// setting reads SET: MySQL 8.4, section 15.7.6; Oracle, "SET TRANSACTION",
// which begins one.
func (p *reader) setting() Transaction {
	if q := *p; q.setsStatement() && q.statementSettings() {
		*p = q
		return p.effect()
	}
	p.advance()
	if p.isAny("statement", "password") || p.d.Family == dialect.FamilyOracle && p.isWord("transaction") {
		// MariaDB's SET STATEMENT … FOR holds any other statement.
		p.unchanged()
		return TxUnknown
	}
	if p.isWord("default") {
		// SET DEFAULT ROLE writes to a table of accounts, and commits.
		p.unchanged()
		return TxCommits
	}
	for !p.atEnd() {
		if p.tok.kind == tokExec || p.tok.kind == tokError {
			return p.unknown()
		}
		mode := p.isVariable("autocommit") || p.isVariable("completion_type")
		if p.advance(); mode && (p.isPunct('=') || p.isPunct(':')) {
			return p.unknown()
		}
	}
	return TxUnchanged
}

// isVariable reports whether the current token names a variable of the server:
// x, `x`, @@x or @@session.x.
func (p *reader) isVariable(name string) bool {
	text := p.text(p.tok)
	if len(text) < len(name) {
		return false
	}
	switch p.tok.kind {
	case tokVar:
		if !strings.HasPrefix(text, "@@") {
			return false
		}
		text = text[max(2, strings.LastIndexByte(text, '.')+1):]
	case tokWord, tokQuoted:
	default:
		return false
	}
	for text != "" && strings.IndexByte("`\"'", text[0]) >= 0 {
		text = text[1:]
	}
	for text != "" && strings.IndexByte("`\"'", text[len(text)-1]) >= 0 {
		text = text[:len(text)-1]
	}
	return equalWord(text, name)
}
