package policy

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

var combKind = kind{
	name:      KindCOMB,
	doc:       "48 bits of time and 80 random bits, as .NET programs make them",
	guarantee: Guarantee{Unique: UniqueByChance, Ordered: OrderedByMillisecond},
	layouts:   []dialect.Layout{dialect.SequentialAsString, dialect.SequentialAsBinary, dialect.SequentialAtEnd},
	fields:    []*sourceField{epochField},
	check:     checkCOMB,
	defaults: func(s *Source, _ *dialect.Dialect) {
		if s.Epoch == "" {
			s.Epoch = keysource.EpochDotNet
		}
	},
	open: func(s Source, env keysource.Env) (keysource.Source, error) {
		return keysource.NewCOMB(env, s.Epoch), nil
	},
}

func checkCOMB(m *mistakes, p place, s Source) {
	if s.Epoch != "" && !slices.Contains(epochs, string(s.Epoch)) {
		m.wrongField(p.in("epoch"), unknownWord("epoch", string(s.Epoch), epochs))
	}
}

var epochs = []string{string(keysource.EpochDotNet), string(keysource.EpochUnix)}
