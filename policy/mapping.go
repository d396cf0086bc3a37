package policy

import (
	"cmp"

	"github.com/keyfill/keyfill/keysource"
)

// Mapping returns the mapping that turns the numbers of a counting source into keys, or nil
// if the numbers are the keys. s is the source of a [RuleKey], state the name of its state
// (counter), and bits how many bits an integer may have, as in RuleKey; 0 means 63. The
// error is about an s or bits that [Config.Compile] refuses. The keys of a sequence with
// Format show the fields that depend on the execution, such as {year}, as they are written.
func (s Source) Mapping(state string, bits int) (keysource.Mapping, error) {
	switch s.Kind {
	case KindSequence:
		return s.formMapping()
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

// mapped returns m; or if there is an error, a nil interface instead of one that holds
// a nil pointer.
func mapped[M keysource.Mapping](m M, err error) (keysource.Mapping, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}
