package approaches

import (
	"github.com/keyfill/keyfill/policy"
)

// Method is a way to make keys.
type Method struct {
	Name  string // for the environment and -run
	Title string // in tables

	// source is how keyfill makes the keys of a process, which are numbered from
	// 0; nil where the engine makes them.
	source func(process int) policy.Source

	chars      int  // that a key has; 0 where keys are integers
	gapFree    bool // the keys are 1…n
	duplicates bool // the primary key may refuse a key as a duplicate
}

// The methods that others are compared with, and whose lines the article speaks of.
const (
	joined   = "joined"
	maxRange = "max"
	identity = "identity"
	recycled = "recycled"
)

// Methods are the measured methods, the monotonic ones first.
func Methods() []Method {
	plain := func(s policy.Source) func(int) policy.Source {
		return func(int) policy.Source { return s }
	}
	return []Method{
		{Name: maxRange, Title: "max+1, range locked", gapFree: true,
			source: plain(policy.Source{Kind: policy.KindMaxPlusOne, EnsureSchema: true})},
		{Name: "max-nolock", Title: "max+1, no lock", gapFree: true, duplicates: true,
			source: plain(policy.Source{Kind: policy.KindMaxPlusOne, Lock: policy.LockNone})},
		{Name: joined, Title: "next-key table, joined", gapFree: true,
			source: plain(policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, EnsureSchema: true})},
		{Name: "blocks", Title: "next-key table, blocks",
			source: plain(policy.Source{Kind: policy.KindSequence, EnsureSchema: true})},
		{Name: identity, Title: "identity"},
		{Name: "pseudorandom", Title: "pseudo-random",
			source: plain(policy.Source{Kind: policy.KindPseudorandom, EnsureSchema: true})},
		{Name: "composite", Title: "composite", chars: 20,
			source: func(process int) policy.Source {
				return policy.Source{Kind: policy.KindComposite, Worker: &process, EnsureSchema: true}
			}},
		{Name: recycled, Title: "recycled series",
			source: plain(policy.Source{Kind: policy.KindRecycled, EnsureSchema: true})},
		{Name: "coprime", Title: "coprime", chars: 6,
			source: plain(policy.Source{Kind: policy.KindCoprime, Length: 6, EnsureSchema: true})},
	}
}

// column returns the type of the key column on an engine.
func (m Method) column(e Engine) string {
	switch {
	case m.source == nil:
		return e.identity
	case m.chars > 0:
		return e.text(m.chars)
	}
	return "BIGINT NOT NULL"
}

// config returns the policy of a process for a table.
func (m Method) config(e Engine, table string, process int) *policy.Config {
	s := m.source(process)
	return &policy.Config{
		Dialect: e.Dialect.Name,
		Tables:  map[string]policy.Table{table: {Column: "id", InPlace: &s}},
	}
}
