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
	max    int    // the highest number
	sigil  string // what the first numbered or named one begins with
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
	if digits(number) {
		// A number too large for an int is the engine's error to find.
		if n, err := strconv.Atoi(number); err == nil && n > ps.max {
			ps.max = n
		}
	}
}

func digits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// number returns the number of a numbered placeholder.
func number(text string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(text, "?$@pP"))
	return n
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
