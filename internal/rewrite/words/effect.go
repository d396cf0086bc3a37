package words

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Effect is how a statement changes the transaction, by its first word.
type Effect uint8

// The effects of first words.
const (
	EffectUnknown  Effect = iota // it may begin or end a transaction
	EffectNone                   // nothing
	EffectDefine                 // nothing; its text may hold the body of a routine
	EffectRun                    // nothing; it runs statements that are not in the text
	EffectCommits                // DDL that commits implicitly, unless it concerns the session alone
	EffectBegin                  // BEGIN, which may open a block
	EffectStart                  // START TRANSACTION, or START of something else
	EffectEnd                    // COMMIT and its like
	EffectRollback               // ROLLBACK, also to a savepoint
	EffectSave                   // SAVEPOINT, which begins a transaction if none is open
	EffectRelease                // RELEASE, which ends a transaction that SAVEPOINT began
	EffectPrepare                // PREPARE, also TRANSACTION
	EffectSet                    // SET, which may change when transactions begin
	EffectLoad                   // LOAD DATA and XML, which change nothing, or LOAD INDEX
	EffectBlock                  // a block of statements, whose end is not searched
)

// harmless reports whether a statement changes no transaction, unless a verb that is
// searched for anywhere follows in it.
func (e Effect) harmless() bool {
	return e == EffectNone || e == EffectDefine || e == EffectRun
}

// suspects reports whether a statement that begins with the text may change the
// transaction: it is true unless effects.TransactionOf returns TxUnchanged.
func (v *Vocabulary) suspects(d *dialect.Dialect, text string) bool {
	if text == "" || text[0] == ';' || text[0] == '(' {
		return false
	}
	n := 0
	for n < len(text) && scan.Classes[text[n]]&(scan.ClassLetter|scan.ClassDigit) != 0 {
		n++
	}
	if n < len(text) && strings.IndexByte(d.Lexis.IdentPart, text[n]) >= 0 {
		return true
	}
	// Most texts begin so, and no engine's SELECT changes the transaction.
	word := text[:n]
	if scan.EqualWord(word, "select") || v.writes && (scan.EqualWord(word, "update") || scan.EqualWord(word, "insert") || scan.EqualWord(word, "delete")) {
		return false
	}
	return !v.Word(word).Effect.harmless()
}

// SuspectsBehind reports whether a statement after a semicolon of the text may change the
// transaction. A semicolon may stand in a string or comment, so nothing is scanned after
// it: a comment there is suspect too.
func (v *Vocabulary) SuspectsBehind(d *dialect.Dialect, text string) bool {
	for at := 0; ; {
		n := strings.IndexByte(text[at:], ';')
		if n < 0 {
			return false
		}
		for at += n + 1; at < len(text) && scan.IsSpace(text[at]); at++ {
		}
		if v.suspects(d, text[at:]) {
			return true
		}
	}
}
