package reader

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Hint says how a comment that the engine may run changes an INSERT, if the comment holds
// only words that may stand between the verb and the table's name. The version of a server
// decides whether it runs the comment: MariaDB 10.11 runs neither a comment with a version
// above its own nor /*!50700 to /*!99999 (seen there), and MySQL 8.4 runs comments up to
// its own version (section 11.7).
type Hint uint8

// These are the ways in which an executable comment may change an INSERT.
const (
	NoHint    Hint = iota // no executable comment, or a comment that makes any other change
	sameHint              // the same rows are inserted whether the server runs the comment or not
	SkipsHint             // the engine may skip rows that exist already
)

// Hint returns the hint of the current token. INTO changes nothing, since it is optional;
// LOW_PRIORITY, HIGH_PRIORITY and DELAYED only set when the INSERT runs (MySQL 8.4, section
// 15.2.7). With IGNORE the engine may skip rows. A server that does not run the comment
// fails at a row that exists already, and then no key is reported.
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
