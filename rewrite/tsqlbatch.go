package rewrite

// tsqlBatch returns how a text of Transact-SQL changes the transaction. A
// statement may follow another without a semicolon, so the words count wherever
// they stand.
//
// Transactions nest: COMMIT ends one only when it is the outermost, which the
// text does not tell, and ROLLBACK of a name may go back to a savepoint:
// Transact-SQL reference, "BEGIN TRANSACTION" and "ROLLBACK TRANSACTION".
func (p *reader) tsqlBatch() Transaction {
	for p.acceptPunct(';') {
	}
	e := effectUnknown
	switch {
	case p.tok.kind == tokWord:
		e = vocabularyOf(p.d).of(p.text(p.tok)).effect
	case p.tok.kind == tokEnd, p.isPunct('('):
		e = effectNone
	}
	b := tsqlBatch{reader: p}
	switch {
	case e == effectDefine:
		// The body of a routine is the rest of the batch.
		if q := *p; q.defines() {
			return TxUnchanged
		}
	case e == effectUnknown, e == effectBegin && !p.beginsTransaction():
		// The name of a procedure at the start runs it.
		b.state = TxUnknown
	}
	for p.tok.kind != tokEnd && !b.blind {
		b.word()
	}
	if b.blind || b.branches && b.state != TxUnchanged {
		return TxUnknown
	}
	return b.state
}

// tsqlBatch is what the parser knows of the Transact-SQL text that it reads.
type tsqlBatch struct {
	*reader
	state    Transaction
	depth    int  // the transactions that the text has begun and not ended
	branches bool // it holds statements that may run or not
	blind    bool // nothing certain can follow
}

// word reads one token, and the tokens that belong to it.
func (b *tsqlBatch) word() {
	switch {
	case b.tok.kind == tokError, b.isAny("implicit_transactions", "ansi_defaults"):
		b.blind = true
	case b.isWord("begin"):
		if b.beginsTransaction() {
			b.depth++
			b.state = TxBegins
		} else {
			b.branches = true
		}
	case b.isWord("commit"):
		if b.depth--; b.depth <= 0 {
			b.depth, b.state = 0, TxUnknown
		}
	case b.isWord("rollback"):
		b.depth, b.state = 0, b.rollback()
		return
	case b.isAny("exec", "execute"):
		b.state = TxUnknown
	case b.isAny("if", "while", "goto", "return"):
		b.branches = true
	}
	b.advance()
}

// beginsTransaction reports whether the BEGIN here begins a transaction.
func (p *reader) beginsTransaction() bool {
	q := *p
	q.advance()
	q.accept("distributed")
	return q.isAny("tran", "transaction")
}

// rollback reads ROLLBACK: what follows TRAN is a name unless it begins the next
// statement.
func (b *tsqlBatch) rollback() Transaction {
	b.advance()
	if !b.accept("tran") && !b.accept("transaction") || b.atEnd() {
		return TxEnds
	}
	if b.tok.kind == tokWord && (vocabularyOf(b.d).of(b.text(b.tok)).effect != effectUnknown ||
		b.isAny("end", "else", "exec", "execute")) {
		return TxEnds
	}
	return TxUnknown
}
