// Package audit compares the numbers in a column with the numbers that its sequence has
// given, for keyfill audit: it finds numbers that are missing, that are stored twice, or
// that the state (the sequence's stored counter) does not know.
//
// The rows and the state are read in one transaction that shows one moment of the database
// and changes nothing. The rows are read one after the other, in the order of their
// numbers, so that the memory that an audit needs does not grow with them.
package audit

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/policy"
)

// Options say which column is audited.
type Options struct {
	Table, Column string // as the policy names them; if Column is empty, it is the table's first sequence
	Cancelled     string // TABLE.COLUMN that holds numbers that were given and need no row
}

// Audit is an audit of the numbers of one state (the stored counter of a sequence).
type Audit struct {
	dialect *dialect.Dialect
	key     policy.RuleKey
	state   string // the name of the state
	name    string // the name of the audited column, for findings
	parents []string

	columns   []column // the columns in which the state's numbers are stored
	cancelled *column

	// Strict reports whether no number may be missing, since a rollback gives numbers back.
	// In other sequences some numbers are usually missing.
	Strict bool
}

// column is a column with numbers, and the columns of its table within which rows are
// numbered. All names are written as in SQL.
type column struct {
	table, number string
	parents       []string
}

// Find finds the columns to audit, in the policy and in the database.
func Find(ctx context.Context, db *sql.DB, d *dialect.Dialect, cfg *policy.Config, o *Options) (*Audit, error) {
	rules, err := cfg.Compile(d)
	if err != nil {
		return nil, err
	}
	schema, table, err := rules.ParseName(o.Table)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	rule := rules.Match(schema, table)
	if rule == nil {
		var names []string
		for name := range cfg.Tables {
			names = append(names, name)
		}
		return nil, usage.Errorf("the policy has no table %s: name one that it has%s", o.Table, nearest.DidYouMean(o.Table, names))
	}
	a := &Audit{dialect: d}
	if a.key, err = sequenceOf(d, rule, o); err != nil {
		return nil, err
	}
	if len(a.key.Values) > 0 {
		return nil, fmt.Errorf("%s has a state for each value of %s, which its rows do not show: name a table with one state", o.Table, strings.Join(a.key.Values, ", "))
	}
	if a.state, err = a.key.StateFor(nil); err != nil {
		return nil, err
	}
	a.name = o.Table + "." + a.key.Column
	a.Strict = a.key.Joined || a.key.Scope != nil
	for _, p := range a.key.Scope {
		a.parents = append(a.parents, p.Column)
	}
	refs := a.key.Columns
	if len(refs) < 2 {
		refs = []policy.ColumnRef{{Schema: schema, Table: table, Column: a.key.Column}}
	}
	for _, ref := range refs {
		one, err := a.find(ctx, db, strings.TrimPrefix(ref.Schema+"."+ref.Table, "."), ref.Column, "")
		if err != nil {
			return nil, err
		}
		a.columns = append(a.columns, *one)
	}
	return a, a.findCancelled(ctx, db, o.Cancelled)
}

// sequenceOf returns the key column of a table that is to be audited.
func sequenceOf(d *dialect.Dialect, rule *policy.Rule, o *Options) (policy.RuleKey, error) {
	var names []string
	for _, k := range rule.Keys {
		named := o.Column == "" || k.Column == d.Fold(o.Column, false) || k.Column == o.Column
		switch {
		case !named:
			names = append(names, k.Column)
		case k.Source.Kind == policy.KindSequence && k.Layout == "":
			return k, nil
		case o.Column != "" && k.Layout != "" && k.Source.Kind == policy.KindSequence:
			return k, usage.Errorf("%s.%s holds numbers as text, whose order is another one: name a column of integers", o.Table, k.Column)
		case o.Column != "":
			return k, usage.Errorf("%s.%s has keys of the kind %s, which do not count: name the column of a sequence", o.Table, k.Column, k.Source.Kind)
		}
	}
	if o.Column != "" {
		return policy.RuleKey{}, usage.Errorf("the policy has no key column %s of %s: name one that it has%s", o.Column, o.Table, nearest.DidYouMean(o.Column, names))
	}
	return policy.RuleKey{}, usage.Errorf("no column of %s has integers of a sequence: name a table that has", o.Table)
}

