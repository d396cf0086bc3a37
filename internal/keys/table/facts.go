package table

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// Facts are the catalog's facts about a table that matter for its keys.
type Facts struct {
	Columns []ColumnFacts // as the table's keys

	// LastIDUnread says that no trigger and no default of the table reads
	// LAST_INSERT_ID() at an INSERT.
	LastIDUnread bool

	// NumbersOther says that the engine numbers another column of the table, whose
	// number LastInsertId then is.
	NumbersOther bool

	// OwnConflicts says that the table itself may leave out or replace rows that
	// clash, whatever the statement says.
	OwnConflicts bool

	// HasCounter says that one of Columns has an own counter.
	HasCounter bool

	Rows *RowFacts

	Schema string // of the table, as the catalog names it

	// Unseen is the catalog's error for a table that is a temporary one, or not there
	// yet; nil where the catalog shows the table.
	Unseen error

	// Made says that the table is not there yet, but the text of the INSERT creates it.
	Made bool
}

// IsUnseen reports whether the catalog does not show the table, and the text of the INSERT
// does not create it.
func (f *Facts) IsUnseen() bool { return f.Unseen != nil && !f.Made }

// ColumnFacts are the catalog's facts about a key column.
type ColumnFacts struct {
	Schema, Table, Column string // as they are stored; Table is empty if it was not found

	Leads  bool // it is the first of an index
	Alone  bool // a unique index covers this column alone
	Counts bool // the engine has a counter of its own for it, which follows explicit keys
	live   bool // the engine numbers it too, in whatever way
	Ranked bool // keys are integers, and an index finds the greatest

	unindexed bool // keys are integers of a table, and no index finds the greatest
	RowID     bool // SQLite: it is the rowid

	// Numbers says that the engine gives a row whose key is NULL a number of its own, above
	// all keys.
	Numbers bool

	OthersNumber bool // the engine numbers rows of it in some way: they are not keyfill's
	Triggered    bool // something of the user's may run at an INSERT into its table

	// TakesFirst says that the engine numbers the column's rows from a number that a
	// statement is given, and that a rollback undoes them.
	TakesFirst bool

	Unique []string // as duplicate-key errors name the unique indexes that it leads

	// Counter is the column's own sequence; nil where it has none, or where something of
	// the user's runs at an INSERT.
	Counter *OwnCounter
}

// OwnCounter is the sequence that would number a column if keyfill did not, and that the
// engine would remember then.
type OwnCounter struct {
	Table, Sequence []string // the parts of their names, as they are compared
	Column          string

	// Alone says that no other default of the table draws a number.
	Alone bool
}

// CounterOf returns the own counter of a column.
func CounterOf(d *dialect.Dialect, t *catalog.Table, c *catalog.Column) *OwnCounter {
	if t.View || t.InsertTriggers != catalog.No || t.KeyTriggers == catalog.Yes || c.Generated || c.Identity == "" || c.IdentityAlways {
		return nil
	}
	o := &OwnCounter{Table: []string{t.Schema, t.Name}, Column: c.Name, Alone: true, Sequence: effects.NameOf(d, c.Sequence)}
	if o.Sequence == nil {
		o.Sequence = effects.DrawnFrom(d, c.Default)
	}
	if o.Sequence == nil {
		return nil
	}
	for i := range t.Columns {
		other := &t.Columns[i]
		if other.Name != c.Name && !other.Generated && (other.Identity != "" || other.Default != "" && !effects.DrawsNothing(d, other.Default)) {
			o.Alone = false
		}
	}
	return o
}

// ReadsNoLastID reports whether no trigger and no default of a table reads
// LAST_INSERT_ID() at an INSERT.
func ReadsNoLastID(t *catalog.Table) bool {
	return !t.View && t.InsertTriggers == catalog.No &&
		!slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return c.LastKeyDefault })
}

// FactsOfColumn returns the catalog's facts about a column of a table.
func FactsOfColumn(t *catalog.Table, c *catalog.Column) ColumnFacts {
	return ColumnFacts{
		Schema: t.Schema, Table: t.Name, Column: c.Name,
		Leads:        c.Indexes.LeadsIndex,
		Alone:        c.Indexes.UniqueAlone,
		Counts:       c.Identity == "AUTO_INCREMENT" || c.Identity == "AUTOINCREMENT",
		Numbers:      c.Identity == "AUTO_INCREMENT" || c.RowID,
		live:         c.Identity != "",
		Ranked:       c.Indexes.LeadsIndex && c.Integer,
		unindexed:    c.Integer && !c.Indexes.LeadsIndex && !t.View,
		RowID:        c.RowID,
		Unique:       c.Indexes.Unique,
		OthersNumber: c.RowID || c.Identity != "",
		Triggered:    t.InsertTriggers != catalog.No,
		TakesFirst:   c.Identity == "AUTO_INCREMENT" && c.Indexes.LeadsIndex && t.Transactional && t.InsertTriggers != catalog.Yes,
	}
}

// Home returns the column's table as the catalog names it, empty if it was not found.
func (f *ColumnFacts) Home() string {
	if f.Table == "" {
		return ""
	}
	return f.Schema + "." + f.Table
}

// StoreColumn returns the column as a store names it. A column that the catalog does not
// show has the folded name of the policy. elsewhere says that the store cannot see the
// table.
func (f *ColumnFacts) StoreColumn(r *policy.Rule, k *Column, elsewhere bool) store.Column {
	c := store.Column{Schema: f.Schema, Table: f.Table, Name: f.Column, Unranked: !f.Ranked || elsewhere, Unindexed: f.unindexed && !elsewhere, Counted: f.Counts, Live: f.live}
	if c.Table == "" {
		c.Schema, c.Table, c.Name = r.Schema, r.Name, k.Name
	}
	return c
}
