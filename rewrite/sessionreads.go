package rewrite

import (
	"strings"
	"sync"

	"github.com/keyfill/keyfill/dialect"
)

// Reads says which results of its connection's last statement a text asks for.
// A statement of keyfill's in between would change them.
type Reads uint8

const (
	// ReadsLastKey is of LAST_INSERT_ID(), @@last_insert_id, @@identity,
	// last_insert_rowid(), lastval(), currval, PREVIOUS VALUE FOR,
	// SCOPE_IDENTITY() and IDENT_CURRENT().
	ReadsLastKey Reads = 1 << iota
	// ReadsCount is of ROW_COUNT(), FOUND_ROWS(), changes(), total_changes(),
	// @@ROWCOUNT, ROWCOUNT_BIG() and SQL%ROWCOUNT.
	ReadsCount
)

// Reads returns what the plan's text reads, by its words outside of strings and
// comments, whatever the dialect. Reads does not see a view, a trigger or a
// function that asks for them. It is read at the first call and kept.
func (pl *Plan) Reads() Reads {
	pl.reads.once.Do(func() { pl.reads.reads = readsOf(pl.Dialect, pl.query) })
	return pl.reads.reads
}

// lazyReads holds the [Reads] of a text once they were asked for.
type lazyReads struct {
	once  sync.Once
	reads Reads
}

// readsOf returns what a text reads.
func readsOf(d *dialect.Dialect, query string) (reads Reads) {
	p := newReader(d, query)
	var before, last token // the tokens in front of the current one
	diagnostics := false
	for ; p.tok.kind != tokEnd; p.advance() {
		switch p.tok.kind {
		case tokPunct:
			if p.isPunct('(') {
				reads |= p.called(before, last)
			}
		case tokVar:
			reads |= p.variableRead()
		case tokWord:
			diagnostics = diagnostics || p.isWord("diagnostics")
			reads |= p.wordRead(before, last, diagnostics)
		case tokQuoted:
			reads |= p.fieldRead(before, last)
		case tokExec:
			reads |= p.executedReads()
		}
		before, last = last, p.tok
	}
	return reads
}

// called returns what the function reads that last names, called by the
// bracket here.
func (p *reader) called(before, last token) Reads {
	name := p.text(last)
	switch last.kind {
	case tokQuoted:
		name = strings.Trim(name, "`\"[]")
	case tokWord:
	default:
		return 0
	}
	switch {
	case equalAny(name, "last_insert_id", "last_insert_rowid", "lastval", "currval", "scope_identity", "ident_current"):
		return ReadsLastKey
	case equalAny(name, "row_count", "found_rows", "rowcount_big"):
		return ReadsCount
	case equalAny(name, "changes", "total_changes"):
		// A table may have this name: INSERT INTO main.changes (a).
		if text := p.text(before); text == "." || equalWord(text, "into") {
			return 0
		}
		return ReadsCount
	}
	return 0
}

// variableRead returns what the variable here reads.
func (p *reader) variableRead() Reads {
	switch {
	case p.isVariable("identity"), p.isVariable("last_insert_id"):
		return ReadsLastKey
	case p.isVariable("rowcount"):
		return ReadsCount
	}
	return 0
}

// wordRead returns what a word reads that is no call: Oracle's seq.CURRVAL and
// SQL%ROWCOUNT, MariaDB's PREVIOUS VALUE FOR seq, and GET DIAGNOSTICS n =
// ROW_COUNT.
func (p *reader) wordRead(before, last token, diagnostics bool) Reads {
	text := p.text(last)
	switch {
	case p.isWord("currval") && text == ".", p.isWord("value") && equalWord(text, "previous"):
		return ReadsLastKey
	case p.isWord("rowcount") && text == "%", p.isWord("row_count") && diagnostics:
		return ReadsCount
	}
	return p.fieldRead(before, last)
}

// fieldRead returns what @@session.`identity` reads.
func (p *reader) fieldRead(before, last token) Reads {
	if p.text(last) != "." || before.kind != tokVar {
		return 0
	}
	return p.variableRead()
}

// executedReads returns what a comment may read that the engine may run, also in
// its own strings and comments.
func (p *reader) executedReads() (reads Reads) {
	s := scanner{d: p.d, q: p.q[:p.tok.end]}
	for s.pos = p.tok.start; s.pos < len(s.q); {
		start := s.pos
		if s.pos++; !s.isPart(s.q[start]) {
			continue
		}
		switch word := s.q[start:s.wordEnd()]; {
		case equalAny(word, "last_insert_id", "identity", "lastval", "previous"):
			reads |= ReadsLastKey
		case equalAny(word, "row_count", "found_rows"):
			reads |= ReadsCount
		}
	}
	return reads
}

// equalAny reports whether text is one of the keywords.
func equalAny(text string, words ...string) bool {
	for _, w := range words {
		if equalWord(text, w) {
			return true
		}
	}
	return false
}
