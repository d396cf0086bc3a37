package effects

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// batchEffect returns how a text of Transact-SQL changes the transaction. A statement may
// follow another without a semicolon, so words are read anywhere in the text.
//
// Transactions nest, and only the COMMIT of the outermost one ends it; the text does not
// show which one that is. ROLLBACK of a name may go back to a savepoint: Transact-SQL
// reference, "BEGIN TRANSACTION" and "ROLLBACK TRANSACTION".
func batchEffect(p *reader.Reader) Transaction {
	for p.AcceptPunct(';') {
	}
	e := words.EffectUnknown
	switch {
	case p.Token.Kind == scan.Word:
		e = words.Of(p.Dialect).Word(p.TextOf(p.Token)).Effect
	case p.Token.Kind == scan.End, p.IsPunct('('):
		e = words.EffectNone
	}
	b := tsqlBatch{Reader: p}
	switch {
	case e == words.EffectDefine:
		// The rest of the batch is the body of the routine, and does not run.
		if q := *p; q.Defines() {
			return TxUnchanged
		}
	case e == words.EffectUnknown, e == words.EffectBegin && !beginsTransaction(p):
		// At the start of a batch, the name of a procedure alone runs it.
		b.state = TxUnknown
	}
	for p.Token.Kind != scan.End && !b.blind {
		b.word()
	}
	if b.blind || b.branches && b.state != TxUnchanged {
		return TxUnknown
	}
	return b.state
}

// tsqlBatch is what is known about the Transact-SQL text read so far.
type tsqlBatch struct {
	*reader.Reader
	state    Transaction
	depth    int  // how many transactions the text has begun and not ended
	branches bool // whether the text holds statements that may or may not run
	blind    bool // whether nothing in the rest of the text can make the state certain
}

// word reads one token, and the tokens that belong to it.
func (b *tsqlBatch) word() {
	switch {
	case b.Token.Kind == scan.Broken, b.IsAny("implicit_transactions", "ansi_defaults"):
		b.blind = true
	case b.IsWord("begin"):
		if beginsTransaction(b.Reader) {
			b.depth++
			b.state = TxBegins
		} else {
			b.branches = true
		}
	case b.IsWord("commit"):
		if b.depth--; b.depth <= 0 {
			b.depth, b.state = 0, TxUnknown
		}
	case b.IsWord("rollback"):
		b.depth, b.state = 0, b.rollback()
		return
	case b.IsAny("exec", "execute"):
		b.state = TxUnknown
	case b.IsAny("if", "while", "goto", "return"):
		b.branches = true
	}
	b.Advance()
}

// beginsTransaction reports whether the BEGIN at the current token begins a transaction.
func beginsTransaction(p *reader.Reader) bool {
	q := *p
	q.Advance()
	q.Accept("distributed")
	return q.IsAny("tran", "transaction")
}

// rollback returns the effect of ROLLBACK. The word after TRAN is a name unless it begins
// the next statement.
func (b *tsqlBatch) rollback() Transaction {
	b.Advance()
	if !b.Accept("tran") && !b.Accept("transaction") || b.AtEnd() {
		return TxEnds
	}
	if b.Token.Kind == scan.Word && (words.Of(b.Dialect).Word(b.TextOf(b.Token)).Effect != words.EffectUnknown ||
		b.IsAny("end", "else", "exec", "execute")) {
		return TxEnds
	}
	return TxUnknown
}
