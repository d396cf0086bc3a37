package reader

import (
	"slices"
	"strconv"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Style says how drivers find the argument of a placeholder.
type Style uint8

// The styles of placeholders.
const (
	StylePosition Style = 1 << iota // by their order in the text
	StyleNumber                     // by their number
	StyleName                       // by their name
)

// Params describes the caller's placeholders.
type Params struct {
	Styles Style
	Mixed  bool   // whether numbered placeholders begin with different signs: ?1 and $1
	again  bool   // whether a placeholder is used twice, or the numbers do not count up from 1
	Count  int    // how many placeholders there are, repetitions included
	Max    int    // the highest number of a placeholder, at most maxNumber
	Names  int    // how many different placeholders there are; set only if the plan adds keys
	Sigil  string // the sign before the first numbered or named placeholder
}

// add counts one placeholder of the caller.
func (ps *Params) add(d *dialect.Dialect, text string) {
	ps.Count++
	if len(text) == 1 || d.Params.ColonPlaces { // ?
		ps.Styles |= StylePosition
		return
	}
	sigil := text[:1]
	number, numbered := scan.NumberIn(text[1:])
	st := StyleName
	switch {
	case d.Params.ByPosition:
		// :7 is a name like any other, but a placeholder that keyfill adds is :8.
		st = StylePosition
		if !numbered {
			st |= StyleName
		}
	case numbered && text[0] != ':' && text[0] != '@':
		st = StyleNumber
	case d.Params.AtNumber && text[1]|0x20 == 'p':
		if n, ok := scan.NumberIn(text[2:]); ok {
			sigil, number, numbered = text[:2], n, true
			st = StyleNumber
		}
	}
	ps.Styles |= st
	if ps.Sigil == "" {
		ps.Sigil = sigil
	}
	ps.Mixed = ps.Mixed || st == StyleNumber && text[0] != ps.Sigil[0]
	ps.again = ps.again || number != ps.Max+1
	if numbered {
		ps.Max = max(ps.Max, number)
	}
}

// Identity returns a text that is equal for two spellings of one placeholder: its number,
// or its name without the sign before it. Drivers find the argument by that number or name.
func (p *Reader) Identity(text string) string { return scan.Identity(p.Dialect, text) }

// Usage is how a text uses its numbered or named placeholders.
type Usage struct {
	Ids    []string       // the identities, in the order of first use; nil if each is used once
	counts []int          // how often each identity is used
	at     map[string]int // the index of each identity in Ids; nil if there are few identities
	Names  int            // how many different placeholders there are
	Newest int            // how many placeholders there are up to the last one that is not a repetition
	// Ordered means that the k-th different placeholder has the number k.
	Ordered bool
}

// FewNames is the greatest number of identities that find compares one by one.
const FewNames = 8

// find returns the index of an identity in Ids, or -1 if Ids does not have it.
func (u *Usage) find(id string) int {
	if u.at == nil {
		return slices.Index(u.Ids, id)
	}
	if i, ok := u.at[id]; ok {
		return i
	}
	return -1
}

// Count returns how often the placeholder with the identity is used.
func (u *Usage) Count(id string) int {
	if i := u.find(id); i >= 0 {
		return u.counts[i]
	}
	return 1
}

// add counts one use of an identity, and reports whether it is the first.
func (u *Usage) add(id string) bool {
	if i := u.find(id); i >= 0 {
		u.counts[i]++
		return false
	}
	u.Ids, u.counts = append(u.Ids, id), append(u.counts, 1)
	switch {
	case u.at != nil:
		u.at[id] = len(u.Ids) - 1
	case len(u.Ids) > FewNames:
		u.at = make(map[string]int, cap(u.Ids))
		for i, id := range u.Ids {
			u.at[id] = i
		}
	}
	return true
}

// Uses returns the usage of the placeholders in the whole text.
func (p *Reader) Uses() Usage {
	n := p.Params.Count
	if p.Params.Styles == StyleNumber && !p.Params.again {
		return Usage{Names: n, Newest: n, Ordered: true}
	}
	u := Usage{Ids: make([]string, 0, n), counts: make([]int, 0, n), Ordered: true}
	s := scan.Scanner{Dialect: p.Dialect, Text: p.Text}
	n = 0
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		if t.Kind != scan.Placeholder || p.IsLocal(p.TextOf(t)) {
			continue
		}
		n++
		if id := p.Identity(p.TextOf(t)); u.add(id) {
			u.Newest = n
			u.Ordered = u.Ordered && id == strconv.Itoa(len(u.Ids))
		}
	}
	u.Names = len(u.Ids)
	return u
}

// Spelling says how the placeholders that keyfill adds are written.
type Spelling struct {
	Style Style

	// Renumbers means that all placeholders, the caller's too, are numbered from 1 in the
	// order of their first use.
	Renumbers bool

	Open string // the text before the number: "?", "$", "@p", ":kf"
	Base int    // the number before the number of the first added placeholder; -1 if no number is written
}

// Text returns the placeholder of the n-th added key, counted from 1.
func (sp Spelling) Text(n int) string {
	if sp.Base < 0 {
		return sp.Open
	}
	return sp.Open + strconv.Itoa(sp.Base+n)
}

// Name returns the name of the argument of the n-th added key. It is empty unless drivers
// find the caller's arguments by name.
func (sp Spelling) Name(n int) string {
	if sp.Style&StyleName == 0 {
		return ""
	}
	return sp.Text(n)[1:]
}
