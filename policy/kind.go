package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// The kinds of sources, as the file spells them.
const (
	KindUUIDv7       = "uuidv7"       // see [keysource.UUIDv7]; the default
	KindUUIDv4       = "uuidv4"       // see [keysource.UUIDv4]
	KindUUIDv5       = "uuidv5"       // see [keysource.UUIDv5]
	KindULID         = "ulid"         // see [keysource.ULID]
	KindCOMB         = "comb"         // see [keysource.COMB]
	KindSequence     = "sequence"     // blocks of integers, see [keysource.Reserver]
	KindNative       = "native"       // blocks of integers of a sequence of the engine
	KindMaxPlusOne   = "maxplusone"   // the greatest key of the table, plus one
	KindPseudorandom = "pseudorandom" // a sequence of seeds, see [keysource.Pseudorandom]
	KindScatter      = "scatter"      // a sequence whose numbers are permuted, see [keysource.Scatter]
	KindCoprime      = "coprime"      // a sequence whose numbers become short text, see [keysource.Coprime]
	KindComposite    = "composite"    // a snowflake, as text, see [keysource.Composite]
	KindRecycled     = "recycled"     // integers of a series that a process owns, see [keysource.SeriesStore]
	KindSnowflake    = "snowflake"    // integers of the time and a worker, see [keysource.SnowflakeBits]
	KindIdentity     = "identity"     // the engine makes the key
)

// kind is one way to make keys. Each kind is declared in a file named after it, with the
// fields that it alone reads, their checks and defaults. A field that several kinds read is
// in a file named after the field or its subject. A new kind is listed in kinds, a new
// field in ownFields.
type kind struct {
	name string
	doc  string

	// integer reports whether the keys are integers. They are sent as integers if no
	// layout is named.
	integer bool

	// stateful is the result of [Stateful] for this kind.
	stateful bool

	// layouts are the layouts that a policy may name for the keys; nil if it may name none.
	layouts []dialect.Layout

	// layout is the default layout for all dialects. If it is empty, the dialect has
	// the default.
	layout dialect.Layout

	// guarantee is the result of [Guarantees] unless the settings of a source change it.
	// [Guarantees] sets the field Short. Guarantees are declared here alone.
	guarantee Guarantee

	// fields are the fields of the source, besides kind, that it reads.
	fields []*sourceField

	// check reports the mistakes in s, which is at p, that do not depend on the dialect and
	// are not about one field alone. It is nil if there can be none.
	check func(m *mistakes, p place, s Source)

	// suit reports why s, whose defaults are set and which is at p, does not suit a dialect,
	// apart from its fields: see suitAll. It is nil if every dialect suits.
	suit func(n namer, m *mistakes, p place, s Source)

	// defaults sets the fields that s leaves out. It is nil if the kind has no
	// defaults. d is nil if the dialect is not known.
	defaults func(s *Source, d *dialect.Dialect)

	// open makes the source. It is nil if the engine makes the keys.
	open func(Source, keysource.Env) (keysource.Source, error)
}

// layouts are the layouts of UUIDs, which are all that there are.
var layouts = []dialect.Layout{
	dialect.SequentialAsString, dialect.SequentialAsBinary, dialect.SequentialAtEnd, dialect.Swapped,
}

// asText is the list of layouts of keys that can only be sent as text.
var asText = []dialect.Layout{dialect.SequentialAsString}

// reads reports whether sources of kind k have the field f.
func (k *kind) reads(f *sourceField) bool { return slices.Contains(k.fields, f) }

// suitAll reports why s, whose defaults are set and which is at p, does not suit the dialect
// of n.
func (k *kind) suitAll(n namer, m *mistakes, p place, s Source) {
	if k.suit != nil {
		k.suit(n, m, p, s)
	}
	for _, f := range k.fields {
		if f.suit != nil {
			f.suit(n, m, p, s)
		}
	}
}

// isIdentity reports whether k is the kind identity, whose keys the engine makes.
func (k *kind) isIdentity() bool { return k.open == nil }

// layoutFor returns the layout of keys for which the policy names l, which may be
// empty. The result is empty only for integers that are sent as integers.
func (k *kind) layoutFor(d *dialect.Dialect, l dialect.Layout) dialect.Layout {
	if k.integer {
		return l
	}
	return cmp.Or(l, k.layout, d.DefaultLayout)
}

// fillFor returns the values that count as "no key" by default, in a column whose keys
// have a layout. An integer 0 counts as a key only if the engine stores it as it is; a
// session of MySQL chooses that by NO_AUTO_VALUE_ON_ZERO.
func (k *kind) fillFor(d *dialect.Dialect, l dialect.Layout, zeroIsKey bool) Fill {
	if k.integer && l == "" && (zeroIsKey || !d.ZeroIsNoKey) {
		return fillAll &^ FillZero
	}
	return fillAll
}

// complete returns a copy of s, a source of kind k, with its defaults for a dialect. d
// is nil if the dialect is not known.
func (k *kind) complete(s Source, d *dialect.Dialect) Source {
	s = *s.clone()
	s.saysNoSchema = false // withDefaultSchema has used this flag already, and sources that differ only in it must compare as equal
	if k.defaults != nil {
		k.defaults(&s, d)
	}
	return s
}

// ofDatabase implements open for kinds whose state (counter) must be in a database: it
// fails.
func ofDatabase(s Source, _ keysource.Env) (keysource.Source, error) {
	return nil, &Error{Msg: "a " + s.Kind + " needs a database: fill the table through one that is opened with it"}
}
