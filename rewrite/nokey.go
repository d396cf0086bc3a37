package rewrite

import "strings"

// What counts as no key: NULL, and what a program sends for "not set", which is 0 for
// integers and the empty string or the zero UUID otherwise. A literal counts with any casts,
// as uuid '…' and as the argument of a function that reads a UUID's text.

// nothing says why a value is no key.
type nothing uint8

const (
	someKey nothing = iota // it may be one
	nullKey
	zeroKey
)

// isNothing reports whether a value of several tokens is no key.
func (p *reader) isNothing(v value, k *Key) bool {
	q := p.within(v.span)
	return q.nothing(k, 0) != someKey && q.tok.kind == tokEnd
}

// nothing moves past a value, and returns why it is no key.
func (p *reader) nothing(k *Key, depth int) nothing {
	if depth > maxBrackets {
		return someKey
	}
	n := p.withoutCasts(k, depth)
	for p.d.Lexis.ColonCasts && p.isPunct(':') {
		if p.advance(); !p.acceptPunct(':') {
			return someKey
		}
		n = p.castTo(n)
	}
	return n
}

// withoutCasts is nothing for a value to the point where ::type may follow.
func (p *reader) withoutCasts(k *Key, depth int) (n nothing) {
	switch {
	case p.acceptPunct('('):
		n = p.nothing(k, depth+1)
	case p.accept("cast"):
		if p.acceptPunct('(') {
			n = p.nothing(k, depth+1)
		}
		if !p.accept("as") {
			return someKey
		}
		n = p.castTo(n)
	case p.isWord("convert") && p.d.Grammar.NoSemicolon:
		p.advance()
		if p.acceptPunct('('); p.castTo(zeroKey) == zeroKey && p.acceptPunct(',') {
			n = p.nothing(k, depth+1)
		}
	case p.isAny("uuid_to_bin", "hextoraw", "unhex") && p.nextIsPunct('('):
		p.advance()
		p.advance()
		if p.tok.kind == tokString && p.text(p.tok) != "''" && !k.Integer {
			n = p.literal(k)
		}
		if p.acceptPunct(',') {
			p.advance() // UUID_TO_BIN's swap_flag
		}
	case p.tok.kind == tokWord && p.d.Lexis.ColonCasts && !p.isWord("null"):
		// uuid '…', bigint '0'.
		if p.castTo(zeroKey) == zeroKey && p.tok.kind == tokString {
			return p.literal(k)
		}
		return someKey
	default:
		return p.literal(k)
	}
	if !p.acceptPunct(')') {
		return someKey
	}
	return n
}

// literal moves past a literal, and returns why it is no key.
func (p *reader) literal(k *Key) nothing {
	sign := p.acceptPunct('-') || p.acceptPunct('+')
	t := p.tok
	p.advance()
	switch {
	case t.kind == tokNumber, t.kind == tokString && !sign:
		if k.Fill&FillZero != 0 && zeroLiteral(p.text(t), t.kind, k.Integer) {
			return zeroKey
		}
	case t.kind == tokWord && !sign && equalWord(p.text(t), "null") && k.Fill&FillNull != 0:
		return nullKey
	case t.kind == tokWord && !sign && p.isFalse(t, k):
		return zeroKey
	}
	return someKey
}

// isFalse reports whether a word is FALSE, the number 0, in the place of a key that is an
// integer.
func (p *reader) isFalse(t token, k *Key) bool {
	return p.d.Grammar.FalseIsZero && k.Integer && k.Fill&FillZero != 0 && equalWord(p.text(t), "false")
}

// castTo moves past the name of a type, and returns why a value is no key after a cast to it.
// The characters of a zero UUID are another value as bytes.
func (p *reader) castTo(n nothing) nothing {
	at := p.tok
	for p.tok.kind == tokWord && !p.isWord("as") || p.tok.kind == tokQuoted || p.isPunct('.') {
		if n == zeroKey && p.isAny("binary", "varbinary", "raw", "bytea", "blob") {
			n = someKey
		}
		p.advance()
	}
	for p.balanced('(', ')') || p.balanced('[', ']') {
	}
	if p.tok == at {
		return someKey
	}
	return n
}

// uncall forgets that a value may be a set: its place holds a key.
func (in *insertState) uncall(v value) {
	if n := len(in.calls); n > 0 && in.calls[n-1] == v.span {
		in.calls = in.calls[:n-1]
	}
}

// zeroLiteral reports whether a literal is the zero value that a program sends
// for "not set": 0 for integers; the empty string and the zero UUID otherwise, also as
// hexadecimal digits.
func zeroLiteral(text string, k kind, integer bool) bool {
	if k == tokNumber {
		text = strings.TrimLeft(strings.TrimLeft(text, "+-"), " \t\r\n")
		if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
			return allZero(text[2:]) && (integer || len(text) == 34)
		}
		return integer && zeroInteger(text)
	}
	prefix := byte(0)
	if text[0] != '\'' && text[0] != '"' {
		prefix, text = text[0]|0x20, text[1:]
	}
	if len(text) < 2 || prefix != 0 && prefix != 'n' && prefix != 'x' && prefix != 'e' {
		return false
	}
	inner := text[1 : len(text)-1]
	if prefix == 'x' {
		return allZero(inner) && (integer || len(inner) == 32)
	}
	return zeroValue(inner, integer)
}

// zeroValue reports whether a text, bound or in quotes, is the zero value of a key.
func zeroValue(text string, integer bool) bool {
	if integer {
		return zeroInteger(text)
	}
	return zeroText(text)
}

// zeroInteger reports whether a text is a number whose digits are zeros, with any sign, point
// and exponent: to MySQL and MariaDB, which convert it, and to SQLite it is 0.
func zeroInteger(s string) bool {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	if digits, exponent, has := strings.Cut(strings.ToLower(s), "e"); has {
		exponent = strings.TrimLeft(exponent, "+-")
		if exponent == "" || strings.Trim(exponent, "0123456789") != "" {
			return false
		}
		s = digits
	}
	return allZero(strings.Replace(s, ".", "", 1))
}

// zeroText reports whether s is empty or a zero UUID or ULID as text.
func zeroText(s string) bool {
	switch len(s) {
	case 0:
		return true
	case 26, 32:
		return allZero(s)
	case 36:
		return s == "00000000-0000-0000-0000-000000000000"
	}
	return false
}

// allZero reports whether s is one or more zeros.
func allZero(s string) bool {
	return s != "" && strings.Trim(s, "0") == ""
}
