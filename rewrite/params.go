package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// style is how placeholders find their arguments.
type style uint8

const (
	stylePosition style = 1 << iota // by their place in the text
	styleNumber                     // by their number
	styleName                       // by their name
)

// params describes the caller's placeholders.
type params struct {
	styles style
	count  int    // occurrences
	max    int    // the highest number, at most maxNumber
	names  int    // how many different ones there are, once a plan has slots
	sigil  string // what the first numbered or named one begins with
	mixed  bool   // numbered ones begin with different signs: ?1 and $1
	again  bool   // one is used a second time, or they do not count up from 1
}

// add counts one placeholder.
func (ps *params) add(d *dialect.Dialect, text string) {
	ps.count++
	if len(text) == 1 || d.Params.ColonPlaces { // ?
		ps.styles |= stylePosition
		return
	}
	sigil := text[:1]
	number, numbered := numeral(text[1:])
	st := styleName
	switch {
	case d.Params.ByPosition:
		// :7 is a name like any other, but the next one is :8.
		st = stylePosition
		if !numbered {
			st |= styleName
		}
	case numbered && text[0] != ':' && text[0] != '@':
		st = styleNumber
	case d.Params.AtNumber && text[1]|0x20 == 'p':
		if n, ok := numeral(text[2:]); ok {
			sigil, number, numbered = text[:2], n, true
			st = styleNumber
		}
	}
	ps.styles |= st
	if ps.sigil == "" {
		ps.sigil = sigil
	}
	ps.mixed = ps.mixed || st == styleNumber && text[0] != ps.sigil[0]
	ps.again = ps.again || number != ps.max+1
	if numbered {
		ps.max = max(ps.max, number)
	}
}

// numeral returns the number that the text spells, at most maxNumber, and
// whether it is nothing but digits.
func numeral(text string) (n int, ok bool) {
	for i := range len(text) {
		if !isDigit(text[i]) {
			return 0, false
		}
		n = int(min(int64(n)*10+int64(text[i]-'0'), maxNumber))
	}
	return n, text != ""
}

// maxNumber stands for every number that no engine takes.
const maxNumber = 1 << 30

// numberOf returns the number that the digits spell.
func numberOf(digits string) int {
	n, _ := numeral(digits)
	return n
}

// identity returns what two spellings of one placeholder have in common: its
// number, or its name without the sigil, since drivers find arguments by that.
func (p *reader) identity(text string) string { return identity(p.d, text) }

func identity(d *dialect.Dialect, text string) string {
	bare := text[1:]
	if d.Params.AtNumber && len(bare) > 1 && bare[0]|0x20 == 'p' && digits(bare[1:]) {
		bare = bare[1:]
	}
	switch {
	case digits(bare):
		if bare[0] != '0' && len(bare) < 10 {
			return bare
		}
		return strconv.Itoa(numberOf(bare))
	case d.Params.FoldedNames:
		return strings.ToLower(bare)
	}
	return bare
}

// usage is how a text uses its numbered or named placeholders.
type usage struct {
	ids    []string       // the identities, by first use; nil where each is used once
	counts []int          // occurrences of each
	at     map[string]int // where an identity is in ids, once there are many
	names  int            // how many different ones there are
	newest int            // how many stand up to the last one that is new
	// ordered says that the k-th one that is new has the number k.
	ordered bool
}

// fewNames is up to how many identities are compared one by one.
const fewNames = 8

// find returns where an identity is in ids, -1 where it is not.
func (u *usage) find(id string) int {
	if u.at == nil {
		return slices.Index(u.ids, id)
	}
	if i, ok := u.at[id]; ok {
		return i
	}
	return -1
}

// count returns how often the placeholder with the identity is used.
func (u *usage) count(id string) int {
	if i := u.find(id); i >= 0 {
		return u.counts[i]
	}
	return 1
}

// add counts one occurrence and reports whether it is the first.
func (u *usage) add(id string) bool {
	if i := u.find(id); i >= 0 {
		u.counts[i]++
		return false
	}
	u.ids, u.counts = append(u.ids, id), append(u.counts, 1)
	switch {
	case u.at != nil:
		u.at[id] = len(u.ids) - 1
	case len(u.ids) > fewNames:
		u.at = make(map[string]int, cap(u.ids))
		for i, id := range u.ids {
			u.at[id] = i
		}
	}
	return true
}

// uses counts the placeholders of the whole text.
func (p *reader) uses() usage {
	n := p.params.count
	if p.params.styles == styleNumber && !p.params.again {
		return usage{names: n, newest: n, ordered: true}
	}
	u := usage{ids: make([]string, 0, n), counts: make([]int, 0, n), ordered: true}
	s := scanner{d: p.d, q: p.q}
	n = 0
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind != tokParam || p.isLocal(p.text(t)) {
			continue
		}
		n++
		if id := p.identity(p.text(t)); u.add(id) {
			u.newest = n
			u.ordered = u.ordered && id == strconv.Itoa(len(u.ids))
		}
	}
	u.names = len(u.ids)
	return u
}

func digits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// spelling is how the placeholders that are added are written.
type spelling struct {
	style style
	open  string // "?", "$", "@p", ":kf"
	base  int    // the number before the first; -1 where none is written

	// renumbers says that the placeholders, the caller's too, get the numbers from 1
	// in the order of their first use.
	renumbers bool
}

// text returns the placeholder for the n-th added key, counted from 1.
func (sp spelling) text(n int) string {
	if sp.base < 0 {
		return sp.open
	}
	return sp.open + strconv.Itoa(sp.base+n)
}

// name returns the argument's name for the n-th added key, "" unless the
// caller's are found by name.
func (sp spelling) name(n int) string {
	if sp.style&styleName == 0 {
		return ""
	}
	return sp.text(n)[1:]
}

// spell chooses how added placeholders are spelled: as the caller's own with
// the next highest number, or with a name that the text does not hold. It
// reports false when the caller mixes styles.
func (p *parser) spell() (spelling, bool) {
	ps, d := &p.params, p.d
	switch {
	case p.streams:
		return spelling{style: stylePosition, base: -1}, true
	case ps.mixed:
		return spelling{}, false
	case ps.count == 0:
		return unnumbered(d), true
	case d.Params.ByPosition && ps.styles&styleName != 0:
		return spelling{style: stylePosition | styleName, open: p.unused(":kf")}, true
	case d.Params.ByPosition && d.Params.Colon:
		return spelling{style: stylePosition, open: ":", base: ps.max}, true
	case ps.styles == stylePosition:
		return spelling{style: stylePosition, open: "?", base: -1}, true
	case ps.styles == styleNumber:
		return spelling{style: styleNumber, open: ps.sigil, base: ps.max}, true
	case ps.styles == styleName:
		return spelling{style: styleName, open: p.unused(ps.sigil + "kf")}, true
	}
	return spelling{}, false
}

// unnumbered is the spelling in a text without placeholders.
func unnumbered(d *dialect.Dialect) spelling {
	switch {
	case d.Params.Question:
		return spelling{style: stylePosition, open: "?", base: -1}
	case d.Params.Dollar:
		return spelling{style: styleNumber, open: "$"}
	case d.Params.AtNumber:
		return spelling{style: styleNumber, open: "@p"}
	}
	return spelling{style: stylePosition, open: ":"}
}
