package suites

import "go.yaml.in/yaml/v3"

// Policy is a way to fill the tables of all suites.
type Policy struct {
	Name   string
	source any
	// UUIDs reports whether the policy is for Suite.UUIDs, not for Suite.Integers. The
	// suites bring their own keys in text columns, so such a run shows that keyfill keeps
	// these keys.
	UUIDs bool
}

// Policies are the ways in which each suite is filled. The suites make their tables with
// AUTO_INCREMENT, serial and the like, so the sequences say that they are exclusive. Then
// the sequence with blocks follows the keys that INSERTs bring, as the engine's counter
// would; for the joined sequence, the policy has to set follow_explicit.
var Policies = []Policy{
	{Name: "sequence", source: map[string]any{"kind": "sequence", "ensure_schema": true, "exclusive": true, "block": 10}},
	{Name: "joined", source: map[string]any{"kind": "sequence", "ensure_schema": true, "exclusive": true, "transaction": "joined", "follow_explicit": true}},
	{Name: "uuidv7", source: "uuidv7", UUIDs: true},
}

// File returns the policy file for a suite with a driver, or nil if the suite has no table
// for it.
func (p Policy) File(s *Suite, r Run) ([]byte, error) {
	groups := s.Integers
	if p.UUIDs {
		groups = s.UUIDs
	}
	entries := map[string]any{}
	for _, group := range groups {
		if !matches(group.Drivers, r.Driver) || !matches(group.Policies, p.Name) {
			continue
		}
		for _, table := range group.Tables {
			entry := map[string]any{"column": r.spelled(group.Column), "source": p.source}
			if group.MaxBits > 0 {
				entry["max_bits"] = group.MaxBits
			}
			entries[r.spelled(table)] = entry
		}
	}
	if len(entries) == 0 {
		return nil, nil
	}
	return yaml.Marshal(map[string]any{"version": 1, "tables": entries})
}

// spelled returns a name as a policy writes it.
func (r Run) spelled(name string) string {
	return r.Quote + name + r.Quote
}
