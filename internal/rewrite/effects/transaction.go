package effects

//row:changes | what happens on ROLLBACK TO, COMMIT or BEGIN as text | `internal/rewrite/effects/transaction.go`; `internal/session/transaction.go` follows it, `txask.go` asks the engine

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// OneTransaction reports whether the engine executes a text as one transaction, or within
// the open transaction: no statement of the text ends a transaction or must be outside of a
// transaction.
func OneTransaction(d *dialect.Dialect, query string) bool {
	return d.Transactions.Texts && Leaves(d, query)&words.OneLeft != 0 && TransactionOf(d, query) == TxUnchanged
}

// Transaction says how a text changes the transaction of its connection.
type Transaction uint8

// The effects of a text on the transaction.
const (
	TxUnchanged Transaction = iota // an open transaction stays open, and none begins
	TxBegins                       // a transaction is open afterwards
	TxEnds                         // no transaction is open afterwards
	TxUnknown                      // afterwards a transaction may be open or not
	TxSaves                        // a transaction is open afterwards; if none was open before, it ends when its savepoint is released
	TxReleases                     // a transaction that began with the savepoint may have ended; any other transaction stays open
	TxCommits                      // DDL ran, which commits implicitly, or failed before the commit: ask the engine
)

// String returns the word for t: "unchanged", "begins", "ends", "unknown", "saves",
// "releases" or "commits".
func (t Transaction) String() string {
	return [...]string{"unchanged", "begins", "ends", "unknown", "saves", "releases", "commits"}[t]
}

// then returns the effect of two statements together, t first.
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

// TransactionOf returns the state of the transaction after the text has run without an
// error. Of several statements, the last one with a certain effect decides. The state is
// unknown if the text changes when transactions begin (SET autocommit, SET
// IMPLICIT_TRANSACTIONS), or has a block of statements.
//
// The state is also unknown if a first word is not known to leave the transaction alone, as
// with new statements. TransactionOf does not notice MySQL's completion_type if it is set
// on the server, or procedures and triggers that end a transaction.
func TransactionOf(d *dialect.Dialect, query string) Transaction {
	p := reader.New(d, query)
	if d.Grammar.NoSemicolon {
		return batchEffect(&p)
	}
	state := TxUnchanged
	for p.Token.Kind != scan.End {
		if p.AcceptPunct(';') {
			continue
		}
		state = state.then(transaction(&p))
	}
	return state
}

// transaction reads one statement, and returns its effect. If executable comments precede
// it, it returns TxUnknown, unless neither they nor the statement changes the transaction.
func transaction(p *reader.Reader) Transaction {
	if p.Token.Kind != scan.Executable {
		return effect(p)
	}
	tx := TxUnchanged
	for ; p.Token.Kind == scan.Executable; p.Advance() {
		if executed(p) != TxUnchanged {
			tx = TxUnknown
		}
	}
	if !p.AtEnd() && effect(p) != TxUnchanged {
		tx = TxUnknown
	}
	return tx
}

// effect reads a statement from its first token, and returns its effect.
func effect(p *reader.Reader) Transaction {
	switch {
	case p.IsPunct('('):
		return unchanged(p)
	case p.Token.Kind != scan.Word:
		unchanged(p)
		return TxUnknown
	}
	switch words.Of(p.Dialect).Word(p.TextOf(p.Token)).Effect {
	case words.EffectNone, words.EffectRun:
		return unchanged(p)
	case words.EffectDefine:
		start := p.Token.Start
		if passDefinition(p) && words.Of(p.Dialect).SuspectsBehind(p.Dialect, p.Text[start:]) {
			return TxUnknown // what was read as the body of a routine may be later statements
		}
		return TxUnchanged
	case words.EffectCommits:
		return commits(p)
	case words.EffectBegin:
		return begin(p)
	case words.EffectEnd, words.EffectRollback:
		return ends(p)
	case words.EffectSave:
		return certain(p, TxSaves)
	case words.EffectRelease:
		return certain(p, TxReleases)
	case words.EffectStart:
		return followed(p, TxBegins, TxUnknown, "transaction")
	case words.EffectPrepare:
		return followed(p, TxUnknown, TxUnchanged, "transaction")
	case words.EffectLoad:
		return followed(p, TxUnchanged, TxUnknown, "data", "xml")
	case words.EffectSet:
		return setting(p)
	case words.EffectBlock:
		return unknown(p)
	}
	unchanged(p)
	return TxUnknown
}

// unknown moves to the end of the text, and returns TxUnknown.
func unknown(p *reader.Reader) Transaction {
	for p.Token.Kind != scan.End {
		p.Advance()
	}
	return TxUnknown
}

