// Package glob compares names of tables that may be patterns, with * for any characters and
// ? for one.
package glob

import "unicode/utf8"

// Pattern is one part of a table's name, folded as the engine compares names. If Wild
// is set, * stands for any characters and ? for one. The zero value is a missing part.
type Pattern struct {
	Text string
	Wild bool
}

// Match reports whether s matches p.
func (p Pattern) Match(s string) bool {
	if !p.Wild {
		return p.Text == s
	}
	var (
		t         = p.Text
		i, j      = 0, 0  // t[i:] and s[j:] are left to compare
		star, end = -1, 0 // the index of the last *, or -1, and the end of the text in s that it stands for
	)
	for j < len(s) {
		switch {
		case i < len(t) && t[i] == '*':
			star, end = i, j
			i++
		case i < len(t) && t[i] == '?':
			_, n := utf8.DecodeRuneInString(s[j:])
			i, j = i+1, j+n
		case i < len(t) && t[i] == s[j]:
			i, j = i+1, j+1
		case star >= 0: // let the last * stand for one more character
			_, n := utf8.DecodeRuneInString(s[end:])
			end += n
			i, j = star+1, end
		default:
			return false
		}
	}
	for i < len(t) && t[i] == '*' {
		i++
	}
	return i == len(t)
}

// Literals returns how many characters of p are not wildcards.
func (p Pattern) Literals() int {
	n := 0
	for _, c := range p.Text {
		if !p.Wild || c != '*' && c != '?' {
			n++
		}
	}
	return n
}

// The wildcards of a pattern, beside its characters.
const (
	anyText = -1 - iota // *
	anyChar             // ?
)

// symbols returns the characters of p, with anyText for * and anyChar for ?.
func (p Pattern) symbols() []rune {
	symbols := []rune(p.Text)
	for i, c := range symbols {
		switch {
		case p.Wild && c == '*':
			symbols[i] = anyText
		case p.Wild && c == '?':
			symbols[i] = anyChar
		}
	}
	return symbols
}

// Meets reports whether some text matches both p and q.
//
// After each iteration of the outer loop, reach[j] reports whether some text matches
// both the symbols of p so far and the first j symbols of q.
func (p Pattern) Meets(q Pattern) bool {
	if p.differs(q) {
		return false // nearly all pairs of patterns differ in these characters, so the costly loop below rarely runs
	}
	a, b := p.symbols(), q.symbols()
	reach := make([]bool, len(b)+1)
	reach[0] = true
	for j := 0; j < len(b) && b[j] == anyText; j++ {
		reach[j+1] = true
	}
	next := make([]bool, len(b)+1)
	for _, c := range a {
		clear(next)
		some := false
		for j := range next {
			if j > 0 && next[j-1] && (c == anyText || b[j-1] == anyText) {
				next[j] = true // the * of p stands for b[j-1], or the * of q for nothing
			}
			if reach[j] && (c == anyText || j > 0 && b[j-1] == anyText) {
				next[j] = true // the * of p stands for nothing, or the * of q for c too
			}
			if j > 0 && reach[j-1] && sameChar(c, b[j-1]) {
				next[j] = true
			}
			some = some || next[j]
		}
		if !some {
			return false
		}
		reach, next = next, reach
	}
	return reach[len(b)]
}

// differs reports whether the patterns have different characters before their first or
// after their last wildcards, so that no text matches both. If differs returns false, some
// text may or may not match both.
func (p Pattern) differs(q Pattern) bool {
	n := min(len(p.Text), len(q.Text))
	for i := 0; i < n && !p.isWild(i) && !q.isWild(i); i++ {
		if p.Text[i] != q.Text[i] {
			return true
		}
	}
	for i := 1; i <= n; i++ {
		a, b := len(p.Text)-i, len(q.Text)-i
		if p.isWild(a) || q.isWild(b) {
			break
		}
		if p.Text[a] != q.Text[b] {
			return true
		}
	}
	return false
}

// isWild reports whether the byte at i is a wildcard.
func (p Pattern) isWild(i int) bool {
	return p.Wild && (p.Text[i] == '*' || p.Text[i] == '?')
}

// sameChar reports whether a single character can match both a and b.
func sameChar(a, b rune) bool {
	return a != anyText && b != anyText && (a == b || a == anyChar || b == anyChar)
}
