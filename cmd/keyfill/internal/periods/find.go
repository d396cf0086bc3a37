// Package periods lists, closes and reopens the periods of a numbering, such as the years of
// invoices, for keyfill period.
//
// [Find] compares the policy with the database first: nothing is changed for a state that the
// programs number in another way than the policy says.
package periods

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/policy"
)

// Numbering is a state (a stored counter) whose numbers begin again with each period.
type Numbering struct {
	Name  string // of the state
	scope *scope.Scope
	rows  *scope.Rows
}

// Options name a numbering of a policy.
type Options struct {
	State  string            // the name of its state (a stored counter), or TABLE.COLUMN
	Values map[string]string // the values in the name of the state, by their names
}

// Find finds a numbering in the policy and in the database, which is compared with the policy.
// It changes nothing. d is the dialect of the server.
func Find(ctx context.Context, db *sql.DB, d *dialect.Dialect, cfg *policy.Config, o *Options) (*Numbering, error) {
	rules, err := database.ReadRules(ctx, db, d, cfg)
	if err != nil {
		return nil, err
	}
	c, err := o.columnIn(rules)
	if err != nil {
		return nil, err
	}
	found, err := database.ReadFolded(ctx, db, rules.Dialect, c.schema, c.table, c.table)
	if err != nil {
		return nil, err
	}
	// The name of the state may contain the schema in which the table really is.
	rule, err := rules.Of(ctx, found)
	if err != nil {
		return nil, err
	}
	key := keyOf(rule, c.column)
	if key == nil || key.Source.Period.Every == "" { // another entry of the policy is for the table that was found
		return nil, o.unknown(rules)
	}
	state, err := o.stateOf(key)
	if err != nil {
		return nil, err
	}
	row := sequence.Sequence{Name: state, Columns: []store.Column{{Table: found.Name, Name: key.Column}}}
	row.Made.Start = key.Source.Start
	shape, err := key.Source.Mapping(state, key.MaxBits)
	if err != nil {
		return nil, err
	}
	keys := &table.Column{Rule: *key, Name: key.Column, Shape: shape}
	rows, err := numbering.ScopeRowsOf(rules.Dialect, found, keys, &row)
	if err != nil {
		return nil, err
	}
	// A period that is closed before it has a row gets one, which begins above the texts of the
	// period, as a program would make it.
	rows.ReadTexts(keys, numberformat.Parts{Schema: found.Schema, Table: found.Name, Values: o.Values})
	s := store.New(d, db)
	stored, err := staterow.Read(ctx, s, state)
	switch {
	case err != nil:
		return nil, err
	case stored == nil:
		return nil, fmt.Errorf("keyfill_sequences has no row %q, which the first INSERT makes: name the database of the programs", state)
	case stored.Parameters != row.Parameters:
		return nil, fmt.Errorf("the row %q was made for other periods or columns than the policy's: take the policy of the programs", state)
	}
	return &Numbering{state, &rows.Scope, scope.New(s, &rows.Scope)}, nil
}

// column is a key column of the policy. All names are folded.
type column struct{ schema, table, column string }

// columnIn returns the column whose state, or whose name, is o.State.
func (o *Options) columnIn(rules *database.Rules) (column, error) {
	for _, e := range rules.Policy.Entries() {
		if e.IsGlob {
			continue
		}
		schema, name, err := rules.Policy.ParseName(e.Name)
		if err != nil {
			return column{}, err
		}
		rule := rules.Policy.Match(schema, name)
		if rule == nil {
			continue
		}
		for _, k := range rule.Keys {
			if state, err := k.StateFor(o.value); err == nil && state == o.State && k.Source.Period.Every != "" {
				return column{schema, name, k.Column}, nil
			}
		}
	}
	written, last := database.SplitColumn(rules.Dialect, o.State)
	schema, name, err := rules.Policy.ParseName(written)
	if written == "" || err != nil {
		return column{}, o.unknown(rules)
	}
	key := keyOf(rules.Policy.Match(schema, name), database.FoldColumn(rules.Dialect, last))
	switch {
	case key == nil:
		return column{}, o.unknown(rules)
	case key.Source.Period.Every == "":
		return column{}, usage.Errorf("the numbers of %s never begin again: name a column with period: in the policy", o.State)
	}
	return column{schema, name, key.Column}, nil
}

// keyOf returns the key column of a rule, nil if there is none. The rule may be nil.
func keyOf(rule *policy.Rule, column string) *policy.RuleKey {
	if rule == nil {
		return nil
	}
	for i := range rule.Keys {
		if rule.Keys[i].Column == column {
			return &rule.Keys[i]
		}
	}
	return nil
}

// unknown returns the error for a state that the policy does not have.
func (o *Options) unknown(rules *database.Rules) error {
	var names []string
	for _, e := range rules.Policy.Entries() {
		for _, k := range e.Rule.Keys {
			if k.Source.Period.Every != "" && !e.IsGlob {
				names = append(names, k.State)
			}
		}
	}
	if len(names) == 0 {
		return usage.Errorf("the policy has no state %s, and none with periods: name the policy of the programs in --config", o.State)
	}
	return usage.Errorf("the policy has no state %s with periods: name one of %s%s", o.State, strings.Join(names, ", "), nearest.DidYouMean(o.State, names))
}

// stateOf returns the name of a key column's state.
func (o *Options) stateOf(k *policy.RuleKey) (string, error) {
	for _, name := range k.Values {
		if o.Values[name] == "" {
			return "", usage.Errorf("%s has a state for each value of %s: say --value %[2]s=…", o.State, name)
		}
	}
	return k.StateFor(o.value)
}

func (o *Options) value(name string) (string, bool) {
	v, ok := o.Values[name]
	return v, ok
}

// Period returns the period of a name, such as 2026, 2026-Q3, 2026-11 or 2026-11-28.
func (n *Numbering) Period(name string) (calendar.Period, error) {
	p, err := n.scope.Periods.Calendar.Parse(name)
	if err != nil {
		return p, usage.Wrap(err)
	}
	return p, nil
}
