package compile

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/rewrite"
)

// noteBeginning notes what the first words of a statement that is no INSERT show about
// later statements: an INSERT among these is filled only if keyfill can still read it, and
// it runs exactly once. An unknown statement may change anything.
func noteBeginning(p *plans.Draft) {
	e := words.EffectUnknown
	if p.Token.Kind == scan.Word {
		e = words.Of(p.Dialect).Word(p.TextOf(p.Token)).Effect
	}
	switch {
	case noteBlock(p, e):
	case p.IsPunct('('), p.Dialect.Grammar.NoSemicolon && p.IsAny("exec", "execute"), p.IsWord("analyze"):
	case e == words.EffectUnknown, e == words.EffectRun:
		p.Flow.Unsettled = true
		if p.IsAny("end", "until") {
			stillInside(p)
		}
	case e == words.EffectSet:
		q := p.Reader
		p.Flow.Unsettled = p.Flow.Unsettled || setsCharacters(&q)
	}
}

// stillInside refuses the filled INSERTs after a routine. An END or UNTIL that ends no
// known statement shows that the INSERTs belong to the routine's body, which was an IF, a
// CASE or a loop without BEGIN.
func stillInside(p *plans.Draft) {
	if p.Flow.AfterBody == 0 {
		return
	}
	first := p.Flow.AfterBody - 1
	at := slices.IndexFunc(p.Inserts[first:], func(in plans.Insert) bool { return in.Query != nil })
	if i := slices.IndexFunc(p.Slots, func(s plans.Slot) bool { return int(s.Insert) >= first }); i >= 0 {
		at = int(p.Slots[i].Insert) - first
	}
	if at >= 0 {
		in := &p.Inserts[first+at]
		p.Refuse(in.Target, in.Offset, rewrite.ErrBlock)
	}
	p.Flow.AfterBody = 0
}

// safeCharacters are the character sets of MySQL and MariaDB in which no byte of a longer
// character is a quote or a backslash: MySQL 8.4, section 12.10.
const safeCharacters = " utf8 utf8mb3 utf8mb4 latin1 ascii binary default "

// setsCharacters reports whether a SET makes the server read later statements in a
// character set in which strings end at other bytes. If the session's character set has
// two-byte characters, strings end at other bytes in every other set.
func setsCharacters(p *reader.Reader) bool {
	p.Advance()
	switch {
	case p.Accept("names"):
	case p.IsWord("character"), p.IsWord("char"), p.IsWord("charset"):
		if p.Advance(); !p.Accept("set") && p.AtEnd() {
			return true
		}
	default:
		return false
	}
	name := strings.ToLower(strings.Trim(p.TextOf(p.Token), "'\"`"))
	return p.Dialect.Lexis.Wide != nil || !strings.Contains(safeCharacters, " "+name+" ")
}
