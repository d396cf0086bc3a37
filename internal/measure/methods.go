package measure

import (
	"fmt"

	"github.com/keyfill/keyfill/policy"
)

// Method is a way to make keys.
type Method struct {
	Name  string // the method's name in environment variables and in -run
	Title string // the method's title in tables

	// source returns the source of the keys of a process; processes are numbered from 0.
	// source is nil if the engine makes the keys.
	source func(process int) policy.Source

	layout *Layout // the layout whose keys the method makes; may be nil

	Chars      int  // how many characters a key has; zero if keys are integers
	GapFree    bool // whether the keys are 1…n, without gaps
	Duplicates bool // whether the primary key may refuse a key as a duplicate
}

// These are the names of methods with which the other methods are compared. Sybase's
// TechNote of 1994 describes them.
const (
	Joined   = "joined"
	MaxRange = "max"
	Identity = "identity"
	Recycled = "recycled"
)

// Methods returns the methods to measure, the monotonic ones first.
func Methods() []Method {
	plain := func(s policy.Source) func(int) policy.Source {
		return func(int) policy.Source { return s }
	}
	return []Method{
		{Name: MaxRange, Title: "max+1, range locked", GapFree: true,
			source: plain(policy.Source{Kind: policy.KindMaxPlusOne, EnsureSchema: true})},
		{Name: "max-nolock", Title: "max+1, no lock", GapFree: true, Duplicates: true,
			source: plain(policy.Source{Kind: policy.KindMaxPlusOne, Lock: policy.LockNone})},
		{Name: Joined, Title: "next-key table, joined", GapFree: true,
			source: plain(policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, EnsureSchema: true})},
		{Name: "blocks", Title: "next-key table, blocks",
			source: plain(policy.Source{Kind: policy.KindSequence, EnsureSchema: true})},
		{Name: Identity, Title: "identity"},
		{Name: "pseudorandom", Title: "pseudo-random",
			source: plain(policy.Source{Kind: policy.KindPseudorandom, EnsureSchema: true})},
		{Name: "composite", Title: "composite", Chars: 20,
			source: func(process int) policy.Source {
				return policy.Source{Kind: policy.KindComposite, Worker: &process, EnsureSchema: true}
			}},
		{Name: Recycled, Title: "recycled series",
			source: plain(policy.Source{Kind: policy.KindRecycled, EnsureSchema: true})},
		{Name: "coprime", Title: "coprime", Chars: 6,
			source: plain(policy.Source{Kind: policy.KindCoprime, Length: 6, EnsureSchema: true})},
	}
}

// Method returns a method that makes keys of the layout.
func (l Layout) Method(name, title string) Method {
	return Method{Name: name, Title: title, layout: &l}
}

// IsOwn reports whether the engine makes the keys.
func (m Method) IsOwn() bool { return m.source == nil && (m.layout == nil || m.layout.source == nil) }

// Create returns the statement that creates a table of orders.
func (m Method) Create(c Columns, table string) string {
	column := c.Integer
	switch {
	case m.layout != nil:
		column = m.layout.column(c)
	case m.source == nil:
		column = c.Identity
	case m.Chars > 0:
		column = fmt.Sprintf(c.Text, m.Chars) + " NOT NULL PRIMARY KEY"
	}
	return "CREATE TABLE " + table + " (id " + column + ", customer INT NOT NULL, amount INT NOT NULL, note VARCHAR(40) NOT NULL)"
}

// Policy returns the policy of a process for a table; nil if the engine makes the keys.
func (m Method) Policy(dialect, table string, process int) *policy.Config {
	if m.layout != nil {
		l := *m.layout
		if l.source != nil && l.source.Worker != nil { // each process needs its own worker's number
			own := *l.source
			own.Worker = &process
			l.source = &own
		}
		return l.Policy(dialect, table)
	}
	if m.source == nil {
		return nil
	}
	s := m.source(process)
	return &policy.Config{
		Dialect: dialect,
		Tables:  map[string]policy.Table{table: {Column: "id", InPlace: &s}},
	}
}
