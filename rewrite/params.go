package rewrite

import (
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

// params is what is known of the caller's placeholders.
type params struct {
	styles style
	count  int    // occurrences
	max    int    // the highest number, at most maxNumber
	names  int    // how many different ones there are, once a plan has slots
	sigil  string // what the first numbered or named one begins with
	mixed  bool   // numbered ones begin with different signs: ?1 and $1
}

// add counts one placeholder.
func (ps *params) add(d *dialect.Dialect, text string) {
	ps.count++
	sigil, number := text[:1], text[1:]
	st := styleName
	switch {
	case text == "?":
		ps.styles |= stylePosition
		return
	case d.Params.AtNumber && len(number) > 1 && number[0]|0x20 == 'p' && digits(number[1:]):
		sigil, number = text[:2], number[1:]
		st = styleNumber
	case d.Params.ByPosition:
		// :7 is a name like any other, but the next one is :8.
		st = stylePosition
		if !digits(number) {
			st |= styleName
		}
	case digits(number) && sigil != ":" && sigil != "@":
		st = styleNumber
	}
	ps.styles |= st
	if ps.sigil == "" {
		ps.sigil = sigil
	}
	ps.mixed = ps.mixed || st == styleNumber && sigil[0] != ps.sigil[0]
	if digits(number) {
		ps.max = max(ps.max, numberOf(number))
	}
}

// maxNumber stands for every number that no engine takes.
const maxNumber = 1 << 30

// numberOf returns the number that the digits spell.
func numberOf(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxNumber {
		return maxNumber
	}
	return n
}

// identity returns what two spellings of one placeholder have in common: its
// number, or its name without the sigil, since drivers find arguments by that.
func (p *parser) identity(text string) string { return identity(p.d, text) }

func identity(d *dialect.Dialect, text string) string {
	bare := text[1:]
	if d.Params.AtNumber && len(bare) > 1 && bare[0]|0x20 == 'p' && digits(bare[1:]) {
		bare = bare[1:]
	}
	switch {
	case digits(bare):
		return strconv.Itoa(numberOf(bare))
	case d.Params.FoldedNames:
		return strings.ToLower(bare)
	}
	return bare
}

// usage is how a text uses its numbered or named placeholders.
type usage struct {
	counts map[string]int // occurrences by identity
	newest int            // how many stand up to the last one that is new
	// ordered says that the k-th one that is new has the number k.
	ordered bool
}

// uses counts the placeholders of the whole text.
func (p *parser) uses() usage {
	u := usage{counts: map[string]int{}, ordered: true}
	s := scanner{d: p.d, q: p.q}
	n := 0
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind != tokParam || p.isLocal(p.text(t)) {
			continue
		}
		n++
		id := p.identity(p.text(t))
		if u.counts[id]++; u.counts[id] == 1 {
			u.newest = n
			u.ordered = u.ordered && id == strconv.Itoa(len(u.counts))
		}
	}
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

// spell chooses the spelling of added placeholders: that of the caller's own
// with the next highest number, or a name that the text does not hold. It
// reports false when the caller mixes styles.
func (p *parser) spell() (spelling, bool) {
	ps, d := &p.params, p.d
	switch {
	case ps.mixed:
		return spelling{}, false
	case ps.count == 0:
		return unnumbered(d), true
	case d.Params.ByPosition && ps.styles&styleName != 0:
		return spelling{stylePosition | styleName, p.unused(":kf"), 0}, true
	case d.Params.ByPosition && d.Params.Colon:
		return spelling{stylePosition, ":", ps.max}, true
	case ps.styles == stylePosition:
		return spelling{stylePosition, "?", -1}, true
	case ps.styles == styleNumber:
		return spelling{styleNumber, ps.sigil, ps.max}, true
	case ps.styles == styleName:
		return spelling{styleName, p.unused(ps.sigil + "kf"), 0}, true
	}
	return spelling{}, false
}

// unnumbered is the spelling in a text without placeholders.
func unnumbered(d *dialect.Dialect) spelling {
	switch {
	case d.Params.Question:
		return spelling{stylePosition, "?", -1}
	case d.Params.Dollar:
		return spelling{styleNumber, "$", 0}
	case d.Params.AtNumber:
		return spelling{styleNumber, "@p", 0}
	}
	return spelling{stylePosition, ":", 0}
}
