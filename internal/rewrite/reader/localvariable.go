package reader

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// Declare notes the variables that a DECLARE of Transact-SQL makes, because they are
// written like placeholders: Transact-SQL reference, "DECLARE @local_variable".
func (p *Reader) Declare() {
	q := *p
	for q.Advance(); ; q.Advance() {
		if q.Token.Kind == scan.Placeholder {
			if p.locals == nil {
				p.locals = map[string]bool{}
			}
			p.locals[strings.ToLower(p.TextOf(q.Token))] = true
		}
		for depth := 0; depth > 0 || !q.IsPunct(','); q.Advance() {
			switch {
			case q.AtEnd(), depth <= 0 && q.Token.Kind == scan.Word && q.startsAnother():
				return
			case q.IsPunct('('):
				depth++
			case q.IsPunct(')'):
				depth--
			}
		}
	}
}

// startsAnother reports whether the current word begins the next statement of a
// text that needs no semicolons.
func (p *Reader) startsAnother() bool {
	return words.Of(p.Dialect).Word(p.TextOf(p.Token)).Effect != words.EffectUnknown || p.IsAny("exec", "execute")
}

// IsLocal reports whether a placeholder is a variable that the text itself has declared.
// Names are compared in full, since @1 and @p1 are two names to the server.
func (p *Reader) IsLocal(placeholder string) bool {
	return p.locals != nil && p.locals[strings.ToLower(placeholder)]
}
