package effects

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Reads is the set of results of its connection's last statement that a text reads. If
// keyfill ran a statement in between, it would change them.
type Reads uint8

const (
	// ReadsLastKey means that the text reads the last key or number, by LAST_INSERT_ID(),
	// @@last_insert_id, @@identity, last_insert_rowid(), lastval(), currval, PREVIOUS VALUE
	// FOR, SCOPE_IDENTITY() or IDENT_CURRENT().
	ReadsLastKey Reads = 1 << iota
	// ReadsCount means that the text reads a number of rows, by ROW_COUNT(), FOUND_ROWS(),
	// changes(), total_changes(), @@ROWCOUNT, ROWCOUNT_BIG() or SQL%ROWCOUNT.
	ReadsCount
)

// ReadsOf returns which results of its connection's last statement a text reads.
func ReadsOf(d *dialect.Dialect, query string) (reads Reads) {
	p := reader.New(d, query)
	var before, last scan.Token // the two tokens before the current one
	diagnostics := false
	for ; p.Token.Kind != scan.End; p.Advance() {
		switch p.Token.Kind {
		case scan.Punct:
			if p.IsPunct('(') {
				reads |= called(&p, before, last)
			}
		case scan.Variable:
			reads |= VariableRead(&p)
		case scan.Word:
			diagnostics = diagnostics || p.IsWord("diagnostics")
			reads |= wordRead(&p, before, last, diagnostics)
		case scan.Quoted:
			reads |= FieldRead(&p, before, last)
		case scan.Executable:
			reads |= executedReads(&p)
		}
		before, last = last, p.Token
	}
	return reads
}

// called returns which results of the last statement the call of a function reads. The
// function's name is the token last, and the bracket after it is the current token.
func called(p *reader.Reader, before, last scan.Token) Reads {
	name := p.TextOf(last)
	switch last.Kind {
	case scan.Quoted:
		name = strings.Trim(name, "`\"[]")
	case scan.Word:
	default:
		return 0
	}
	switch {
	case scan.EqualAny(name, "last_insert_id", "last_insert_rowid", "lastval", "currval", "scope_identity", "ident_current"):
		return ReadsLastKey
	case scan.EqualAny(name, "row_count", "found_rows", "rowcount_big"):
		return ReadsCount
	case scan.EqualAny(name, "changes", "total_changes"):
		// A table may have this name: INSERT INTO main.changes (a).
		if text := p.TextOf(before); text == "." || scan.EqualWord(text, "into") {
			return 0
		}
		return ReadsCount
	}
	return 0
}

// VariableRead returns which result of the last statement the variable at the current token
// is.
func VariableRead(p *reader.Reader) Reads {
	switch {
	case p.IsVariable("identity"), p.IsVariable("last_insert_id"):
		return ReadsLastKey
	case p.IsVariable("rowcount"):
		return ReadsCount
	}
	return 0
}

// wordRead returns which result of the last statement a word without a call reads:
// seq.CURRVAL and SQL%ROWCOUNT of Oracle, PREVIOUS VALUE FOR seq of MariaDB, and GET
// DIAGNOSTICS n = ROW_COUNT.
func wordRead(p *reader.Reader, before, last scan.Token, diagnostics bool) Reads {
	text := p.TextOf(last)
	switch {
	case p.IsWord("currval") && text == ".", p.IsWord("value") && scan.EqualWord(text, "previous"):
		return ReadsLastKey
	case p.IsWord("rowcount") && text == "%", p.IsWord("row_count") && diagnostics:
		return ReadsCount
	}
	return FieldRead(p, before, last)
}

// FieldRead returns which result of the last statement a field such as @@session.`identity`
// is.
func FieldRead(p *reader.Reader, before, last scan.Token) Reads {
	if p.TextOf(last) != "." || before.Kind != scan.Variable {
		return 0
	}
	return VariableRead(p)
}

// executedReads returns which results of the last statement an executable comment may read.
// Words in strings and comments inside it count too.
func executedReads(p *reader.Reader) (reads Reads) {
	s := scan.Scanner{Dialect: p.Dialect, Text: p.Text[:p.Token.End]}
	for s.Pos = p.Token.Start; s.Pos < len(s.Text); {
		start := s.Pos
		if s.Pos++; !s.IsPart(s.Text[start]) {
			continue
		}
		switch word := s.Text[start:s.WordEnd()]; {
		case scan.EqualAny(word, "last_insert_id", "identity", "lastval", "previous"):
			reads |= ReadsLastKey
		case scan.EqualAny(word, "row_count", "found_rows"):
			reads |= ReadsCount
		}
	}
	return reads
}