// find reads a table from the catalog, and returns its column with numbers. If there is no
// such column, remedy ends the error's text.
func (a *Audit) find(ctx context.Context, db *sql.DB, table, name, remedy string) (*column, error) {
	found, err := database.ReadTable(ctx, db, a.dialect, table)
	if err != nil {
		return nil, err
	}
	number, err := database.ColumnOf(a.dialect, found, name, remedy)
	if err != nil {
		return nil, err
	}
	if !number.Integer {
		return nil, fmt.Errorf("%s.%s holds no integers: name a column that does", table, number.Name)
	}
	one := &column{table: a.dialect.QuoteIdent(found.Schema) + "." + a.dialect.QuoteIdent(found.Name), number: a.dialect.QuoteIdent(number.Name)}
	for _, p := range a.parents {
		within, err := database.ColumnOf(a.dialect, found, p, remedy)
		if err != nil {
			return nil, err
		}
		one.parents = append(one.parents, a.dialect.QuoteIdent(within.Name))
	}
	return one, nil
}

// findCancelled finds the column that holds cancelled numbers, if one is named.
func (a *Audit) findCancelled(ctx context.Context, db *sql.DB, named string) (err error) {
	if named == "" {
		return nil
	}
	dot := strings.LastIndex(named, ".")
	if dot < 1 {
		return usage.Errorf("--cancelled %s: name a table and its column, as in cancellations.number", named)
	}
	remedy := ""
	if a.parents != nil {
		remedy = ", since a cancelled number is one within " + strings.Join(a.parents, ", ")
	}
	a.cancelled, err = a.find(ctx, db, named[:dot], named[dot+1:], remedy)
	return err
}

// Run reads the rows and the state, and calls report for each finding. From time to time it
// calls shown with the number of rows that were read.
func (a *Audit) Run(ctx context.Context, db *sql.DB, report func(Finding) error, shown func(rows int64)) (Summary, error) {
	options := engines[a.dialect.Family].snapshot
	hasStates, err := a.hasStates(ctx, db)
	if err != nil {
		return Summary{}, err
	}
	tx, err := db.BeginTx(ctx, &options)
	if err != nil {
		return Summary{}, err
	}
	defer tx.Rollback() // nothing was changed
	run := &run{Audit: a, ctx: ctx, tx: tx, shown: shown, report: report, hasStates: hasStates}
	run.sum = Summary{Audited: a.name, State: a.state, Strict: a.Strict}
	err = run.compare()
	return run.sum, err
}

// engine says how a transaction sees one moment of the database, and how texts are compared
// by their bytes, for a family of engines.
type engine struct {
	snapshot sql.TxOptions
	exact    string // an expression that compares by bytes, with %s for the column
}

// engines is by family. SQLite shows one moment to every transaction, and its drivers
// accept no isolation level. The entries for SQL Server and Oracle were never executed.
var engines = map[dialect.Family]engine{
	dialect.FamilyMySQL:      {sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, "BINARY %s"},
	dialect.FamilyPostgreSQL: {sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, "%s"},
	dialect.FamilySQLite:     {sql.TxOptions{}, "%s COLLATE BINARY"},
	dialect.FamilySQLServer:  {sql.TxOptions{Isolation: sql.LevelSnapshot}, "%s"},
	dialect.FamilyOracle:     {sql.TxOptions{Isolation: sql.LevelSerializable}, "%s"},
}

// Rows counts the rows with numbers, for the progress of the audit.
func (a *Audit) Rows(ctx context.Context, db *sql.DB) (total int64, err error) {
	for _, c := range slices.Concat(a.columns, a.cancelledColumns()) {
		var n int64
		if err := db.QueryRowContext(ctx, "SELECT COUNT("+c.number+") FROM "+c.table).Scan(&n); err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func (a *Audit) cancelledColumns() []column {
	if a.cancelled == nil {
		return nil
	}
	return []column{*a.cancelled}
}
