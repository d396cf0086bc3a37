package policy

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/typeid"
	"github.com/keyfill/keyfill/keysource"
)

var uuidv7Kind = kind{
	name:      KindUUIDv7,
	doc:       "UUIDs that ascend with time",
	guarantee: Guarantee{Unique: UniqueByChance, Ordered: OrderedInProcess},
	layouts:   layouts,
	fields:    []*sourceField{prefixField},
	open: func(s Source, env keysource.Env) (keysource.Source, error) {
		if s.Prefix != "" {
			return keysource.NewTypeID(env, s.Prefix)
		}
		return keysource.NewUUIDv7(env), nil
	},
}

var prefixField = of("prefix", "What a key begins with, as in cus_01h455vb4pex5vsknk084sn02q (a TypeID): letters from a to z, 63 at most, with underscores in between only. The column holds text of 27 characters more; with layout: it holds the UUID alone. Left out, keys are UUIDs.",
	text.matching(`^[a-z]([a-z_]{0,61}[a-z])?$`), func(s *Source) *string { return &s.Prefix }).as("cus").
	ruled(fieldRules{check: checkPrefix})

func checkPrefix(m *mistakes, p place, s Source) {
	switch err := typeid.CheckPrefix(s.Prefix); {
	case err != nil && typeid.CheckPrefix(strings.TrimSuffix(s.Prefix, "_")) == nil:
		m.wrong(p.in("prefix"), "the prefix ends in an underscore, but keyfill adds an underscore after the prefix; leave yours out")
	case err != nil:
		m.wrong(p.in("prefix"), "%v", err)
	}
}

// prefixed is the kind of UUIDs with a prefix, which are text on every engine if the policy
// names no layout.
var prefixed = func() *kind {
	k := uuidv7Kind
	k.layout = dialect.SequentialAsString
	return &k
}()
