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
	KindULID         = "ulid"         // see [keysource.ULID]
	KindCOMB         = "comb"         // see [keysource.COMB]
	KindSequence     = "sequence"     // see [keysource.Sequence]
	KindNative       = "native"       // a [keysource.Sequence] over a sequence of the engine
	KindMaxPlusOne   = "maxplusone"   // the greatest key of the table, and one
	KindPseudorandom = "pseudorandom" // a [keysource.Sequence] of seeds
	KindScatter      = "scatter"      // a [keysource.Sequence], permuted
	KindCoprime      = "coprime"      // a [keysource.Sequence], as text of steps around a circle
	KindComposite    = "composite"    // a [keysource.Snowflake], as text
	KindRecycled     = "recycled"     // blocks of series that processes own and leave to others
	KindSnowflake    = "snowflake"    // see [keysource.Snowflake]
	KindIdentity     = "identity"     // the engine makes the key
)

// kind is one way to make keys. Each is declared in the file of its name, with the fields
// that it alone reads, their checks and defaults; a field that several kinds read is in a
// file named after the field or its subject. A new kind is listed in kinds, a new field
// in ownFields.
type kind struct {
	name string
	doc  string

	// integer reports whether the keys are integers, which are sent as integers where no
	// layout is named.
	integer bool

	// stateful is [Stateful].
	stateful bool

	// layouts are the layouts that a policy may name; nil when there is nothing to send.
	layouts []dialect.Layout

	// layout is the default whatever the dialect; "" is the dialect's own.
	layout dialect.Layout

	// guarantee is the answer of [Guarantees] where nothing else decides; its Short
	// speaks of keys that are integers. It is declared here alone.
	guarantee Guarantee

	// fields are the fields of the source, besides kind, that it reads.
	fields []*sourceField

	// check reports the mistakes in the fields of s, which stands at p. They are the same
	// for each dialect. A nil check means that there can be none.
	check func(m *mistakes, p place, s Source)

	// suit reports why s, which is complete and stands at p, does not suit a dialect;
	// nil when every dialect suits.
	suit func(n namer, m *mistakes, p place, s Source)

	// defaults sets the fields that s leaves out; nil if the kind has no defaults. The
	// dialect is nil if it is not known.
	defaults func(s *Source, d *dialect.Dialect)

	// open makes the source; nil when the engine makes the keys.
	open func(Source, keysource.Env) (keysource.Source, error)
}

var layouts = []dialect.Layout{
	dialect.SequentialAsString, dialect.SequentialAsBinary, dialect.SequentialAtEnd,
}

// asText is the layout of keys that are text, or decimal text.
var asText = []dialect.Layout{dialect.SequentialAsString}

// reads reports whether the sources of kind k read a field.
func (k *kind) reads(f *sourceField) bool { return slices.Contains(k.fields, f) }

// isIdentity reports whether the engine makes the keys.
func (k *kind) isIdentity() bool { return k.open == nil }

// layoutFor returns the layout of keys for which the policy names l, perhaps "".
// Only the layout of integers stays "".
func (k *kind) layoutFor(d *dialect.Dialect, l dialect.Layout) dialect.Layout {
	if k.integer {
		return l
	}
	return cmp.Or(l, k.layout, d.DefaultLayout)
}

// fillFor returns the values that count as "no key" in a column of keys of a layout,
// unless the policy sets them. Zero is a key only as an integer of an engine that stores
// it, which sessions may choose with NO_AUTO_VALUE_ON_ZERO.
func (k *kind) fillFor(d *dialect.Dialect, l dialect.Layout, zeroIsKey bool) Fill {
	if k.integer && l == "" && (zeroIsKey || !d.ZeroIsNoKey) {
		return fillAll &^ FillZero
	}
	return fillAll
}

// complete returns a copy of s, which is of kind k, with its defaults for a
// dialect; nil when that is not known.
func (k *kind) complete(s Source, d *dialect.Dialect) Source {
	s = *s.clone()
	s.saysNoSchema = false // it has counted, and the source is compared with others
	if k.defaults != nil {
		k.defaults(&s, d)
	}
	return s
}

// ofDatabase is the error about a source whose state a database has to hold.
func ofDatabase(s Source, _ keysource.Env) (keysource.Source, error) {
	return nil, &Error{Msg: "a " + s.Kind + " needs a database: fill the table through one that is opened with it"}
}
