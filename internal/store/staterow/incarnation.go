package staterow

import (
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
)

const (
	// endMark stands in an incarnation before the row's end.
	endMark = "<"

	// BeginMark stands in the incarnation of a sequence that has begun by StartAt.
	BeginMark = ">"

	// maxIdentity is how many characters of an incarnation identify its row. The column
	// holds these, the two marks, and an end of 19 digits.
	maxIdentity = 19
)

// EndOf returns the first integer that the row of an incarnation leaves to another state,
// 0 where it leaves none.
func EndOf(incarnation string) int64 {
	_, digits, found := strings.Cut(incarnation, endMark)
	if !found {
		return 0
	}
	end, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 1 // the text was not written by this package
	}
	return max(end, 1)
}

// HasBegun reports whether the row of an incarnation is of a sequence that has begun by
// StartAt.
func HasBegun(incarnation string) bool { return strings.Contains(incarnation, BeginMark) }

// WithBegin returns the incarnation of a row whose sequence begins by StartAt.
func WithBegin(incarnation string) string {
	_, end, found := strings.Cut(incarnation, endMark)
	if found {
		end = endMark + end
	}
	return IdentityOf(incarnation) + BeginMark + end
}

// IdentityOf returns the part of an incarnation that stays when the row gets a mark.
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

// WithEnd returns the incarnation of a row that leaves the integers from end on to another
// state.
func WithEnd(incarnation string, end int64) string {
	before := IdentityOf(incarnation)
	if HasBegun(incarnation) {
		before += BeginMark
	}
	return before + endMark + strconv.FormatInt(end, 10)
}

// Server joins the identity of a row with the identity of its server.
func Server(incarnation, server any) string {
	return store.ServerOf(IdentityOf(store.Text(incarnation)), server)
}
