package explainreport

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// SQL may hold any bytes. encoding/json turns bytes that are not UTF-8 into U+FFFD, so that
// the text sent would differ from the text received. The functions of this file keep such
// bytes: a raw byte stays as it is, and an escaped half of a surrogate pair (Python's form
// of a byte that it cannot decode) is read as the three bytes of its code point, and
// escaped again in the output.

// jsonUnquote returns the text of a string of valid JSON, quotes included.
func jsonUnquote(raw []byte) string {
	raw = raw[1 : len(raw)-1]
	at := indexBackslash(raw)
	if at < 0 {
		return string(raw)
	}
	b := append(make([]byte, 0, len(raw)), raw[:at]...)
	for at < len(raw) {
		c := raw[at]
		if c != '\\' {
			b = append(b, c)
			at++
			continue
		}
		c = raw[at+1]
		at += 2
		switch c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r := hex4(raw[at:])
			at += 4
			if at+6 <= len(raw) && raw[at] == '\\' && raw[at+1] == 'u' {
				if pair := utf16.DecodeRune(r, hex4(raw[at+2:])); pair != utf8.RuneError {
					r = pair
					at += 6
				}
			}
			b = appendCodePoint(b, r)
		default: // c is a quote, a backslash or a slash
			b = append(b, c)
		}
	}
	return string(b)
}

func indexBackslash(b []byte) int {
	for i, c := range b {
		if c == '\\' {
			return i
		}
	}
	return -1
}

// hex4 returns the number that four hexadecimal digits write.
func hex4(b []byte) rune {
	n, _ := strconv.ParseUint(string(b[:4]), 16, 16) // json.Unmarshal has checked the digits
	return rune(n)
}

// appendCodePoint appends the UTF-8 form of a code point, even if it is half of a surrogate
// pair.
func appendCodePoint(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(b, r)
}

// appendJSONString appends s as a string of JSON. It escapes the characters that must be
// escaped and halves of surrogate pairs. Unlike encoding/json, it does not escape <, > and
// &.
func appendJSONString(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && !isHalfAt(s, i) {
			continue
		}
		b = append(b, s[done:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		case 0xed:
			half := 0xd000 | rune(s[i+1]&0x3f)<<6 | rune(s[i+2]&0x3f)
			b = append(b, '\\', 'u', 'd', digits[half>>8&0xf], digits[half>>4&0xf], digits[half&0xf])
			i += 2
		default:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
		}
		done = i + 1
	}
	b = append(b, s[done:]...)
	return append(b, '"')
}

// isHalfAt reports whether the bytes at i are half of a surrogate pair, U+D800
// to U+DFFF.
func isHalfAt(s string, i int) bool {
	return s[i] == 0xed && i+2 < len(s) && s[i+1]&0xe0 == 0xa0 && s[i+2]&0xc0 == 0x80
}