// unchanged skips the rest of a statement that changes nothing. It returns TxUnchanged, or
// TxUnknown if an executable comment in it may hold a statement that changes the
// transaction.
func unchanged(p *reader.Reader) Transaction {
	tx := TxUnchanged
	for ; !p.AtEnd(); p.Advance() {
		if p.Token.Kind == scan.Broken || p.Token.Kind == scan.Executable && words.Of(p.Dialect).SuspectsBehind(p.Dialect, p.TextOf(p.Token)) {
			tx = TxUnknown
		}
	}
	return tx
}

// certain skips the rest of a statement, and returns tx, or TxUnknown if an executable
// comment stands in it.
func certain(p *reader.Reader, tx Transaction) Transaction {
	for ; !p.AtEnd(); p.Advance() {
		if p.Token.Kind == scan.Broken || p.Token.Kind == scan.Executable {
			tx = TxUnknown
		}
	}
	return tx
}

// followed skips the rest of a statement, and returns yes if one of the words follows the
// first word, and no otherwise.
func followed(p *reader.Reader, yes, no Transaction, words ...string) Transaction {
	p.Advance()
	if p.IsAny(words...) {
		return certain(p, yes)
	}
	return certain(p, no)
}

// executed returns the effect of an executable comment: TxUnchanged or TxUnknown.
func executed(p *reader.Reader) Transaction {
	text, open := strings.CutSuffix(p.TextOf(p.Token), "*/")
	text = strings.TrimLeft(text[strings.IndexByte(text, '!')+1:], "0123456789")
	if !open || strings.Contains(text, "*/") || TransactionOf(p.Dialect, text) != TxUnchanged {
		return TxUnknown
	}
	return TxUnchanged
}

// commits returns the effect of DDL in an engine where DDL commits the transaction. DDL
// that concerns the session alone does not commit: temporary tables in MySQL 8.4, section
// 15.3.3, and ALTER SESSION in Oracle.
func commits(p *reader.Reader) Transaction {
	q := *p
	alter := q.IsWord("alter")
	q.Advance()
	if q.Accept("or") {
		q.Accept("replace")
	}
	switch {
	case alter && q.IsAny(words.Of(p.Dialect).Define.Sessions...),
		!alter && p.Dialect.Grammar.TempTables && q.Accept("temporary") && q.IsAny("table", "tables"):
		return certain(p, TxUnchanged)
	}
	start := p.Token.Start
	if passDefinition(p) && words.Of(p.Dialect).SuspectsBehind(p.Dialect, p.Text[start:]) {
		return TxUnknown // what was read as the body of a routine may be later statements
	}
	return TxCommits
}

// begin returns the effect of BEGIN, which begins a transaction, or a block of statements
// if the dialect has blocks.
func begin(p *reader.Reader) Transaction {
	p.Advance()
	if p.Dialect.Grammar.Blocks && !p.AtEnd() && !p.IsWord("work") {
		return unknown(p)
	}
	return certain(p, TxBegins)
}

// ends returns the effect of COMMIT, END, ABORT or ROLLBACK.
func ends(p *reader.Reader) Transaction {
	rollback := p.IsWord("rollback")
	p.Advance()
	switch {
	case p.IsWord("prepared"):
		// PREPARED names a transaction of another session (PostgreSQL).
		return certain(p, TxUnchanged)
	case p.IsWord("force"):
		// FORCE ends an in-doubt distributed transaction (Oracle).
		return certain(p, TxUnknown)
	}
	tx := TxEnds
	for no := false; !p.AtEnd(); p.Advance() {
		switch {
		case p.Token.Kind == scan.Broken, p.Token.Kind == scan.Executable:
			tx = TxUnknown
		case rollback && p.IsWord("to"):
			return certain(p, TxUnchanged)
		case p.IsWord("chain") && !no && tx == TxEnds:
			tx = TxBegins
		}
		no = p.IsWord("no")
	}
	return tx
}

// setting returns the effect of SET: MySQL 8.4, section 15.7.6; Oracle, "SET
// TRANSACTION", which begins a transaction.
func setting(p *reader.Reader) Transaction {
	if q := *p; q.SetsStatement() && q.StatementSettings() {
		*p = q
		return effect(p)
	}
	p.Advance()
	if p.IsAny(words.Of(p.Dialect).Set.Unsure...) {
		// MariaDB's SET STATEMENT … FOR holds any other statement.
		unchanged(p)
		return TxUnknown
	}
	if p.IsWord("default") {
		// SET DEFAULT ROLE writes to a table of accounts, and commits.
		unchanged(p)
		return TxCommits
	}
	for !p.AtEnd() {
		if p.Token.Kind == scan.Executable || p.Token.Kind == scan.Broken {
			return unknown(p)
		}
		mode := p.IsVariable("autocommit") || p.IsVariable("completion_type")
		if p.Advance(); mode && (p.IsPunct('=') || p.IsPunct(':')) {
			return unknown(p)
		}
	}
	return TxUnchanged
}
