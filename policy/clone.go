package policy

import (
	"maps"
	"slices"
)

// Clone returns a copy that later changes to c, its maps and slices do not
// reach. Now, Rand and Logger are shared.
func (c *Config) Clone() *Config {
	copied := *c
	copied.Sources = maps.Clone(c.Sources)
	copied.Tables = maps.Clone(c.Tables)
	for name, t := range copied.Tables {
		t.InPlace = t.InPlace.clone()
		t.Columns = slices.Clone(t.Columns)
		t.Keys = slices.Clone(t.Keys)
		for i := range t.Keys {
			t.Keys[i].InPlace = t.Keys[i].InPlace.clone()
		}
		copied.Tables[name] = t
	}
	return &copied
}

// clone returns a copy; nil of nil.
func (s *Source) clone() *Source {
	if s == nil {
		return nil
	}
	copied := *s
	return &copied
}
