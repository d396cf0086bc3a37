package policy

import "slices"

// checkWord checks that word, the value of a field of the source at p, is one of words.
func checkWord[V ~string](m *mistakes, p place, field string, word V, words []string) {
	if word != "" && !slices.Contains(words, string(word)) {
		m.wrongField(p.in(field), unknownWord(fieldWhat(field), string(word), words))
	}
}

// fieldWhat returns what messages call a value of the field.
func fieldWhat(field string) string { return "word for " + field + ":" }

// sourceField is a field of a source, with the rules about it. Except for the field kind,
// each belongs to the kinds that list it.
type sourceField struct {
	field[Source]

	isSet func(s *Source) bool // isSet reports whether s has a value other than the zero value in the field

	fieldRules
}

// fieldRules are the rules about a field of a source.
type fieldRules struct {
	// check reports the mistakes in the field of the source at p, which may not set it.
	// They do not depend on the dialect. It is nil if there can be none.
	check func(m *mistakes, p place, s Source)

	// suit reports why the field of the source at p, whose defaults are set, does not suit
	// a dialect. It is nil if every dialect suits.
	suit func(n namer, m *mistakes, p place, s Source)

	// upstream says why the field cannot stand beside upstream, empty if it can.
	upstream string

	// owns is what a message calls the thing that a source with this field counts by, and that
	// no second column can have, such as the rows of one parent table. It is empty for most
	// fields.
	owns string
}

// of returns the field of a source called name. See [bind] for the arguments.
func of[V comparable](name, doc string, s shape[V], to func(s *Source) *V) *sourceField {
	return &sourceField{
		field: bind(name, doc, s, to),
		isSet: func(s *Source) bool { return *to(s) != *new(V) },
	}
}

// given returns the names of the fields, out of the given fields, that s sets.
func given(s Source, fields ...*sourceField) (names []string) {
	for _, f := range fields {
		if f.isSet(&s) {
			names = append(names, f.name)
		}
	}
	return names
}

// byDefault and as do the same as the methods of field[Source] with these names.
func (f *sourceField) byDefault(value any) *sourceField {
	f.field = f.field.byDefault(value)
	return f
}

func (f *sourceField) as(examples ...any) *sourceField {
	f.field = f.field.as(examples...)
	return f
}

// ruled sets the rules of the field.
func (f *sourceField) ruled(r fieldRules) *sourceField {
	f.fieldRules = r
	return f
}
