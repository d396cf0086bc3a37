package statements_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// goldenTarget is a target line of a golden archive, whose form is
//
//	target: orders key=id:integer columns=id,name fill=missing,null
type goldenTarget struct {
	table   string
	keys    []goldenKey
	columns []string
	fill    []string // nil: missing, null, default
}

// goldenKey is a key column of a target.
type goldenKey struct {
	column           string
	integer, session bool
	decimal          bool // an integer that goes as text
	tail             bool // rows of a query get a prefix and a number
	scope            []string
}

// goldenFills are the words of fill=, by their bits.
var goldenFills = []string{"missing", "null", "default", "zero"}

// goldenTargets reads the target lines of an archive.
func goldenTargets(a *txtar.Archive) ([]goldenTarget, error) {
	var targets []goldenTarget
	for line := range strings.Lines(string(a.Comment)) {
		rest, ok := strings.CutPrefix(line, "target:")
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		t := goldenTarget{table: words[0]}
		for _, w := range words[1:] {
			name, value, _ := strings.Cut(w, "=")
			switch name {
			case "key":
				column, kind, _ := strings.Cut(value, ":")
				t.keys = append(t.keys, goldenKey{column: column, integer: kind != "" && kind != policy.KindUUIDv7, tail: kind == policy.KindUUIDv7, session: kind == "session", decimal: kind == "decimal"})
			case "scope":
				t.keys[len(t.keys)-1].scope = strings.Split(value, ",")
			case "columns":
				t.columns = strings.Split(value, ",")
			case "fill":
				t.fill = strings.Split(value, ",")
			default:
				return nil, fmt.Errorf("unknown word %q of a target", name)
			}
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// fillBits returns what counts as "no key", as package plans and package
// policy have it.
func (t goldenTarget) fillBits() (bits uint8) {
	if t.fill == nil {
		return 1<<0 | 1<<1 | 1<<2
	}
	for _, f := range t.fill {
		bits |= 1 << slices.Index(goldenFills, f)
	}
	return bits
}

// fillsZero reports whether a zero is no key.
func (t goldenTarget) fillsZero() bool { return slices.Contains(t.fill, "zero") }

// goldenLookup returns the targets as package plans has them.
func goldenLookup(d *dialect.Dialect, targets []goldenTarget) plans.Lookup {
	byName := map[string]*plans.Target{}
	for _, g := range targets {
		t := &plans.Target{Table: g.table}
		for _, k := range g.keys {
			kind := "uuid"
			if k.integer {
				kind = "bigint"
			}
			var scope []string
			for _, c := range k.scope {
				scope = append(scope, d.Fold(c, false))
			}
			t.Keys = append(t.Keys, plans.Key{
				Tail: k.tailOn(d), Scope: scope, Column: d.Fold(k.column, false), Integer: k.integer && !k.decimal, Counted: k.integer, Session: k.session, Fill: plans.FillOn(g.fillBits()), Type: kind,
			})
		}
		for _, c := range g.columns {
			t.Columns = append(t.Columns, d.Fold(c, false))
		}
		byName[d.Fold(g.table, false)] = t
	}
	return func(schema, table string) *plans.Target {
		if t := byName[schema+"."+table]; t != nil {
			return t
		}
		return byName[table]
	}
}

// tailOn returns the expression for a key of a query's row; empty for those that have
// none.
func (k goldenKey) tailOn(d *dialect.Dialect) string {
	if !k.tail {
		return ""
	}
	return d.Numbering.Tails.Of(d.DefaultLayout, false)
}

// goldenOptions returns the targets as a policy: integers from stand-ins for
// sequences, of which each begins elsewhere, UUIDs for the rest.
func goldenOptions(d *dialect.Dialect, targets []goldenTarget, session bool) keyfill.Options {
	starts := int64(0)
	cfg := &policy.Config{
		Dialect: d.Name,
		Tables:  map[string]policy.Table{},
	}
	for _, g := range targets {
		t := policy.Table{Fill: policy.Fill(g.fillBits()), Columns: g.columns}
		for _, k := range g.keys {
			key := policy.Key{Column: k.column, Source: policy.KindUUIDv4} // which no row of a query gets here
			if k.tail {
				key.Source = policy.KindUUIDv7
			}
			if k.integer {
				key.Source, key.InPlace = "", &policy.Source{Kind: policy.KindSequence}
				key.LastInsertID = policy.LastInsertIDOff
				for _, c := range k.scope {
					if key.InPlace.Scope == nil {
						key.InPlace.Scope = new(policy.Scope)
					}
					*key.InPlace.Scope = append(*key.InPlace.Scope, policy.ScopeColumn{Column: c})
				}
				if k.decimal {
					key.Layout = dialect.SequentialAsString
				}
				if session && k.session {
					key.LastInsertID = policy.LastInsertIDSession
				}
			}
			t.Keys = append(t.Keys, key)
		}
		cfg.Tables[g.table] = t
	}
	return keyfill.Options{Policy: cfg, Reservers: func(string) keysource.Reserver {
		starts++
		return &handedOut{next: starts * 100_000_000}
	}}
}

// askingOptions returns the options with sources of the database for the stand-ins. Each
// has numbers of its own, above all arguments, since a number identifies its column.
func askingOptions(o keyfill.Options) keyfill.Options {
	o.Reservers = nil
	start := int64(500_000_000)
	for _, name := range slices.Sorted(maps.Keys(o.Policy.Tables)) {
		for i := range o.Policy.Tables[name].Keys {
			if src := o.Policy.Tables[name].Keys[i].InPlace; src != nil {
				start += 1_000_000
				src.EnsureSchema, src.Start = true, start
			}
		}
	}
	return o
}

// handedOut stands in for the store of a sequence.
type handedOut struct {
	mu   sync.Mutex
	next int64
}

func (c *handedOut) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.next
	c.next += n
	return keysource.Reservation{First: first}, nil
}

func (c *handedOut) Advance(_ context.Context, to int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = max(c.next, to)
	return nil
}
