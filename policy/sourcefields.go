package policy

import "slices"

// checkWord checks a word, which is the field of the source at p.
func checkWord[V ~string](m *mistakes, p place, field string, word V, words []string) {
	if word != "" && !slices.Contains(words, string(word)) {
		m.wrongField(p.in(field), unknownWord(fieldWhat(field), string(word), words))
	}
}

// fieldWhat names such a word in messages.
func fieldWhat(field string) string { return "word for " + field + ":" }

// sourceField is a field of a source. But for kind, each belongs to the kinds that list it.
type sourceField struct {
	field[Source]

	isSet func(s *Source) bool // to another than the zero value
}

// of returns the field of a source called name, as [bind] does.
func of[V comparable](name, doc string, s shape[V], to func(s *Source) *V) *sourceField {
	return &sourceField{
		field: bind(name, doc, s, to),
		isSet: func(s *Source) bool {
			var zero V
			return *to(s) != zero
		},
	}
}

// given returns the names of the given fields that s sets.
func given(s Source, fields ...*sourceField) (names []string) {
	for _, f := range fields {
		if f.isSet(&s) {
			names = append(names, f.name)
		}
	}
	return names
}

// byDefault and as are the methods of the field.
func (f *sourceField) byDefault(value any) *sourceField {
	f.field = f.field.byDefault(value)
	return f
}

func (f *sourceField) as(examples ...any) *sourceField {
	f.field = f.field.as(examples...)
	return f
}
