package policy

import (
	"cmp"

	"github.com/keyfill/keyfill/keysource"
)

// Mapping returns the mapping that turns the numbers that s counts, for the state
// called state, into keys; nil when the numbers are the keys. bits is how many an
// integer may have, as in [RuleKey]; 0 is 63. s is the source of a [RuleKey]. The error
// is one of keysource, about an s or bits that [Config.Compile] refuses.
func (s Source) Mapping(state string, bits int) (keysource.Mapping, error) {
	switch s.Kind {
	case KindPseudorandom:
		return keysource.NewPseudorandom(), nil
	case KindScatter:
		return mapped(keysource.NewScatter(cmp.Or(bits, 63), cmp.Or(s.Key, state)))
	case KindCoprime:
		return mapped(keysource.NewCoprime(s.coprimeOptions()))
	case KindComposite:
		return mapped(keysource.NewComposite(cmp.Or(s.Length, compositeLengths[0])))
	}
	return nil, nil
}

// mapped returns a mapping, and with an error none rather than a pointer that is
// nil.
func mapped[M keysource.Mapping](m M, err error) (keysource.Mapping, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}
