package plans

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/typeid"
)

// ZeroLiteral reports whether a literal is the zero value that a program sends for "not
// set": 0 for integers; the empty string, the zero UUID, also as hexadecimal digits, and
// the zero TypeID otherwise.
func ZeroLiteral(text string, k scan.Kind, integer bool) bool {
	if k == scan.Number {
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
	return ZeroValue(inner, integer)
}

// ZeroValue reports whether a text, bound or in quotes, is the zero value of a key.
func ZeroValue(text string, integer bool) bool {
	if integer {
		return zeroInteger(text)
	}
	return zeroText(text)
}

// zeroInteger reports whether a text is a number whose digits are zeros, with any sign,
// point and exponent: it is 0 to SQLite, and to MySQL and MariaDB, which convert it.
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

// zeroText reports whether s is empty or a zero UUID, ULID or TypeID as text. A zero TypeID
// is no key whatever its prefix is, since a zero id of another type is no key either.
func zeroText(s string) bool {
	if at := strings.LastIndexByte(s, '_'); at > 0 && typeid.CheckPrefix(s[:at]) == nil {
		s = s[at+1:]
		return len(s) == typeid.SuffixSize && allZero(s)
	}
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
