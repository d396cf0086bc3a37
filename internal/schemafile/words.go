package schemafile

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// token is a piece of a statement that is neither space nor a comment.
type token struct {
	kind scan.Kind
	text string // as it is written
}

// tokensOf returns the tokens of a statement. The content of a comment that the engine runs
// counts as if it were outside of the comment.
func tokensOf(d *dialect.Dialect, text string) (all []token) {
	for at := 0; at < len(text); {
		kind, end := scan.NextToken(d, text, at)
		piece := text[at:end]
		at = end
		switch kind {
		case scan.Space, scan.Comment:
		case scan.Executable:
			_, inner, _ := strings.Cut(strings.TrimSuffix(piece, "*/"), "!")
			all = append(all, tokensOf(d, strings.TrimLeft(inner, "0123456789"))...)
		default:
			all = append(all, token{kind, piece})
		}
	}
	return all
}

// statement reads the tokens of one statement, beginning with the first.
type statement struct {
	d      *dialect.Dialect
	tokens []token
	at     int
}

// isEnd reports whether there is no token left.
func (s *statement) isEnd() bool { return s.at >= len(s.tokens) }

// is reports whether the next tokens are the given words or signs, in any case.
func (s *statement) is(words ...string) bool {
	for i, word := range words {
		if s.at+i >= len(s.tokens) {
			return false
		}
		t := s.tokens[s.at+i]
		if t.kind != scan.Word && !t.kind.IsOther() || !strings.EqualFold(t.text, word) {
			return false
		}
	}
	return true
}

// isAny reports whether the next token is one of the given words, in any case.
func (s *statement) isAny(words ...string) bool {
	for _, word := range words {
		if s.is(word) {
			return true
		}
	}
	return false
}

// accept consumes the given words if they are next, and reports whether they are.
func (s *statement) accept(words ...string) bool {
	if !s.is(words...) {
		return false
	}
	s.at += len(words)
	return true
}

// next consumes and returns the next token.
func (s *statement) next() token {
	if s.isEnd() {
		return token{}
	}
	s.at++
	return s.tokens[s.at-1]
}

// word consumes the next token if it is a word, and returns it in lower case. It returns an
// empty text if the token is no word.
func (s *statement) word() string {
	if s.isEnd() || s.tokens[s.at].kind != scan.Word {
		return ""
	}
	return strings.ToLower(s.next().text)
}

// isName reports whether the next token may be a name.
func (s *statement) isName() bool {
	if s.isEnd() {
		return false
	}
	switch t := s.tokens[s.at]; t.kind {
	case scan.Word, scan.Quoted:
		return true
	case scan.String:
		return t.text[0] == '"' || s.d.Grammar.StringNames && t.text[0] == '\''
	}
	return false
}

// name consumes the next name, and returns it as the engine stores it. It returns an empty
// text if no name is next.
func (s *statement) name() string {
	if !s.isName() {
		return ""
	}
	t := s.next()
	if t.kind != scan.Word {
		end := t.text[len(t.text)-1:]
		inner := t.text[1 : len(t.text)-1]
		return strings.ReplaceAll(inner, end+end, end)
	}
	switch s.d.Folding {
	case dialect.FoldLower, dialect.FoldUpper:
		return s.d.Fold(t.text, false)
	}
	return t.text
}

// qualified consumes a name with or without a schema, and returns both parts.
func (s *statement) qualified() (schema, name string) {
	name = s.name()
	for s.accept(".") {
		schema, name = name, s.name()
	}
	return schema, name
}

// brackets consumes a pair of brackets that begins at the next token, and returns the
// tokens between them.
func (s *statement) brackets() ([]token, bool) {
	if !s.accept("(") {
		return nil, false
	}
	begin, depth := s.at, 1
	for !s.isEnd() {
		switch t := s.next(); {
		case !t.kind.IsOther():
		case t.text == "(":
			depth++
		case t.text == ")":
			if depth--; depth == 0 {
				return s.tokens[begin : s.at-1], true
			}
		}
	}
	return s.tokens[begin:], true
}

// skip consumes one token, or brackets with their content.
func (s *statement) skip() {
	if _, ok := s.brackets(); !ok {
		s.next()
	}
}

// parts splits tokens at the commas that are outside of brackets.
func parts(tokens []token) (all [][]token) {
	begin, depth := 0, 0
	for i, t := range tokens {
		if !t.kind.IsOther() {
			continue
		}
		switch t.text {
		case "(":
			depth++
		case ")":
			depth--
		case ",":
			if depth == 0 {
				all = append(all, tokens[begin:i])
				begin = i + 1
			}
		}
	}
	if begin < len(tokens) {
		all = append(all, tokens[begin:])
	}
	return all
}

// textOf returns tokens as a text, with a space between two words.
func textOf(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && !t.kind.IsOther() && !tokens[i-1].kind.IsOther() {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}
