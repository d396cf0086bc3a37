package effects

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// passDefinition moves past a DDL statement, or a GRANT or REVOKE, and reports whether the
// text ends inside the body of a routine or trigger.
func passDefinition(p *reader.Reader) (open bool) {
	switch {
	case !p.IsAny("create", "alter") || !p.Defines():
		for depth := 0; p.Token.Kind != scan.End && (depth > 0 || !p.IsPunct(';')); p.Advance() {
			switch {
			case p.IsPunct('('):
				depth++
			case p.IsPunct(')'):
				depth--
			}
		}
	case p.Dialect.Grammar.RoutineIsRest:
		for p.Token.Kind != scan.End {
			p.Advance()
		}
	default:
		_, open = p.RoutineBody()
	}
	return open
}

// EndsInBody reports whether a text begins with the definition of a routine or trigger and
// ends inside its body. On SQL Server and Oracle every text with such a definition does.
func EndsInBody(d *dialect.Dialect, text string) bool {
	p := reader.New(d, text)
	if !p.IsAny("create", "alter") || !p.Defines() {
		return false
	}
	if d.Grammar.RoutineIsRest {
		return true
	}
	_, open := p.RoutineBody()
	return open
}
