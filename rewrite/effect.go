package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// effect says how a statement changes the transaction, by its first word.
type effect uint8

const (
	effectUnknown  effect = iota // it may begin, end or leave one
	effectNone                   // nothing
	effectDefine                 // nothing; its text may hold the body of a routine
	effectRun                    // nothing; it runs statements that are not in the text
	effectCommits                // DDL that commits on the side, unless it is of the session alone
	effectBegin                  // BEGIN, which may open a block
	effectStart                  // START TRANSACTION, or START of something else
	effectEnd                    // COMMIT and its like
	effectRollback               // ROLLBACK, also to a savepoint
	effectSave                   // SAVEPOINT that begins a transaction outside of one
	effectRelease                // RELEASE, which ends the one that SAVEPOINT has begun
	effectPrepare                // PREPARE, also TRANSACTION
	effectSet                    // SET, which may change when transactions begin
	effectLoad                   // LOAD DATA and XML, which do nothing, or LOAD INDEX
	effectBlock                  // a block of statements, whose end is not looked for
)

// harmless reports whether a statement changes no transaction but where a verb
// says so that is searched for anywhere.
func (e effect) harmless() bool {
	return e == effectNone || e == effectDefine || e == effectRun
}

// suspects reports whether a statement that begins with the text may change
// the transaction. What [TransactionOf] does not call unchanged is suspect.
func (v *vocabulary) suspects(d *dialect.Dialect, text string) bool {
	if text == "" || text[0] == ';' || text[0] == '(' {
		return false
	}
	n := 0
	for n < len(text) && classes[text[n]]&(classLetter|classDigit) != 0 {
		n++
	}
	if n < len(text) && strings.IndexByte(d.Lexis.IdentPart, text[n]) >= 0 {
		return true
	}
	// Most texts begin so, and no engine has a SELECT that does anything.
	word := text[:n]
	if equalWord(word, "select") || v.writes && (equalWord(word, "update") || equalWord(word, "insert") || equalWord(word, "delete")) {
		return false
	}
	return !v.of(word).effect.harmless()
}

// suspectsBehind is suspects for the statements behind the semicolons of a
// text. A semicolon may stand in a string or comment, so what follows is not
// scanned: a comment there is suspect too.
func (v *vocabulary) suspectsBehind(d *dialect.Dialect, text string) bool {
	for at := 0; ; {
		n := strings.IndexByte(text[at:], ';')
		if n < 0 {
			return false
		}
		for at += n + 1; at < len(text) && isSpace(text[at]); at++ {
		}
		if v.suspects(d, text[at:]) {
			return true
		}
	}
}
