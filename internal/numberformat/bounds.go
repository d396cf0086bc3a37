package numberformat

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Bounds are what no text of a template may go beyond.
type Bounds struct {
	MaxLength int    // the greatest length in characters; 0 means no bound
	Alphabet  string // the characters and ranges of characters, as in A-Z0-9/-; empty means any
}

// Form is a template with the bounds of its texts. It never changes and is safe for
// concurrent use.
type Form struct {
	*Template
	maxLength int
	alphabet  []span          // empty for any characters
	holds     func(rune) bool // whether the column can hold a character; nil for all
}

// span is a range of characters.
type span struct{ first, last rune }

// Within returns the form of the template's texts, or an error if no text of the template
// is within the bounds.
func (t *Template) Within(b Bounds) (*Form, error) {
	f := &Form{Template: t, maxLength: b.MaxLength}
	var err error
	if f.alphabet, err = spansOf(b.Alphabet); err != nil {
		return nil, err
	}
	shortest := 0
	for _, one := range t.fields {
		shortest += one.shortest()
		if c, bad := f.outside(one.fixed()); bad {
			return nil, anchor.Errorf("policy", "the text has %q, which alphabet does not have; add it there, or write the text without it", string(c))
		}
	}
	if f.maxLength > 0 && shortest > f.maxLength {
		return nil, anchor.Errorf("policy", "the shortest text has %d characters, more than max_length, %d; write a shorter one", shortest, f.maxLength)
	}
	return f, nil
}

// AtMost returns the form of texts that have at most so many characters; 0 means no bound.
func (f *Form) AtMost(length int) *Form {
	if length == 0 || f.maxLength > 0 && f.maxLength <= length {
		return f
	}
	shorter := *f
	shorter.maxLength = length
	return &shorter
}

// Holding returns the form of texts of characters for which holds, if it is not nil, returns
// true: others would be stored as another text.
func (f *Form) Holding(holds func(rune) bool) *Form {
	if holds == nil {
		return f
	}
	held := *f
	held.holds = holds
	return &held
}

// spansOf reads an alphabet.
func spansOf(alphabet string) ([]span, error) {
	var all []span
	characters := []rune(alphabet)
	for i := 0; i < len(characters); i++ {
		one := span{characters[i], characters[i]}
		if i+2 < len(characters) && characters[i+1] == '-' {
			one.last = characters[i+2]
			i += 2
		}
		if one.last < one.first {
			return nil, anchor.Errorf("policy", "the range %c-%c is empty; write the lower character first, and a - that is no range at the end", one.first, one.last)
		}
		all = append(all, one)
	}
	return all, nil
}

// outside returns the first character of a text that the alphabet does not have.
func (f *Form) outside(text string) (rune, bool) {
	if len(f.alphabet) == 0 {
		return 0, false
	}
	for _, c := range text {
		has := false
		for _, s := range f.alphabet {
			has = has || s.first <= c && c <= s.last
		}
		if !has {
			return c, true
		}
	}
	return 0, false
}

// fixed returns the characters that texts of the field are made of, as far as the template
// says.
func (f field) fixed() string {
	switch {
	case f.kind == kindText:
		return f.text
	case f.isFree():
		return ""
	case f.kind == kindFY:
		return "0123456789-"
	}
	return f.characters()
}

// shortest returns the least number of characters of the field.
func (f field) shortest() int {
	if n := f.length(); n > 0 {
		return n
	}
	return 1
}

// length returns the number of characters of the field, 0 if its texts have several
// lengths.
func (f field) length() int {
	switch f.kind {
	case kindText:
		return utf8.RuneCountInString(f.text)
	case kindYear:
		return 4
	case kindFY:
		return len("2025-26")
	case kindYY, kindMod97:
		return 2
	case kindQuarter, kindLuhn:
		return 1
	}
	return f.width
}

// Longest returns the number of characters of the longest text, 0 if it is not known.
func (f *Form) Longest() int {
	all := 0
	for _, one := range f.fields {
		n := one.length()
		if n == 0 {
			return f.maxLength
		}
		all += n
	}
	return all
}

