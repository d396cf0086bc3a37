package policy

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/keysource"
)

var formatField = of("format", "The text of a number, as people see it, with fields in braces: {n}, {n:05}, {n:base32}, {year}, {yy}, {fy}, {quarter}, {month:02}, {day:02}, {schema}, {table}, {value:x}, {column:x}, {luhn} and {mod97}. The column holds text. Left out, the numbers are integers.",
	text, func(s *Source) *string { return &s.Format }).as("INV-{year}-{n:05}").
	ruled(fieldRules{check: checkFormat})

var maxLengthField = of("max_length", "How many characters a text of format may have: a number whose text has more is an error. Left out, there is no such limit.",
	atLeast[int](1), func(s *Source) *int { return &s.MaxLength }).as(16)

// checkFormat checks the fields of the sequence at p about the texts of its numbers.
func checkFormat(m *mistakes, p place, s Source) {
	at := p.in("format")
	if s.Format == "" {
		for _, name := range given(s, maxLengthField, alphabetField) {
			m.wrong(p.in(name), "this field bounds the texts of format, and format is missing; leave the field out, or write format")
		}
		return
	}
	if s.MaxLength < 0 {
		m.wrong(p.in("max_length"), "%d is less than 1", s.MaxLength)
	}
	t, err := numberformat.Parse(s.Format)
	if err == nil {
		err = t.Determines(s.numbering())
	}
	if err == nil {
		_, err = t.Within(s.bounds())
	}
	if err != nil {
		m.wrong(at, "%v", err)
		return
	}
	for _, name := range given(s, belowField, startAtField, skipRangeField) {
		m.wrong(p.in(name), "this field needs integers in the column, and format makes texts; leave the field or format out")
	}
	if t.IsOrdered() {
		m.needless(p, "keyfill follows brought keys only if the format has no field but {n} that changes; leave this field out", givenField{"follow_explicit", s.FollowExplicit && !t.IsConstant() && s.Period.isNone()})
		return
	}
	m.needless(p, "the greatest number cannot be read from these texts; give {n} a width and write it last, as in INV-{n:05}, or leave this out",
		givenField{"follow_explicit", s.FollowExplicit}, givenField{"on_behind", s.OnBehind != ""})
}

// numbering returns what distinguishes the numberings of a sequence.
func (s Source) numbering() numberformat.Numbering {
	n := numberformat.Numbering{Every: numberformat.Every(s.Period.Every), Fiscal: s.Period.Starts != "" && s.Period.Starts != firstOfYear}
	if n.Every == "" {
		n.Every = numberformat.Never
	}
	if name, msg := parseTemplate(s.Name); msg == "" {
		n.Values = name.values()
	}
	for _, c := range s.scope() {
		n.Columns = append(n.Columns, c.Column)
	}
	return n
}

func (s Source) bounds() numberformat.Bounds {
	return numberformat.Bounds{MaxLength: s.MaxLength, Alphabet: s.Alphabet}
}

// formMapping returns the mapping of the numbers of a sequence to their texts, with the
// fields that depend on the execution as they are written; nil if the numbers are the keys.
func (s Source) formMapping() (keysource.Mapping, error) {
	if s.Format == "" {
		return nil, nil
	}
	t, err := numberformat.Parse(s.Format)
	if err != nil {
		return nil, err
	}
	f, err := t.Within(s.bounds())
	if err != nil {
		return nil, err
	}
	return f.Example(), nil
}

// formatted is the kind of a sequence whose numbers are texts.
var formatted = func() *kind {
	k := sequenceKind
	k.name += " with format"
	k.integer, k.layout, k.guarantee.Contiguous = false, dialect.SequentialAsString, false
	return &k
}()

// kindOf returns the kind of a source, or nil.
func kindOf(s Source) *kind {
	switch {
	case s.Kind == KindSequence && s.Format != "":
		return formatted
	case s.Kind == KindUUIDv7 && s.Prefix != "":
		return prefixed
	}
	return kindByName(s.Kind)
}
