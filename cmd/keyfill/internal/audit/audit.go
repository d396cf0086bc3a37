// Package audit compares the numbers in a column with the numbers that its sequence has
// given, for keyfill audit: it finds numbers that are missing, that are stored twice, or
// that the state (the sequence's stored counter) does not know.
//
// The rows and the state are read in one transaction that shows one moment of the database
// and changes nothing. The rows are read one after the other, in the order of their
// numbers, so that the memory that an audit needs does not grow with the number of rows.
package audit

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// Options say which column is audited.
type Options struct {
	Table, Column string // the names of the table and the column as the policy writes them; if Column is empty, the first column with a sequence is meant
	Cancelled     string // TABLE.COLUMN that holds cancelled numbers: numbers that the sequence has given and that need no row

	// Values are the values in the name of the state, by their names, where texts show them.
	Values map[string]string
}

// Audit is an audit of the numbers of one state (the stored counter of a sequence).
type Audit struct {
	dialect *dialect.Dialect
	key     policy.RuleKey
	state   string // the name of the state (a stored counter)
	name    string // the name of the audited column, for findings
	parents []string
	isText  []bool // whether each of the parents' columns holds texts

	texts *texts // how the numbers are written as texts; nil for integers

	columns   []column // the columns in which the state's numbers are stored
	cancelled *column

	// Strict reports whether every missing number is an error, since a rollback gives
	// numbers back to the sequence. In sequences that reserve blocks some numbers are
	// usually missing.
	Strict bool
}

// column is a column that holds numbers, and the parent columns of its table: rows are
// numbered separately for each of their values. All names are written as in SQL.
type column struct {
	table, number string
	parents       []string
	date          string // the expression for the date that says the period of a row; empty for none

	// moving reports whether the table shows rows to a transaction that were stored after it
	// began: MariaDB's MyISAM, for example.
	moving bool
}

// Find finds the columns to audit, in the policy and in the database.
func Find(ctx context.Context, db *sql.DB, d *dialect.Dialect, cfg *policy.Config, o *Options) (*Audit, error) {
	tables, err := database.ReadRules(ctx, db, d, cfg)
	if err != nil {
		return nil, err
	}
	d = tables.Dialect
	rules := tables.Policy
	schema, table, err := rules.ParseName(o.Table)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	rule := rules.Match(schema, table)
	if rule == nil {
		return nil, noTable(cfg, o)
	}
	if _, err := sequenceOf(d, rule, o); err != nil {
		return nil, err
	}
	found, err := database.ReadFolded(ctx, db, d, schema, table, o.Table)
	if err != nil {
		return nil, err
	}
	// The name of the state (the stored counter) contains the schema in which the table
	// really is, and only the database knows that schema.
	if rule, err = tables.Of(ctx, found); err != nil {
		return nil, err
	}
	if rule == nil {
		return nil, noTable(cfg, o)
	}
	a := &Audit{dialect: d}
	if a.key, err = sequenceOf(d, rule, o); err != nil {
		return nil, err
	}
	if a.state, err = a.stateOf(o); err != nil {
		return nil, err
	}
	if err := a.findTexts(found, o.Values); err != nil {
		return nil, err
	}
	a.Strict = a.key.Joined || a.key.Scope != nil
	for _, p := range a.key.Scope {
		a.parents = append(a.parents, p.Column)
	}
	one, err := a.columnOf(found, a.key.Column, a.key.Column, "")
	if err != nil {
		return nil, err
	}
	if one.date, err = a.dateOf(found); err != nil {
		return nil, err
	}
	a.name, a.columns = o.Table+"."+a.key.Column, []column{*one}
	if !a.key.Own {
		if err := a.findOthers(ctx, db, tables, found, o); err != nil {
			return nil, err
		}
	}
	if len(a.columns) > 1 && a.texts != nil && a.texts.showsTable() {
		return nil, fmt.Errorf("the texts of %s show the table, and several tables share its state: name a table with a state of its own, since these are not audited", a.name)
	}
	return a, a.findCancelled(ctx, db, rules, o.Cancelled)
}

// noTable returns the error for a table that the policy does not have.
func noTable(cfg *policy.Config, o *Options) error {
	names := slices.Collect(maps.Keys(cfg.Tables))
	return usage.Errorf("the policy has no table %s: name one that it has%s", o.Table, nearest.DidYouMean(o.Table, names))
}

