package inserts

import (
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/rewrite"
)

// disturbs reports whether the current token may change how the rest of the text is read,
// or whether it runs: the name of a setting that does so, or a token that only some servers
// read. MySQL reads each statement after the previous ones ran (8.4, section 7.1.11);
// Transact-SQL reference, "SET QUOTED_IDENTIFIER", "SET NOEXEC", "SET FMTONLY", "SET
// ROWCOUNT".
func disturbs(p *reader.Reader) bool {
	switch p.Token.Kind {
	case scan.Executable, scan.Broken:
		return true
	case scan.Word:
		if p.Dialect.Grammar.NoSemicolon {
			return p.IsAny("quoted_identifier", "ansi_defaults", "noexec", "parseonly", "fmtonly",
				"showplan_all", "showplan_text", "showplan_xml", "rowcount")
		}
	case scan.Variable, scan.Quoted:
	default:
		return false
	}
	for _, name := range words.Of(p.Dialect).Rereads {
		if p.IsVariable(name) {
			return true
		}
	}
	return false
}

// BeginsInsert reports whether an INSERT begins at the current token, in the middle of a
// text whose statements need no semicolons.
func BeginsInsert(p *plans.Draft) bool {
	if !p.Dialect.Grammar.NoSemicolon || !p.IsVerb() {
		return false
	}
	h := ReadHead(Fork(p))
	return h.Target != nil || h.Name.Table != ""
}

// BeginsStatement reports whether an INSERT, or a block of statements, begins here in the
// middle of a text that needs no semicolons.
func BeginsStatement(p *plans.Draft) bool {
	return BeginsInsert(p) || OpensBlock(&p.Reader) != Unbranched
}

// NotePassed notes how one token of a skipped statement affects the rest of the text.
func NotePassed(p *plans.Draft) {
	p.Flow.Unsettled = p.Flow.Unsettled || disturbs(&p.Reader)
	if !p.Dialect.Grammar.NoSemicolon || p.Token.Kind != scan.Word {
		return
	}
	p.Flow.MayRepeat = p.Flow.MayRepeat || p.IsWord("goto")
	if p.IsWord("declare") {
		p.Declare()
	}
}

// BarredReason returns why an INSERT cannot be filled because of earlier statements of
// the text; empty if it can.
func BarredReason(p *plans.Draft, h Head) rewrite.Reason {
	switch {
	case h.unsure != "":
		return h.unsure
	case p.Flow.SeveralReason != rewrite.ErrSeveral:
		return p.Flow.SeveralReason
	case p.Flow.Unsettled:
		return rewrite.ErrSeveral
	}
	return ""
}

// skipWords are the words that matter in a skipped statement: words that may begin an
// INSERT, or affect how the rest is read, or whether and how often it runs.
var skipWords = scan.NewWordSet(`insert replace merge output quoted_identifier ansi_defaults noexec parseonly fmtonly
	showplan_all showplan_text showplan_xml rowcount sql_mode character_set_client goto declare if begin while return`)

// Hurries reports whether the rest of the statement need not be read: the text is refused
// already, and only a semicolon ends the statement.
func Hurries(p *plans.Draft) bool {
	return p.Refusal != nil && p.Limit == 0 && !p.Dialect.Grammar.NoSemicolon
}

// hurry moves to the end of a statement that need not be read: see [Hurries].
func hurry(p *reader.Reader) {
	for p.Token.Kind != scan.End && !p.IsPunct(';') {
		p.PrevEnd = p.Token.End
		for p.Pos < len(p.Text) {
			c := p.Text[p.Pos]
			if scan.Classes[c]&(scan.ClassPunct|scan.ClassSpace) == 0 || c == ';' {
				break
			}
			if p.Pos++; scan.Classes[c]&scan.ClassPunct != 0 {
				p.PrevEnd = p.Pos
			}
		}
		p.Read()
	}
}

// InnerReason returns the reason to refuse an INSERT that does not begin the statement.
func InnerReason(p *plans.Draft) rewrite.Reason {
	if p.Dialect.Grammar.NoSemicolon || p.Flow.SeveralReason != rewrite.ErrSeveral {
		return p.Flow.SeveralReason
	}
	return rewrite.ErrCTE
}

// Skip moves to the end of the statement. It refuses an INSERT into a configured table that
// it finds there, for the reason.
func Skip(p *plans.Draft, reason rewrite.Reason) {
	if Hurries(p) {
		hurry(&p.Reader)
		return
	}
	for depth := 0; !p.AtEnd(); p.Advance() {
		if p.Token.Kind == scan.Word && !p.IsIn(skipWords) {
			continue
		}
		NotePassed(p)
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case depth <= 0 && reason == rewrite.ErrSeveral && BeginsStatement(p):
			return
		case depth > 0 && reason == rewrite.ErrSeveral:
			JudgeInner(p, rewrite.ErrCTE)
		default:
			JudgeInner(p, reason)
		}
	}
}
