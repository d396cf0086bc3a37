package policy

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

var ulidKind = kind{
	name:      KindULID,
	doc:       "ULIDs, for text columns, or with layout binary for columns of 16 bytes",
	guarantee: Guarantee{Unique: UniqueByChance, Ordered: OrderedInProcess},
	layouts:   []dialect.Layout{dialect.SequentialAsString, dialect.SequentialAsBinary},
	// A ULID is text of its own alphabet, which neither uniqueidentifier nor RAW holds.
	// For such a column the policy needs "layout: binary".
	layout: dialect.SequentialAsString,
	open: func(_ Source, env keysource.Env) (keysource.Source, error) {
		return keysource.NewULID(env), nil
	},
}