// Last returns the greatest number that has a text, 0 if none has one. p may be nil if the
// other fields are not known: then max_length does not count, unless they have one length.
func (f *Form) Last(p *Parts) int64 {
	number := f.fields[f.number]
	digits, base := number.width, int64(10)
	if number.base32 {
		base = 32
	}
	switch left, known := f.left(p); {
	case known && left < max(digits, 1):
		return 0
	case known && digits == 0:
		digits = left
	}
	if digits == 0 {
		return math.MaxInt64 - 1
	}
	last := int64(1)
	for range digits {
		if last > (math.MaxInt64-1)/base {
			return math.MaxInt64 - 1
		}
		last *= base
	}
	return last - 1
}

// left returns how many characters max_length leaves for the number; false if that is not
// known.
func (f *Form) left(p *Parts) (int, bool) {
	left := f.maxLength
	for i, one := range f.fields {
		n := one.length()
		switch {
		case i == f.number:
			continue
		case n == 0 && p != nil:
			n = utf8.RuneCount(must(f.append(nil, i, p)))
		}
		if n == 0 {
			return 0, false
		}
		left -= n
	}
	return left, f.maxLength > 0
}

// must returns the bytes of a field that has no error of its own: every field except the
// number.
func must(b []byte, _ error) []byte { return b }

// Text does what the Template's Text does, within the bounds.
func (f *Form) Text(p *Parts) (string, error) {
	text, err := f.Template.Text(p)
	if err != nil {
		return "", err
	}
	if f.maxLength > 0 && utf8.RuneCountInString(text) > f.maxLength {
		return "", anchor.Errorf("number-format", "the text has %d characters, more than max_length, %d; shorten the format, or what it shows", utf8.RuneCountInString(text), f.maxLength)
	}
	if _, bad := f.outside(text); bad {
		return "", anchor.Errorf("number-format", "%s has a character that alphabet does not have; give it another value", f.freeOutside(p))
	}
	if f.holds != nil && strings.ContainsFunc(text, func(c rune) bool { return !f.holds(c) }) {
		return "", anchor.New("number-format", "the text has a character that the column's character set may not have: make that utf8mb4")
	}
	return text, nil
}

// freeOutside returns the field whose text has a character outside of the alphabet.
func (f *Form) freeOutside(p *Parts) string {
	for i, one := range f.fields {
		if _, bad := f.outside(string(must(f.append(nil, i, p)))); bad && one.isFree() {
			return one.written()
		}
	}
	return "the text"
}

// IsConstant reports whether texts show nothing that depends on the execution: no name, no
// value, no column and no period.
func (t *Template) IsConstant() bool {
	for _, f := range t.fields {
		switch f.kind {
		case kindText, kindNumber, kindLuhn, kindMod97:
		default:
			return false
		}
	}
	return true
}

// Texts are the texts of one numbering, as a column is searched for them: a prefix, the
// number and a suffix.
type Texts struct {
	Prefix, Suffix string

	// Width is the number of digits if the texts sort as their numbers do: they have one
	// length, and end in the digits. Otherwise it is 0, and a text with the prefix and the
	// suffix may be of another numbering.
	Width int
}

// IsOrdered reports whether the texts of one numbering sort as their numbers do: the number
// has a width, and nothing follows it.
func (t *Template) IsOrdered() bool {
	return t.fields[t.number].width > 0 && t.number == len(t.fields)-1
}

// NumberIn returns the number of a text, for a template that IsOrdered and IsConstant; false
// for any other text, and for the greatest number, above which there is none.
func (t *Template) NumberIn(text string) (int64, bool) {
	n, _, isOne := t.Read(text)
	return n, isOne && n < int64(math.Pow10(t.fields[t.number].width))-1
}

// TextsOf returns the texts of the numbering with these parts.
func (t *Template) TextsOf(p *Parts) Texts {
	var parts [2]strings.Builder // before and after the number
	side := 0
	for i, f := range t.fields {
		switch f.kind {
		case kindNumber:
			side = 1
		case kindLuhn, kindMod97:
			parts[1].Reset() // the texts' ends differ from here on; the suffix is what follows
		default:
			parts[side].Write(must(t.append(nil, i, p)))
		}
	}
	x := Texts{Prefix: parts[0].String(), Suffix: parts[1].String()}
	if t.IsOrdered() {
		x.Width = t.fields[t.number].width
	}
	return x
}
