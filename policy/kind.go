package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// The kinds of sources, as the file spells them.
const (
	KindUUIDv7    = "uuidv7"    // see [keysource.UUIDv7]; the default
	KindUUIDv4    = "uuidv4"    // see [keysource.UUIDv4]
	KindULID      = "ulid"      // see [keysource.ULID]
	KindCOMB      = "comb"      // see [keysource.COMB]
	KindSequence  = "sequence"  // see [keysource.Sequence]
	KindSnowflake = "snowflake" // see [keysource.Snowflake]
	KindIdentity  = "identity"  // the engine makes the key
)

// kind is one way to make keys. A new one is an entry of kinds, and of
// sourceFields for each field of its own.
type kind struct {
	name string
	doc  string

	// integer says that the keys are integers, which are sent as such where no
	// layout is named.
	integer bool

	// stateful is [Source.Stateful].
	stateful bool

	// layouts are those that may be named; nil when there is nothing to send.
	layouts []dialect.Layout

	// layout is the default whatever the dialect; "" is the dialect's own.
	layout dialect.Layout

	// fields are the fields of the source, besides kind, that it reads.
	fields []string

	// check says what is wrong with the fields of s, which stands at p; nil when
	// nothing can be.
	check func(m *mistakes, p place, s Source)

	// defaults sets the fields that s leaves out; nil when there are none.
	defaults func(s *Source)

	// open makes the source; nil when the engine makes the keys.
	open func(Source, keysource.Env) (keysource.Source, error)
}

// defaultKind is the kind where a table names no source.
const defaultKind = KindUUIDv7

var layouts = []dialect.Layout{
	dialect.SequentialAsString, dialect.SequentialAsBinary, dialect.SequentialAtEnd,
}

var kinds = []kind{
	{
		name:    KindUUIDv7,
		doc:     "UUIDs that ascend with time",
		layouts: layouts,
		open: func(_ Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewUUIDv7(env), nil
		},
	},
	{
		name:    KindUUIDv4,
		doc:     "random UUIDs",
		layouts: layouts,
		open: func(_ Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewUUIDv4(env), nil
		},
	},
	{
		name:    KindULID,
		doc:     "ULIDs, for text columns, or with layout binary for columns of 16 bytes",
		layouts: []dialect.Layout{dialect.SequentialAsString, dialect.SequentialAsBinary},
		// Text of its own alphabet, which neither uniqueidentifier nor RAW
		// holds: those who want a ULID there say "layout: binary".
		layout: dialect.SequentialAsString,
		open: func(_ Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewULID(env), nil
		},
	},
	{
		name:    KindCOMB,
		doc:     "48 bits of time and 80 random bits, as .NET programs make them",
		layouts: layouts,
		fields:  []string{"epoch"},
		check:   (*mistakes).checkCOMB,
		defaults: func(s *Source) {
			if s.Epoch == "" {
				s.Epoch = keysource.EpochDotNet
			}
		},
		open: func(s Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewCOMB(env, s.Epoch), nil
		},
	},
	{
		name:     KindSequence,
		doc:      "integers that count through a row of a store",
		integer:  true,
		stateful: true,
		layouts:  []dialect.Layout{dialect.SequentialAsString},
		fields: []string{
			"name", "store", "block", "min_block", "max_block", "start", "ensure_schema", "create",
			"exclusive", "follow_explicit", "on_behind", "on_store_rollback",
		},
		check:    (*mistakes).checkSequence,
		defaults: completeSequence,
		open: func(Source, keysource.Env) (keysource.Source, error) {
			return nil, &Error{Msg: "a sequence needs a store: fill the table through a database that is opened with it"}
		},
	},
	{
		name:     KindSnowflake,
		doc:      "integers of the time, a worker's number and a sequence number",
		integer:  true,
		stateful: true,
		layouts:  []dialect.Layout{dialect.SequentialAsString},
		fields: []string{
			"epoch", "name", "store", "ensure_schema", "exclusive", "on_behind",
			"worker", "worker_env", "worker_ordinal",
			"bits", "time_bits", "worker_bits", "sequence_bits", "unit",
		},
		check:    (*mistakes).checkSnowflake,
		defaults: completeSnowflake,
		open: func(s Source, env keysource.Env) (keysource.Source, error) {
			source, err := keysource.NewSnowflake(s.SnowflakeOptions(), env)
			if err != nil {
				return nil, err // and not a *Snowflake that is nil
			}
			return source, nil
		},
	},
	{
		name: KindIdentity,
		doc:  "made by the engine: the table is passed untouched",
	},
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
// Only that of integers stays "".
func (k *kind) layoutFor(d *dialect.Dialect, l dialect.Layout) dialect.Layout {
	if k.integer {
		return l
	}
	return cmp.Or(l, k.layout, d.DefaultLayout)
}

// fillFor returns what counts as "no key" in a column of keys of a layout where
// the policy does not say: zero is a key only as an integer of an engine for
// which it is one, as sessions may say with NO_AUTO_VALUE_ON_ZERO.
func (k *kind) fillFor(d *dialect.Dialect, l dialect.Layout, zeroIsKey bool) Fill {
	if k.integer && l == "" && (zeroIsKey || !d.ZeroIsNoKey) {
		return fillAll &^ FillZero
	}
	return fillAll
}

// complete returns a copy of s, which is of kind k, with its defaults.
func (k *kind) complete(s Source) Source {
	s = *s.clone()
	if k.defaults != nil {
		k.defaults(&s)
	}
	return s
}
