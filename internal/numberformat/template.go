package numberformat

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/nearest"
)

// kind is what a field shows.
type kind int

const (
	kindText kind = iota // of the template itself
	kindNumber
	kindYear
	kindYY
	kindFY
	kindQuarter
	kindMonth
	kindDay
	kindSchema
	kindTable
	kindValue
	kindColumn
	kindLuhn
	kindMod97
)

// names are the words of the fields.
//
//row:template | `{n}`, `{n:05}`, `{n:base32}` | the number; in exactly five digits; in letters and digits without I, L, O and U
//row:template | `{year}`, `{yy}`, `{fy}` | the year in which the period begins: 2026; 26, from 2000 to 2099; a year that ends in the next one: 2025-26
//row:template | `{quarter}`, `{month:02}`, `{day:02}` | of the first day of the period; quarters are counted from the beginning of the year
//row:template | `{schema}`, `{table}` | the table
//row:template | `{value:x}` | the value of `keyfill.WithValue(ctx, "x", …)`, which stands in `name:` too; say `exclusive: true` where several values number one column
//row:template | `{column:x}` | the value of the column x of the row, which stands in `scope:` too
//row:template | `{luhn}`, `{mod97}` | check digits of what stands before them
var names = map[string]kind{
	"n": kindNumber, "year": kindYear, "yy": kindYY, "fy": kindFY, "quarter": kindQuarter, "month": kindMonth, "day": kindDay,
	"schema": kindSchema, "table": kindTable, "value": kindValue, "column": kindColumn, "luhn": kindLuhn, "mod97": kindMod97,
}

// words returns the words of the fields in the order in which errors list them.
func words() []string {
	return []string{"n", "year", "yy", "fy", "quarter", "month", "day", "schema", "table", "value", "column", "luhn", "mod97"}
}

// field is a part of a template.
type field struct {
	kind   kind
	text   string // of kindText; of kindValue and kindColumn the name
	width  int    // exactly so many digits; 0 for as many as the number needs
	base32 bool
}

// Template is the form of the texts of one numbering.
type Template struct {
	source string
	fields []field
	number int                   // the index of the number's field
	form   func() *regexp.Regexp // of the texts: see pattern
}

// String returns the template as it was written.
func (t *Template) String() string { return t.source }

// maxWidth is the most digits that a number can have.
const maxWidth = 18

// Parse reads a template. Its errors say what to change.
func Parse(source string) (*Template, error) {
	t := &Template{source: source, number: -1}
	if !utf8.ValidString(source) || strings.ContainsFunc(source, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, anchor.New("policy", "the format has a character that is not printed; take the character out")
	}
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			t.fields = append(t.fields, field{text: text.String()})
			text.Reset()
		}
	}
	for rest := source; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			text.WriteByte(rest[0])
			rest = rest[2:]
		case rest[0] == '}':
			return nil, anchor.New("policy", "the format has a } that closes nothing; write }} for the character")
		case rest[0] != '{':
			text.WriteByte(rest[0])
			rest = rest[1:]
		default:
			inside, after, closed := strings.Cut(rest[1:], "}")
			if !closed {
				return nil, anchor.New("policy", "the format has a { that is not closed; write {{ for the character")
			}
			one, err := parseField(inside)
			if err != nil {
				return nil, err
			}
			flush()
			if one.kind == kindNumber {
				if t.number >= 0 {
					return nil, anchor.New("policy", "the format has {n} twice; leave one out")
				}
				t.number = len(t.fields)
			}
			t.fields = append(t.fields, one)
			rest = after
		}
	}
	flush()
	if t.number < 0 {
		return nil, anchor.New("policy", "the format has no number; add {n}")
	}
	if last := t.fields[len(t.fields)-1]; strings.HasSuffix(last.text, " ") {
		return nil, anchor.New("policy", "the format ends in a space, which some columns do not keep; take the space off")
	}
	t.form = sync.OnceValue(t.pattern)
	return t, t.checkDigits()
}

// parseField reads what stands between two braces.
func parseField(inside string) (field, error) {
	word, form, has := strings.Cut(inside, ":")
	k, known := names[word]
	f := field{kind: k}
	switch {
	case !known:
		return f, anchor.Errorf("policy", "{%s} is no field; take one of %s%s", inside, strings.Join(words(), ", "), nearest.DidYouMean(word, words()))
	case k == kindValue || k == kindColumn:
		if f.text = form; form == "" {
			return f, anchor.Errorf("policy", "{%s} names nothing; write {%s:x}", inside, word)
		}
		return f, nil
	case !has:
		return f, nil
	case k == kindNumber && form == "base32":
		f.base32 = true
		return f, nil
	case k == kindNumber, (k == kindMonth || k == kindDay) && form == "02":
		digits, zero := strings.CutPrefix(form, "0")
		for _, c := range digits {
			if c < '0' || c > '9' || len(digits) > 2 {
				zero = false
			}
		}
		if _, err := fmt.Sscanf(digits, "%d", &f.width); !zero || err != nil || f.width < 1 || f.width > maxWidth {
			return f, anchor.Errorf("policy", "{%s} has no width; write {n:05} for five digits, up to {n:0%d}", inside, maxWidth)
		}
		return f, nil
	}
	if k == kindMonth || k == kindDay {
		return f, anchor.Errorf("policy", "{%s} has another form than {%s} and {%[2]s:02}; take one of these", inside, word)
	}
	return f, anchor.Errorf("policy", "{%s} has a form, and the field takes none; write {%s}", inside, word)
}

// checkDigits refuses check digits of nothing.
func (t *Template) checkDigits() error {
	for i, f := range t.fields {
		if f.kind != kindLuhn && f.kind != kindMod97 {
			continue
		}
		if i < t.number {
			return anchor.Errorf("policy", "{%s} stands before the number, which it is to check; write it after {n}", wordOf(f.kind))
		}
	}
	return nil
}

// wordOf returns the word of a kind of field.
func wordOf(k kind) string {
	for word, one := range names {
		if one == k {
			return word
		}
	}
	return ""
}

// written returns a field as it stands in a template.
func (f field) written() string {
	switch {
	case f.kind == kindText:
		return f.text
	case f.kind == kindValue || f.kind == kindColumn:
		return "{" + wordOf(f.kind) + ":" + f.text + "}"
	case f.base32:
		return "{n:base32}"
	case f.width > 0:
		return fmt.Sprintf("{%s:0%d}", wordOf(f.kind), f.width)
	}
	return "{" + wordOf(f.kind) + "}"
}

// Values returns the names x of all {value:x}.
func (t *Template) Values() []string { return t.named(kindValue) }

// Columns returns the names x of {column:x}.
func (t *Template) Columns() []string { return t.named(kindColumn) }

func (t *Template) named(k kind) (all []string) {
	for _, f := range t.fields {
		if f.kind == k {
			all = append(all, f.text)
		}
	}
	return all
}

// hasKind reports whether the template has a field of the kind.
func (t *Template) hasKind(k kind) bool {
	for _, f := range t.fields {
		if f.kind == k {
			return true
		}
	}
	return false
}
