package policy

import (
	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/keysource"
)

var epochField = of("epoch", "From when the time in a key counts. A comb counts from dotnet (0001-01-01) or unix (1970-01-01), a snowflake from a day in UTC. Left out, it is dotnet for a comb and 2020-01-01 for a snowflake.",
	epochShape, func(s *Source) *keysource.Epoch { return &s.Epoch }).as("unix", "2024-01-01")

// epochShape is the shape (type of a value) of the field epoch: a word or a day. Each kind
// of source checks which words and days it accepts. YAML reads a day without quotes as a
// timestamp, not as a string.
var epochShape = shape[keysource.Epoch]{
	read: func(r *reader, p place, n *yaml.Node) keysource.Epoch {
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" && r.isPlain(p, n) {
			return keysource.Epoch(n.Value)
		}
		return keysource.Epoch(text.read(r, p, n))
	},
	schema: schema{"type": "string", "pattern": `^(dotnet|unix|[0-9]{4}-[0-9]{2}-[0-9]{2})$`},
}
