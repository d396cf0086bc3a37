package rewrite

import "strings"

// declare notes the variables that a DECLARE of Transact-SQL makes; they are
// spelled as placeholders are: Transact-SQL reference, "DECLARE
// @local_variable".
func (p *reader) declare() {
	q := *p
	for q.advance(); ; q.advance() {
		if q.tok.kind == tokParam {
			if p.locals == nil {
				p.locals = map[string]bool{}
			}
			p.locals[strings.ToLower(p.text(q.tok))] = true
		}
		for depth := 0; depth > 0 || !q.isPunct(','); q.advance() {
			switch {
			case q.atEnd(), depth <= 0 && q.tok.kind == tokWord && q.startsAnother():
				return
			case q.isPunct('('):
				depth++
			case q.isPunct(')'):
				depth--
			}
		}
	}
}

// startsAnother reports whether the current word begins the next statement of a
// text that needs no semicolons.
func (p *reader) startsAnother() bool {
	return vocabularyOf(p.d).of(p.text(p.tok)).effect != effectUnknown || p.isAny("exec", "execute")
}

// isLocal reports whether a placeholder is a variable that the text itself has
// declared: names are compared as they stand, since @1 and @p1 are two names to
// the server.
func (p *reader) isLocal(placeholder string) bool {
	return p.locals != nil && p.locals[strings.ToLower(placeholder)]
}