// findOthers adds the other columns whose numbers come from the audited state (the stored
// counter). It searches the tables that are found without a schema, all tables of the
// schema of found, and all tables of each schema that the policy names.
func (a *Audit) findOthers(ctx context.Context, db *sql.DB, t *database.Rules, found *catalog.Table, o *Options) error {
	schemas := []string{a.dialect.Fold(found.Schema, true)}
	for _, e := range t.Policy.Entries() {
		if e.Schema != "" && !slices.Contains(schemas, e.Schema) {
			schemas = append(schemas, e.Schema)
		}
	}
	over, err := catalog.List(ctx, a.dialect, catalog.DB(db), schemas)
	if err != nil {
		return err
	}
	for _, ref := range a.key.Columns {
		// An entry of the policy whose table the user cannot see is an error: its rows may
		// have the numbers that are missing elsewhere.
		one, err := database.ReadFolded(ctx, db, a.dialect, ref.Schema, ref.Table, ref.Table)
		if err == nil {
			err = a.addColumn(one, ref.Column)
		}
		if err != nil {
			return err
		}
	}
	for _, one := range over.Tables {
		rule := t.At(one.Table, one.Visible)
		if rule == nil || isStates(one.Name) {
			continue
		}
		for _, k := range rule.Keys {
			// The policy's entry may be a pattern that also matches tables without the
			// column.
			if k.Source.Kind != policy.KindSequence || one.Column(a.dialect, k.Column) == nil {
				continue
			}
			if state, err := k.StateFor(o.value); err != nil || state != a.state {
				continue
			}
			if err := a.addColumn(one.Table, k.Column); err != nil {
				return err
			}
		}
	}
	return a.leaveShown(ctx, db)
}

// isStates reports whether a table is one of those in which keyfill stores states (the
// counters of sources).
func isStates(name string) bool {
	switch strings.ToLower(name) {
	case "keyfill_sequences", "keyfill_workers", "keyfill_series":
		return true
	}
	return false
}

// leaveShown removes the columns whose rows another audited column includes: the column of
// a partition, or of a table that inherits from another, if that other table is audited.
func (a *Audit) leaveShown(ctx context.Context, db *sql.DB) error {
	ancestors := engines[a.dialect.Family].ancestors
	if ancestors == "" {
		return nil
	}
	var shown []column
	for _, c := range a.columns {
		above, err := catalog.DB(db).Rows(ctx, ancestors, c.table)
		if err != nil {
			return err
		}
		for _, one := range above {
			name := plainValues(one)
			table := a.dialect.QuoteIdent(fmt.Sprint(name[0])) + "." + a.dialect.QuoteIdent(fmt.Sprint(name[1]))
			if slices.ContainsFunc(a.columns, func(other column) bool { return other.table == table && other.number == c.number }) {
				shown = append(shown, c)
				break
			}
		}
	}
	a.columns = slices.DeleteFunc(a.columns, func(c column) bool {
		return slices.ContainsFunc(shown, func(s column) bool { return s.table == c.table && s.number == c.number })
	})
	return nil
}

// addColumn adds a column of a table to a.columns, unless it is there already. It skips a
// view, since its rows belong to a table that is audited itself.
func (a *Audit) addColumn(found *catalog.Table, name string) error {
	if found.View {
		return nil
	}
	one, err := a.columnOf(found, name, name, "")
	if err == nil {
		one.date, err = a.dateOf(found)
	}
	if err != nil || slices.ContainsFunc(a.columns, func(c column) bool { return c.table == one.table && c.number == one.number }) {
		return err
	}
	a.columns = append(a.columns, *one)
	return nil
}

// sequenceOf returns the key column of a table that is to be audited.
func sequenceOf(d *dialect.Dialect, rule *policy.Rule, o *Options) (policy.RuleKey, error) {
	var names []string
	for _, k := range rule.Keys {
		named := o.Column == "" || k.Column == database.FoldColumn(d, o.Column) || k.Column == o.Column
		switch {
		case !named:
			names = append(names, k.Column)
		case k.Source.Kind == policy.KindSequence && k.Layout == "", isFormatted(k):
			return k, nil
		case o.Column != "" && k.Layout != "" && k.Source.Kind == policy.KindSequence:
			return k, usage.Errorf("%s.%s holds numbers as text without format:, whose order is another one: name a column of integers", o.Table, k.Column)
		case o.Column != "":
			return k, usage.Errorf("%s.%s has keys of the kind %s, which do not count: name the column of a sequence", o.Table, k.Column, k.Source.Kind)
		}
	}
	if o.Column != "" {
		return policy.RuleKey{}, usage.Errorf("the policy has no key column %s of %s: name one that it has%s", o.Column, o.Table, nearest.DidYouMean(o.Column, names))
	}
	return policy.RuleKey{}, usage.Errorf("no column of %s has numbers of a sequence: name a table that has", o.Table)
}

