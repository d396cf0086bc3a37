package policy

import (
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/keysource"
)

// kinds are all kinds, in the order of the documentation.
var kinds = []kind{
	uuidv7Kind, uuidv4Kind, uuidv5Kind, ulidKind, combKind,
	sequenceKind, nativeKind, maxPlusOneKind,
	pseudorandomKind, scatterKind, coprimeKind,
	compositeKind, recycledKind, snowflakeKind, identityKind,
}

// defaultKind is the kind of source for a table that names no source.
const defaultKind = KindUUIDv7

// kindByName returns the kind called name, or nil.
func kindByName(name string) *kind {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 {
		return &kinds[i]
	}
	return nil
}

func kindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Stateful reports whether the keys of s come from a state, such as a counter, that
// must be separate from the states of other columns and, except for a snowflake with
// store "none", stored. Integers come from such a state, and so do the keys of a
// coprime and a composite. The engine holds the state of a native source; the column
// itself is the state of maxplusone.
func Stateful(s Source) bool {
	k := kindByName(s.Kind)
	return k != nil && k.stateful
}

// NewSource returns a new source as s describes it, with a state of its own; a
// snowflake gets no Marker. It fails if [Config.Compile] would refuse s, if the kind is
// identity, which makes no keys, if the state has to be in a database, or if the worker of
// a snowflake has no number.
func NewSource(s Source, env keysource.Env) (keysource.Source, error) {
	m := &mistakes{}
	checkSource(m, place{}, s)
	if err := m.err(); err != nil {
		return nil, err
	}
	k := kindByName(s.Kind)
	if k.isIdentity() {
		return nil, &Error{Msg: fmt.Sprintf("kind %q makes no keys: the engine does", s.Kind)}
	}
	return k.open(k.complete(s, nil), env)
}

// integerKinds returns the names of the kinds that make integers.
func integerKinds() []string {
	var names []string
	for _, k := range kinds {
		if k.integer {
			names = append(names, k.name)
		}
	}
	return names
}

// kindsWith returns the names of the kinds that have a field.
func kindsWith(field string) []string {
	var names []string
	for _, k := range kinds {
		if slices.ContainsFunc(k.fields, func(f *sourceField) bool { return f.name == field }) {
			names = append(names, k.name)
		}
	}
	return names
}
