package policy

import "github.com/keyfill/keyfill/keysource"

var uuidv7Kind = kind{
	name:      KindUUIDv7,
	doc:       "UUIDs that ascend with time",
	guarantee: Guarantee{Unique: UniqueByChance, Ordered: OrderedInProcess},
	layouts:   layouts,
	open: func(_ Source, env keysource.Env) (keysource.Source, error) {
		return keysource.NewUUIDv7(env), nil
	},
}
