package policy

import "github.com/keyfill/keyfill/keysource"

var uuidv4Kind = kind{
	name:      KindUUIDv4,
	doc:       "random UUIDs",
	guarantee: Guarantee{Unique: UniqueByChance, Ordered: NotOrdered, Unguessable: true},
	layouts:   layouts,
	open: func(_ Source, env keysource.Env) (keysource.Source, error) {
		return keysource.NewUUIDv4(env), nil
	},
}
