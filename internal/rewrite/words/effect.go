package words

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Effect says how a statement changes the transaction, as far as its first word shows.
type Effect uint8

// The effects of first words.
const (
	EffectUnknown  Effect = iota // the statement may begin or end a transaction
	EffectNone                   // the statement leaves the transaction as it is
	EffectDefine                 // no change; the statement may hold the body of a routine
	EffectRun                    // no change; the statement runs other statements that are not in the text
	EffectCommits                // DDL that commits implicitly, unless it concerns the session alone
	EffectBegin                  // BEGIN, which may open a transaction or a block
	EffectStart                  // START TRANSACTION, or START followed by another word
	EffectEnd                    // COMMIT, and words with the same effect
	EffectRollback               // ROLLBACK of the transaction, or to a savepoint
	EffectSave                   // SAVEPOINT, which begins a transaction if none is open
	EffectRelease                // RELEASE, which ends a transaction that SAVEPOINT began
	EffectPrepare                // PREPARE of a statement, or PREPARE TRANSACTION
	EffectSet                    // SET, which may change when transactions begin
	EffectLoad                   // LOAD DATA and LOAD XML, which leave the transaction as it is, or LOAD INDEX, which may change it
	EffectBlock                  // a block of statements: the effect is unknown, since its end is not searched
)

// harmless reports whether a statement that begins with a word of this effect leaves the
// transaction as it is. A verb later in the statement, which Search finds anywhere, may
// still change it.
func (e Effect) harmless() bool {
	return e == EffectNone || e == EffectDefine || e == EffectRun
}

// suspects reports whether a statement that begins with the text may change the
// transaction. It is true whenever effects.TransactionOf would return anything but
// TxUnchanged.
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
	// Most texts begin with one of these words, and SELECT changes the transaction in no
	// engine.
	word := text[:n]
	if scan.EqualWord(word, "select") || v.writes && (scan.EqualWord(word, "update") || scan.EqualWord(word, "insert") || scan.EqualWord(word, "delete")) {
		return false
	}
	return !v.Word(word).Effect.harmless()
}

// SuspectsBehind reports whether a statement after a semicolon in the text may change the
// transaction. A semicolon may stand in a string or comment, so nothing is scanned after
// it: if a comment follows a semicolon, SuspectsBehind returns true.
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
