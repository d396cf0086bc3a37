package reader

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Hint is how a comment that the engine may run changes an INSERT, if the comment holds
// only words that may stand between the verb and the table's name. Which servers run it
// depends on their version: MariaDB 10.11 runs neither one with a version above its own
// nor /*!50700 to /*!99999 (seen there), and MySQL 8.4 runs those up to its own version
// (section 11.7).
type Hint uint8

// The changes by an executable comment.
const (
	NoHint    Hint = iota // anything else
	sameHint              // the same rows are inserted whether the server reads it or not
	SkipsHint             // rows that exist already may be left out
)

// Hint returns the hint of the current token. INTO changes nothing, since it is optional;
// LOW_PRIORITY, HIGH_PRIORITY and DELAYED only set when the INSERT runs (MySQL 8.4,
// section 15.2.7). With IGNORE the engine may leave rows out. A server that does not read
// the comment fails at a row that exists already, and then no key is reported.
func (p *Reader) Hint() Hint {
	if p.Token.Kind != scan.Executable {
		return NoHint
	}
	text, closed := strings.CutSuffix(p.TextOf(p.Token), "*/")
	if !closed {
		return NoHint
	}
	_, text, _ = strings.Cut(text, "!")
	h := sameHint
	for _, w := range strings.Fields(strings.TrimLeft(text, "0123456789")) {
		switch {
		case scan.EqualWord(w, "ignore"):
			h = SkipsHint
		case scan.EqualWord(w, "into") && p.Dialect.Grammar.IntoOptional, scan.EqualAny(w, p.Dialect.Grammar.Modifiers...):
		default:
			return NoHint
		}
	}
	return h
}
