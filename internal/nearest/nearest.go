// Package nearest finds the known name that an unknown name was probably meant to be.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// most is how many names Names returns at most.
const most = 3

// Names returns the names that got was probably meant to be, the nearest first and at most
// three: names that differ by spelling errors, in whatever case, and names with one part
// more or less, as orders and shop_orders.
func Names(got string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	var all []scored
	lower := strings.ToLower(got)
	for _, name := range names {
		other := strings.ToLower(name)
		limit := max(len(lower), len(other)) / 3
		score := limit + 1
		if d := len(lower) - len(other); d <= limit && -d <= limit {
			score = distance(lower, other)
		}
		switch {
		case score <= limit && score < len(lower):
			all = append(all, scored{name, score})
		case isPartOf(lower, other):
			all = append(all, scored{name, len(lower) + len(other)}) // after all names with spelling errors
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name))
	})
	var near []string
	for _, one := range all[:min(len(all), most)] {
		near = append(near, one.name)
	}
	return near
}

// isPartOf reports whether one name is the other with a word before or after it.
func isPartOf(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= minBeginning && (strings.HasPrefix(b, a+"_") || strings.HasSuffix(b, "_"+a))
}

// DidYouMean returns `; did you mean "a" or "b"?` for the names that got was probably meant
// to be, empty if there are none.
func DidYouMean(got string, names []string) string {
	near := Names(got, names)
	if len(near) == 0 {
		return ""
	}
	return `; did you mean "` + strings.Join(near, `" or "`) + `"?`
}

// minBeginning is how many bytes a word must have to count as the beginning of another one.
const minBeginning = 4

// Word returns a word that begins with got, else a word of which got is a misspelling, else
// a word with which got begins, else an empty text.
func Word(got string, words []string) string {
	got = strings.ToLower(got)
	best, bound := "", 2
	if len(got) >= minBeginning {
		for _, w := range words {
			if strings.HasPrefix(w, got) {
				return w // finds uuidv7 for uuid, although ulid is nearer
			}
		}
	}
	for _, w := range words {
		limit := min(bound, len(w)/3)
		if len(got)-len(w) > limit || len(w)-len(got) > limit {
			continue
		}
		if n := distance(got, w); n <= limit {
			best, bound = w, n-1
		}
	}
	for _, w := range words {
		if best == "" && len(w) >= minBeginning && strings.HasPrefix(got, w) {
			best = w // finds postgres for postgresql
		}
	}
	return best
}

// distance returns how many bytes must be added, left out, replaced or swapped
// with their neighbour to turn a into b (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			n := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				n = min(n, rows[i-2][j-2]+1)
			}
			rows[i][j] = n
		}
	}
	return rows[len(a)][len(b)]
}

// OneLetter reports whether two words differ by one letter: one is added, left out or
// replaced, or has changed places with its neighbour.
func OneLetter(a, b string) bool {
	return len(a)-len(b) <= 1 && len(b)-len(a) <= 1 && a != b && distance(a, b) == 1
}
