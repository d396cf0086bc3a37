package measure

import (
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// Layout is a kind of key, in the layout in which it is stored.
type Layout struct {
	Name   string
	source *policy.Source // the source of the keys; nil if the engine makes them
	sent   dialect.Layout
	column func(Columns) string
}

// These are the names of layouts with which the other layouts are compared.
const (
	Own      = "the engine's own"
	OwnAgain = "the engine's own, again"
	V7       = "uuidv7, 16 bytes"
	Flake    = "snowflake"
)

// Layouts returns the layouts to measure. The engine's own layout is the first and,
// measured again, the last. A COMB in the layout of another engine has its time in bytes
// that this engine's index compares last.
func Layouts() []Layout {
	of := func(kind string) *policy.Source { return &policy.Source{Kind: kind} }
	stored := func(kind string) *policy.Source {
		return &policy.Source{Kind: kind, EnsureSchema: true, Exclusive: true}
	}
	worker := 1
	flake := stored(policy.KindSnowflake)
	flake.Worker = &worker
	coprime := &policy.Source{Kind: policy.KindCoprime, Length: 6, EnsureSchema: true, Exclusive: true}
	key := func(kind string) string { return kind + " NOT NULL PRIMARY KEY" }
	bytes := func(c Columns) string { return key(c.UUID) }
	text := func(n int) func(Columns) string {
		return func(c Columns) string { return key(fmt.Sprintf(c.Text, n)) }
	}
	given := func(c Columns) string { return c.Integer }
	own := func(c Columns) string { return c.Identity }
	return []Layout{
		{Own, nil, "", own},
		{V7, of(policy.KindUUIDv7), dialect.SequentialAsBinary, bytes},
		{"uuidv7, text", of(policy.KindUUIDv7), dialect.SequentialAsString, text(36)},
		{"comb, the engine's layout", of(policy.KindCOMB), dialect.SequentialAsString, text(36)},
		{"comb, the layout of SQL Server", of(policy.KindCOMB), dialect.SequentialAtEnd, text(36)},
		{"uuidv4, 16 bytes", of(policy.KindUUIDv4), dialect.SequentialAsBinary, bytes},
		{"coprime of 6", coprime, "", text(6)},
		{Flake, flake, "", given},
		{"block", stored(policy.KindSequence), "", given},
		{OwnAgain, nil, "", own},
	}
}

// SentAsText returns the layouts for a driver that cannot send 16 bytes to a column of
// UUIDs, such as lib/pq. The engine still stores 16 bytes.
func SentAsText(layouts []Layout) []Layout {
	all := slices.Clone(layouts)
	for i := range all {
		if all[i].sent == dialect.SequentialAsBinary {
			all[i].sent = dialect.SequentialAsString
		}
	}
	return all
}

// Create returns the statement that creates the table to fill.
func (l Layout) Create(c Columns, table string) string {
	return "CREATE TABLE " + table + " (id " + l.column(c) + ", note CHAR(100) NOT NULL)"
}

// Policy returns the policy for the table; nil if the engine makes the keys.
func (l Layout) Policy(dialect, table string) *policy.Config {
	if l.source == nil {
		return nil
	}
	return &policy.Config{
		Dialect: dialect,
		Tables:  map[string]policy.Table{table: {Column: "id", InPlace: l.source, Layout: l.sent}},
	}
}
