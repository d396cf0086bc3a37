package rewrite

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// precedes reads how a statement begins that others may follow in the text. It
// notes whether these can still be read, and whether they run exactly once,
// since an INSERT among them is filled only then. A statement that is not known
// may do anything.
func (p *parser) precedes() {
	p.keepsTables()
	if p.isVerb() {
		return
	}
	e := effectUnknown
	if p.tok.kind == tokWord {
		e = vocabularyOf(p.d).of(p.text(p.tok)).effect
	}
	opens := p.opensBlock()
	switch {
	case opens != plain:
		p.branched = true
		if opens == repeated {
			p.several = ErrLoop
		}
	case p.branched && p.isAny("end", "else"), p.procedural:
	case e == effectBlock && !p.d.Grammar.PLSQL:
		p.several = ErrBlock
	case p.isPunct('('), p.d.Grammar.NoSemicolon && p.isAny("exec", "execute"), p.isWord("analyze"):
	case e == effectUnknown, e == effectRun:
		p.shut = true
		if p.isAny("end", "until") {
			p.stillInside()
		}
	case e == effectSet:
		q := p.reader
		p.shut = p.shut || q.setsCharacters()
	}
}

// stillInside refuses the INSERTs behind a routine, if they were filled: an END, or UNTIL,
// where no statement begins with it says that they are part of its body, which
// was an IF, a CASE or a loop without BEGIN.
func (p *parser) stillInside() {
	if p.bodies == 0 {
		return
	}
	first := p.bodies - 1
	at := slices.IndexFunc(p.inserts[first:], func(in Insert) bool { return in.Query != nil })
	if i := slices.IndexFunc(p.slots, func(s slot) bool { return int(s.insert) >= first }); i >= 0 {
		at = int(p.slots[i].insert) - first
	}
	if at >= 0 {
		in := &p.inserts[first+at]
		p.refuse(in.Target, in.Offset, ErrBlock)
	}
	p.bodies = 0
}

// safeCharacters are the character sets of MySQL and MariaDB in which no byte of
// a longer character is a quote or a backslash: MySQL 8.4, section 12.10.
const safeCharacters = " utf8 utf8mb3 utf8mb4 latin1 ascii binary default "

// setsCharacters reports whether a SET makes the server read what follows in
// another character set, in which other bytes end a string. Where the session's has
// characters of two bytes, any other one does.
func (p *reader) setsCharacters() bool {
	p.advance()
	switch {
	case p.accept("names"):
	case p.isWord("character"), p.isWord("char"), p.isWord("charset"):
		if p.advance(); !p.accept("set") && p.atEnd() {
			return true
		}
	default:
		return false
	}
	name := strings.ToLower(strings.Trim(p.text(p.tok), "'\"`"))
	return p.d.Lexis.Wide != nil || !strings.Contains(safeCharacters, " "+name+" ")
}

// disturbs reports whether the current token may change how the rest of the text
// is read, or whether it runs: a name of such a setting, or what only some
// servers read. MySQL reads each statement when those before it have run (8.4,
// section 7.1.11); Transact-SQL reference, "SET QUOTED_IDENTIFIER", "SET NOEXEC",
// "SET FMTONLY", "SET ROWCOUNT".
func (p *reader) disturbs() bool {
	switch p.tok.kind {
	case tokExec, tokError:
		return true
	case tokWord:
		if p.d.Grammar.NoSemicolon {
			return p.isAny("quoted_identifier", "ansi_defaults", "noexec", "parseonly", "fmtonly",
				"showplan_all", "showplan_text", "showplan_xml", "rowcount")
		}
	case tokVar, tokQuoted:
	default:
		return false
	}
	return p.d.Family == dialect.FamilyMySQL && (p.isVariable("sql_mode") || p.isVariable("character_set_client"))
}

// begins reports whether an INSERT begins here in the middle of a text that needs
// no semicolons.
func (p *parser) begins() bool {
	if !p.d.Grammar.NoSemicolon || !p.isVerb() {
		return false
	}
	h := p.fork().head()
	return h.target != nil || h.name.table != ""
}

// passed notes one token of a statement that is skipped.
func (p *parser) passed() {
	p.shut = p.shut || p.disturbs()
	if !p.d.Grammar.NoSemicolon || p.tok.kind != tokWord {
		return
	}
	p.jumps = p.jumps || p.isWord("goto")
	if p.isWord("declare") {
		p.declare()
	}
}

// barred returns why an INSERT with the head cannot be filled because of what
// stands before it in the text, "" when it can.
func (p *parser) barred(h head) Reason {
	switch {
	case h.unsure != "":
		return h.unsure
	case p.several != ErrSeveral:
		return p.several
	case p.shut:
		return ErrSeveral
	}
	return ""
}

// perStatement reports whether drivers differ in which argument a placeholder of
// the text is: SQLite numbers the placeholders of each statement from the first
// (https://www.sqlite.org/lang_expr.html#varparam), modernc.org/sqlite gives each
// statement the same arguments, and others go on counting. An engine whose ?
// takes a number is one that numbers so.
func (p *parser) perStatement() bool {
	return p.statements > 1 && p.d.Params.QuestionNumber
}

// Unbound returns why the text cannot be prepared with its keys as arguments, ""
// when it can. Its keys go as literals then, and only where it is executed
// directly.
func (pl *Plan) Unbound() Reason {
	switch {
	case pl.unbound != "":
		return pl.unbound
	case pl.Placeholders()+pl.added > pl.Dialect.Params.Max:
		return ErrTooMany
	}
	return ""
}

// Alone reports whether the text is one INSERT and nothing else that gives an
// answer, so that the engine's answer is about that INSERT.
func (pl *Plan) Alone() bool {
	return pl.Statements == 1 && len(pl.Inserts) == 1 && !pl.Inserts[0].Nested && !pl.Inserts[0].Explained
}

// Undoes reports whether another statement of the text may take back or change
// what its INSERTs have stored, by its words outside of strings and comments.
func (pl *Plan) Undoes() bool {
	pl.undoes.once.Do(func() {
		p := newReader(pl.Dialect, pl.query)
		for ; p.tok.kind != tokEnd && !pl.undoes.undoes; p.advance() {
			pl.undoes.undoes = p.tok.kind == tokExec || p.isAny("rollback", "abort", "delete", "truncate", "drop",
				"alter", "replace", "update", "merge", "call", "do", "exec", "execute")
		}
	})
	return pl.undoes.undoes
}