// columnOf returns the column with numbers of a table, by its folded name. written is that name
// in errors. If the table has no such column, remedy ends the error's text.
func (a *Audit) columnOf(found *catalog.Table, folded, written, remedy string) (*column, error) {
	number, err := database.FoldedColumn(a.dialect, found, folded, written, remedy)
	if err != nil {
		return nil, err
	}
	switch {
	case a.texts == nil && !number.Integer:
		return nil, fmt.Errorf("%s.%s holds no integers: name a column that does", found.Name, number.Name)
	case a.texts != nil && !number.Text:
		return nil, fmt.Errorf("%s.%s holds no texts: name a column that does", found.Name, number.Name)
	}
	one := &column{table: a.dialect.QuoteIdent(found.Schema) + "." + a.dialect.QuoteIdent(found.Name), number: a.dialect.QuoteIdent(number.Name)}
	one.moving = engines[a.dialect.Family].moving && !found.Transactional && !found.View
	for i, p := range a.parents {
		within, err := database.FoldedColumn(a.dialect, found, p, p, remedy)
		if err != nil {
			return nil, err
		}
		if i == len(a.isText) {
			a.isText = append(a.isText, !within.Integer)
		}
		// A column of SQLite that is declared without a type counts as text and as integer.
		if a.isText[i] && !within.Text || !a.isText[i] && !within.Integer {
			return nil, fmt.Errorf("%s.%s has another type than the column of the numbers: make it the same", found.Name, within.Name)
		}
		one.parents = append(one.parents, a.dialect.QuoteIdent(within.Name))
	}
	return one, nil
}

// findCancelled finds the column that holds cancelled numbers, if one is named.
func (a *Audit) findCancelled(ctx context.Context, db *sql.DB, rules *policy.Policy, named string) error {
	if named == "" {
		return nil
	}
	table, name := database.SplitColumn(a.dialect, named)
	if table == "" {
		return usage.Errorf("--cancelled %s: name a table and its column, as in cancellations.number", named)
	}
	schema, folded, err := rules.ParseName(table)
	if err != nil {
		return usage.Wrap(err)
	}
	remedy := ""
	if a.parents != nil {
		remedy = ", since a cancelled number is one within " + strings.Join(a.parents, ", ")
	}
	found, err := database.ReadFolded(ctx, db, a.dialect, schema, folded, table)
	if err != nil {
		return err
	}
	a.cancelled, err = a.columnOf(found, database.FoldColumn(a.dialect, name), name, remedy)
	return err
}

// Run reads the rows and the state (a stored counter), and calls report for each finding.
// From time to time it calls shown with the number of rows that were read.
func (a *Audit) Run(ctx context.Context, db *sql.DB, report func(Finding) error, shown func(rows int64)) (Summary, error) {
	options := engines[a.dialect.Family].snapshot
	states, err := a.findStates(ctx, db)
	if err != nil {
		return Summary{}, err
	}
	tx, err := db.BeginTx(ctx, &options)
	if err != nil {
		return Summary{}, err
	}
	defer tx.Rollback() // the transaction has only read
	if sees := engines[a.dialect.Family].seesAll; sees != "" {
		if _, err := tx.ExecContext(ctx, sees); err != nil {
			return Summary{}, err
		}
	}
	run := &run{Audit: a, ctx: ctx, tx: tx, shown: shown, report: report, states: states}
	run.below = a.key.Source.Below // the numbers from Below on come from the engine's own counter and are not audited
	run.sum = Summary{Audited: a.name, State: a.state, Strict: a.Strict}
	err = run.compare()
	if err != nil && sqlcode.ClassOf(a.dialect, err) == dialect.ErrorNoRight {
		err = fmt.Errorf("%w: let this user read all rows of the tables", err)
	}
	return run.sum, err
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
