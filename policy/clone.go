package policy

import (
	"maps"
	"slices"
)

// Clone returns a copy that stays the same when c, its maps or its slices are changed
// later.
func (c *Config) Clone() *Config {
	copied := *c
	copied.Stores = maps.Clone(c.Stores)
	for name, s := range copied.Stores {
		s.Endpoints = slices.Clone(s.Endpoints)
		if s.TLS != nil {
			tls := *s.TLS
			s.TLS = &tls
		}
		copied.Stores[name] = s
	}
	copied.Sources = maps.Clone(c.Sources)
	for name, s := range copied.Sources {
		copied.Sources[name] = *s.clone()
	}
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
