package numberformat

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/calendar"
)

// base32 are the digits of Crockford's base 32: https://www.crockford.com/base32.html.
const base32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Parts are what a text shows.
type Parts struct {
	Number        int64
	Period        calendar.Period
	Schema, Table string
	Values        map[string]string // of {value:x}, by x
	Columns       map[string]string // of {column:x}, by x
}

// Text returns the text of a number. Its errors never hold a name or value.
func (t *Template) Text(p *Parts) (string, error) {
	b := make([]byte, 0, 2*len(t.source))
	for i, f := range t.fields {
		if year := p.Period.First.Year(); f.kind == kindYY && year/100 != 20 && !t.hasKind(kindYear) && !t.hasKind(kindFY) {
			return "", anchor.New("number-format", "{yy} shows the years 2000 to 2099, and the period is of another one: write {year}, or another date")
		}
		before := len(b)
		var err error
		if b, err = t.append(b, i, p); err != nil {
			return "", err
		}
		if !f.isFree() {
			continue
		}
		if len(b) == before {
			return "", anchor.Errorf("number-format", "%s is empty; give it a value", f.written())
		}
		if i < t.lastFree() && endsEarly(string(b[before:]), t.fields[i+1].text) {
			return "", anchor.Errorf("number-format", "%s holds %q in it or at its end, after which the text goes on; give it another value", f.written(), t.fields[i+1].text)
		}
	}
	if bytes.HasSuffix(b, []byte(" ")) {
		return "", anchor.Errorf("number-format", "%s ends in a space, which not each column keeps; give it another value", t.fields[len(t.fields)-1].written())
	}
	return string(b), nil
}

// endsEarly reports whether a name or value would be read as a shorter one, since the text
// after it is found before its end: in a value, or half in it, as "--" is after "A-".
func endsEarly(value, after string) bool { return strings.Index(value+after, after) < len(value) }

// append appends a field.
func (t *Template) append(b []byte, i int, p *Parts) ([]byte, error) {
	switch f := t.fields[i]; f.kind {
	case kindNumber:
		return f.appendNumber(b, p.Number)
	case kindYear:
		return appendPadded(b, int64(p.Period.First.Year()), 4), nil
	case kindYY:
		return appendPadded(b, int64(p.Period.First.Year()%100), 2), nil
	case kindFY:
		return fmt.Appendf(b, "%04d-%02d", p.Period.Year, (p.Period.Year+1)%100), nil
	case kindQuarter:
		return strconv.AppendInt(b, int64(p.Period.Quarter), 10), nil
	case kindMonth:
		return fmt.Appendf(b, "%0*d", f.width, int(p.Period.First.Month())), nil
	case kindDay:
		return fmt.Appendf(b, "%0*d", f.width, p.Period.First.Day()), nil
	case kindSchema:
		return append(b, p.Schema...), nil
	case kindTable:
		return append(b, p.Table...), nil
	case kindValue:
		return append(b, p.Values[f.text]...), nil
	case kindColumn:
		return append(b, p.Columns[f.text]...), nil
	case kindLuhn:
		return append(b, luhn(string(b))), nil
	case kindMod97:
		return fmt.Appendf(b, "%02d", mod97(string(b))), nil
	default:
		return append(b, f.text...), nil
	}
}

// ErrWidth is returned for a number that has more digits than the template gives it.
var ErrWidth = anchor.New("number-format", "the number outgrows its width; give it more digits, from the next period on")

// appendNumber appends the number in its form.
func (f field) appendNumber(b []byte, n int64) ([]byte, error) {
	if n < 1 {
		return b, anchor.New("number-format", "the number is below 1: set next_value of its state to 1 or above")
	}
	if !f.base32 {
		before := len(b)
		if b = appendPadded(b, n, f.width); f.width > 0 && len(b)-before > f.width {
			return b, ErrWidth
		}
		return b, nil
	}
	var digits [13]byte
	at := len(digits)
	for ; n > 0; n /= 32 {
		at--
		digits[at] = base32[n%32]
	}
	return append(b, digits[at:]...), nil
}

// appendPadded appends n ≥ 0 with zeros before it, as far as it has fewer digits than width.
func appendPadded(b []byte, n int64, width int) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	for range width - len(text) {
		b = append(b, '0')
	}
	return append(b, text...)
}

// luhn returns the check digit of the digits of a text.
func luhn(text string) byte {
	sum, doubled := 0, true
	for i := len(text) - 1; i >= 0; i-- {
		c := text[i]
		if c < '0' || c > '9' {
			continue
		}
		d := int(c - '0')
		if doubled {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		doubled = !doubled
	}
	return byte('0' + (10-sum%10)%10)
}

// mod97 returns the check digits of the letters and digits of a text, where A is 10 and Z 35.
func mod97(text string) int {
	rest := 0
	for _, c := range strings.ToUpper(text) {
		switch {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return 98 - rest*100%97
}

// pattern returns the regular expression of the template's texts, with a group for each
// field that is no text.
func (t *Template) pattern() *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for i, f := range t.fields {
		switch {
		case f.kind == kindText:
			b.WriteString(regexp.QuoteMeta(f.text))
		case f.isFree() && i < t.lastFree():
			b.WriteString("((?s:.+?))")
		case f.isFree():
			b.WriteString("((?s:.+))")
		case f.base32:
			b.WriteString("([" + base32[1:] + "][" + base32 + "]*)")
		case f.kind == kindFY:
			b.WriteString("([0-9]{4}-[0-9]{2})")
		case f.width > 0:
			fmt.Fprintf(&b, "([0-9]{%d})", f.width)
		case f.varies():
			b.WriteString("([1-9][0-9]*)")
		default:
			fmt.Fprintf(&b, "([0-9]{%d})", map[kind]int{kindYear: 4, kindYY: 2, kindQuarter: 1, kindLuhn: 1, kindMod97: 2}[f.kind])
		}
	}
	return regexp.MustCompile(b.String() + "$")
}

// Read returns the number in a text, and the text without its number and check digits, which
// is the same for all numbers of one numbering. It returns false for a text that the template does
// not give.
func (t *Template) Read(text string) (number int64, numbering string, isOne bool) {
	found := t.form().FindStringSubmatchIndex(text)
	if found == nil {
		return 0, "", false
	}
	var rest strings.Builder
	for i, group := 0, 1; i < len(t.fields); i++ {
		f := t.fields[i]
		if f.kind == kindText {
			rest.WriteString(f.text)
			continue
		}
		from, to := found[2*group], found[2*group+1]
		group++
		switch part := text[from:to]; f.kind {
		case kindNumber:
			number = f.numberOf(part)
		case kindLuhn:
			if part[0] != luhn(text[:from]) {
				return 0, "", false
			}
		case kindMod97:
			if part != fmt.Sprintf("%02d", mod97(text[:from])) {
				return 0, "", false
			}
		default:
			rest.WriteString(part)
		}
	}
	return number, rest.String(), number > 0
}

// numberOf reads the digits of a number; 0 if they are too many.
func (f field) numberOf(digits string) (n int64) {
	if !f.base32 {
		n, _ = strconv.ParseInt(digits, 10, 64) // 0 is no number
		return n
	}
	for _, c := range digits {
		if n > (1<<63-1)/32-32 {
			return 0
		}
		n = n*32 + int64(strings.IndexRune(base32, c))
	}
	return n
}
