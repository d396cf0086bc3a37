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

// kind is one way to make keys. A new one is an entry of kinds, and of
// sourceFields for each field of its own.
type kind struct {
	name string
	doc  string

	// integer says that the keys are integers, which are sent as integers where
	// no layout is named.
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
	fields []string

	// check reports what is wrong with the fields of s, which stands at p. The
	// dialect makes no difference. A nil check says that there can be none.
	check func(m *mistakes, p place, s Source)

	// suit reports why s, which is complete and stands at p, does not suit a dialect;
	// nil when every dialect suits.
	suit func(n namer, m *mistakes, p place, s Source)

	// defaults sets the fields that s leaves out; nil when there are none. The
	// dialect is nil when it is not known.
	defaults func(s *Source, d *dialect.Dialect)

	// open makes the source; nil when the engine makes the keys.
	open func(Source, keysource.Env) (keysource.Source, error)
}

// defaultKind is the kind where a table names no source.
const defaultKind = KindUUIDv7

var layouts = []dialect.Layout{
	dialect.SequentialAsString, dialect.SequentialAsBinary, dialect.SequentialAtEnd,
}

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

// fillFor returns the values that count as "no key" in a column of keys of a layout where
// the policy does not say: zero is a key only as an integer of an engine for
// which it is one, as sessions may say with NO_AUTO_VALUE_ON_ZERO.
func (k *kind) fillFor(d *dialect.Dialect, l dialect.Layout, zeroIsKey bool) Fill {
	if k.integer && l == "" && (zeroIsKey || !d.ZeroIsNoKey) {
		return fillAll &^ FillZero
	}
	return fillAll
}

// withDefaultSchema returns s, which is of kind k, as ensure_schema: true of the file completes it. isNamed says
// that its state has a name that other entries and files may use: a misspelt one would
// begin a second state, so that its row is made only where the source itself says so.
func (k *kind) withDefaultSchema(s Source, isNamed bool) Source {
	switch {
	case s.EnsureSchema, s.saysNoSchema, !slices.Contains(k.fields, "ensure_schema"):
		return s
	case s.Store == StoreNone, s.Lock == LockNone, s.Table != nil: // where it would be an error
		return s
	}
	s.EnsureSchema = true
	if isNamed && s.Create == nil && slices.Contains(k.fields, "create") {
		s.Create = new(false)
	}
	return s
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
