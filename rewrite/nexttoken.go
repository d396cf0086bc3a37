package rewrite

import "github.com/keyfill/keyfill/dialect"

// TokenKind says what a token of a text is to the engine.
type TokenKind uint8

// The kinds of tokens that a reader of scripts tells apart.
const (
	TokenOther      TokenKind = iota // a number, a placeholder, a variable, or one sign
	TokenSpace                       // white space
	TokenComment                     // a comment or hint
	TokenExecutable                  // a comment that the engine runs
	TokenWord                        // an unquoted identifier or keyword
	TokenQuoted                      // a quoted identifier
	TokenString                      // a string, its prefix included
	TokenOpen                        // a string, identifier or comment without an end, or a NUL byte: the rest of the text
)

// NextToken returns the kind of the token that begins at an offset in bytes of a text, and
// the offset behind it. Tokens are read as [Compile] reads them, under the settings of the
// dialect. The offset is where a token begins, and below the length of the text.
func NextToken(d *dialect.Dialect, text string, offset int) (kind TokenKind, end int) {
	s := scanner{d: d, q: text, pos: offset}
	switch s.next().kind {
	case tokSpace:
		kind = TokenSpace
	case tokComment:
		kind = TokenComment
	case tokExec:
		kind = TokenExecutable
	case tokWord:
		kind = TokenWord
	case tokQuoted:
		kind = TokenQuoted
	case tokString:
		kind = TokenString
	case tokError:
		kind = TokenOpen
	}
	return kind, s.pos
}

// EndsInBody reports whether a statement that begins with a text is a definition of a
// routine or trigger that goes on behind the text, whose body the text has not left. On
// SQL Server and Oracle such a definition always goes on.
func EndsInBody(d *dialect.Dialect, text string) bool {
	p := newReader(d, text)
	if !p.isAny("create", "alter") || !p.defines() {
		return false
	}
	if d.Grammar.RoutineIsRest {
		return true
	}
	_, open := p.routineBody()
	return open
}
