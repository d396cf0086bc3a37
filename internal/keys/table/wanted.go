package table

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/typeid"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// UUIDLength is the length of a UUID as text in characters.
const UUIDLength = 36

// ulidLength is the length of a ULID as text in characters.
const ulidLength = 26

// Wanted returns what the catalog must say about the column, so that it can hold its
// keys.
func (k *Column) Wanted() catalog.Key {
	length := k.width()
	if k.Shape == nil && k.Layout == dialect.SequentialAsString && !k.Rule.Integer {
		length = UUIDLength
		if prefix := k.Rule.Prefix; prefix != "" {
			length = len(prefix) + len("_") + typeid.SuffixSize
		} else if k.Rule.Source.Kind == policy.KindULID {
			length = ulidLength
		}
	}
	return catalog.Key{
		Column:    k.Name,
		Length:    length,
		Integer:   k.Rule.Integer,
		Text:      k.text && !k.Rule.Integer,
		Prefixed:  k.Rule.Prefix != "",
		Layout:    k.Layout,
		MaxBits:   k.bits(),
		State:     policy.Stateful(k.Rule.Source),
		Exclusive: k.Rule.Source.Exclusive,
		Below:     k.Rule.Source.Below,
		Counts:    k.Rule.Source.Kind == policy.KindSequence && k.Rule.Source.Scope == nil && k.Rule.Integer,
		COMB:      k.Rule.Source.Kind == policy.KindCOMB,
		Native:    k.Rule.Source.Kind == policy.KindNative,
		Cased:     k.cased(),
	}
}

// bits returns how many bits an integer key has.
func (k *Column) bits() int {
	if _, ok := k.Shape.(*keysource.Pseudorandom); ok {
		return min(k.Rule.MaxBits, pseudorandomBits)
	}
	return k.Rule.MaxBits
}

// pseudorandomBits is the greatest number of bits in the keys of a pseudorandom source.
const pseudorandomBits = 31

// width returns the length in characters of the longest key, for a kind whose keys have
// an alphabet of their own; 0 for other kinds.
func (k *Column) width() int {
	switch shape := k.Shape.(type) {
	case *keysource.Coprime:
		return shape.Width()
	case *keysource.Composite:
		return k.Rule.Source.Length
	case *numberformat.Mapping:
		return shape.Form.Longest()
	}
	return 0
}

// cased reports whether two keys may differ only by the case of a letter.
func (k *Column) cased() bool {
	c, ok := k.Shape.(*keysource.Coprime)
	return ok && c.CaseMatters()
}
