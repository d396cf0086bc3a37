package store

import (
	"strconv"
	"strings"
)

const (
	// endMark stands in an incarnation before the row's end.
	endMark = "<"

	// beginMark stands in the incarnation of a sequence that has begun by StartAt.
	beginMark = ">"

	// maxIdentity is how many characters of an incarnation tell its row from others. The
	// column holds these, the two marks, and an end of 19 digits.
	maxIdentity = 19
)

// endOf returns the first integer that the row of an incarnation leaves to another state,
// 0 where it leaves none.
func endOf(incarnation string) int64 {
	_, digits, found := strings.Cut(incarnation, endMark)
	if !found {
		return 0
	}
	end, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 1 // what stands there was not written by this package
	}
	return max(end, 1)
}

// hasBegun reports whether the row of an incarnation is of a sequence that has begun by
// StartAt.
func hasBegun(incarnation string) bool { return strings.Contains(incarnation, beginMark) }

// withBegin returns the incarnation of a row whose sequence begins by StartAt.
func withBegin(incarnation string) string {
	_, end, found := strings.Cut(incarnation, endMark)
	if found {
		end = endMark + end
	}
	return identityOf(incarnation) + beginMark + end
}

// identityOf returns the part of an incarnation that stays when the row gets a mark.
func identityOf(incarnation string) string {
	text := incarnation
	if i := strings.IndexAny(text, beginMark+endMark); i >= 0 {
		text = text[:i]
	}
	if characters := []rune(text); len(characters) > maxIdentity {
		return string(characters[:maxIdentity])
	}
	return text
}

// withEnd returns the incarnation of a row that leaves the integers from end on to another
// state.
func withEnd(incarnation string, end int64) string {
	before := identityOf(incarnation)
	if hasBegun(incarnation) {
		before += beginMark
	}
	return before + endMark + strconv.FormatInt(end, 10)
}

// rowServer joins what tells a row from another one with what tells its server from
// others.
func rowServer(incarnation, server any) string {
	return serverOf(identityOf(toText(incarnation)), server)
}
