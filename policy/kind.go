package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// kind is one way to make keys. A new one is an entry of kinds, and of
// sourceFields for each field of its own.
type kind struct {
	name string
	doc  string

	// layouts are those that the keys can have; nil when there is nothing to
	// send.
	layouts []dialect.Layout

	// layout is the default whatever the dialect; "" is the dialect's own.
	layout dialect.Layout

	// fields are the fields of the source, besides kind, that it reads.
	fields []string

	// defaults sets the fields that s leaves out; nil when there are none.
	defaults func(s *Source)

	// open makes the source; nil when the engine makes the keys.
	open func(Source, keysource.Env) (keysource.Source, error)
}

// defaultKind is the kind where a table names no source.
const defaultKind = "uuidv7"

var layouts = []dialect.Layout{
	dialect.SequentialAsString, dialect.SequentialAsBinary, dialect.SequentialAtEnd,
}

var kinds = []kind{
	{
		name:    "uuidv7",
		doc:     "UUIDs that ascend with time",
		layouts: layouts,
		open: func(_ Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewUUIDv7(env), nil
		},
	},
	{
		name:    "uuidv4",
		doc:     "random UUIDs",
		layouts: layouts,
		open: func(_ Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewUUIDv4(env), nil
		},
	},
	{
		name:    "ulid",
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
		name:    "comb",
		doc:     "48 bits of time and 80 random bits, as .NET programs make them",
		layouts: layouts,
		fields:  []string{"epoch"},
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
		name: "identity",
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
func (k *kind) layoutFor(d *dialect.Dialect, l dialect.Layout) dialect.Layout {
	return cmp.Or(l, k.layout, d.DefaultLayout)
}

// complete returns s, which is of kind k, with its defaults.
func (k *kind) complete(s Source) Source {
	if k.defaults != nil {
		k.defaults(&s)
	}
	return s
}

// New returns a new source as s describes it, with a state of its own. The
// error is about an s that [Config.Compile] would refuse, or of kind identity,
// which makes no keys.
func (s Source) New(env keysource.Env) (keysource.Source, error) {
	m := &mistakes{}
	m.checkSource(place{}, s)
	if err := m.err(); err != nil {
		return nil, err
	}
	k := kindByName(s.Kind)
	if k.isIdentity() {
		return nil, &Error{Msg: fmt.Sprintf("kind %q makes no keys: the engine does", s.Kind)}
	}
	return k.open(k.complete(s), env)
}
