package staterow

import (
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
)

const (
	// endMark precedes the end of a row in its incarnation (the random text that
	// identifies a row).
	endMark = "<"

	// BeginMark is part of the incarnation (the random text) of a row whose sequence was
	// begun by StartAt.
	BeginMark = ">"

	// maxIdentity is how many characters of an incarnation (a row's random text) identify
	// the row. The column has room for these characters, for [BeginMark] and endMark, and
	// for an end of 19 digits.
	maxIdentity = 19
)

// EndOf returns the first integer that a row leaves to another stored counter, which
// its incarnation (its random text) contains; 0 if it leaves none.
func EndOf(incarnation string) int64 {
	_, digits, found := strings.Cut(incarnation, endMark)
	if !found {
		return 0
	}
	end, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 1 // the text was not written by this package, so the row keeps no integer
	}
	return max(end, 1)
}

// HasBegun reports whether the row with this incarnation (this random text) belongs to
// a sequence that was begun by StartAt.
func HasBegun(incarnation string) bool { return strings.Contains(incarnation, BeginMark) }

// WithBegin returns the incarnation (a row's random text), marked as belonging to a
// sequence that was begun by StartAt.
func WithBegin(incarnation string) string {
	_, end, found := strings.Cut(incarnation, endMark)
	if found {
		end = endMark + end
	}
	return IdentityOf(incarnation) + BeginMark + end
}

// IdentityOf returns the part of an incarnation (a row's random text) that identifies
// the row, without its marks.
func IdentityOf(incarnation string) string {
	text := incarnation
	if i := strings.IndexAny(text, BeginMark+endMark); i >= 0 {
		text = text[:i]
	}
	if characters := []rune(text); len(characters) > maxIdentity {
		return string(characters[:maxIdentity])
	}
	return text
}

// WithEnd returns the incarnation (the random text) of a row that leaves the integers
// from end on to another stored counter.
func WithEnd(incarnation string, end int64) string {
	before := IdentityOf(incarnation)
	if HasBegun(incarnation) {
		before += BeginMark
	}
	return before + endMark + strconv.FormatInt(end, 10)
}

// Server joins the identity of a row, from its incarnation (its random text), and the
// identity of its server into one text.
func Server(incarnation, server any) string {
	return store.ServerOf(IdentityOf(store.Text(incarnation)), server)
}
