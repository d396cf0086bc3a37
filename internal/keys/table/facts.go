package table

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// Facts are the facts about a table in the catalog that matter for its keys.
type Facts struct {
	Columns []ColumnFacts // in the order of the table's keys

	// LastIDUnread reports that no trigger and no default of the table reads
	// LAST_INSERT_ID() during an INSERT.
	LastIDUnread bool

	// NumbersOther reports that the engine numbers another column of the table, so that
	// LastInsertId returns that column's number.
	NumbersOther bool

	// OwnConflicts reports that the table's definition may make the engine skip or replace
	// conflicting rows, whatever the statement says.
	OwnConflicts bool

	// HasCounter reports that one of Columns has an own counter in the engine.
	HasCounter bool

	Rows *RowFacts

	Schema string // the schema of the table, as the catalog names it

	// Found is the catalog's description of the table if the keys of a column are made from
	// other columns; otherwise nil.
	Found *catalog.Table

	// Unseen is the catalog's error for a table that is temporary or does not exist yet;
	// nil if the catalog shows the table.
	Unseen error

	// Made reports that the table does not exist yet, but the text of the INSERT creates
	// it.
	Made bool
}

// IsUnseen reports whether the catalog does not show the table and the text of the
// INSERT does not create it.
func (f *Facts) IsUnseen() bool { return f.Unseen != nil && !f.Made }

// ColumnFacts are the catalog's facts about a key column.
type ColumnFacts struct {
	Schema, Table, Column string // as they are stored; Table is empty if the catalog does not show it

	Leads  bool // an index begins with the column
	Alone  bool // a unique index is on this column alone
	Counts bool // the engine has its own counter for the column, which follows explicit keys
	live   bool // the engine numbers the column too, in some way
	Ranked bool // keys are integers, and an index finds the greatest one

	unindexed bool // keys are integers of a table, but no index finds the greatest one
	RowID     bool // the column is SQLite's rowid

	// Numbers reports that the engine gives a row whose key is NULL a number of its own,
	// above all keys.
	Numbers bool

	OthersNumber bool // the engine itself numbers some rows of the column, with numbers that are not keyfill's
	Triggered    bool // a trigger or other code of the user may run during an INSERT into the table

	// TakesFirst reports that the engine can number the column's rows from a number that
	// is given to a statement, and that a rollback undoes this.
	TakesFirst bool

	Length int // the greatest length of a text in characters; 0 if it has no bound, or is not known

	Collation string // of a text column; empty if it is not known

	Unique []string // the unique indexes that begin with the column, as duplicate-key errors name them

	// Counter is the column's own sequence; nil if it has none, or if code of the user
	// runs during an INSERT.
	Counter *OwnCounter
}

// OwnCounter is the sequence that would number a column if keyfill did not. The session
// would then remember its last number.
type OwnCounter struct {
	Table, Sequence []string // the parts of each name, such as the schema and the table, as they are compared
	Column          string

	// Alone reports that no other default of the table draws a number.
	Alone bool
}

// CounterOf returns the OwnCounter of a column, nil if it has none.
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
// LAST_INSERT_ID() during an INSERT.
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
		Length:       c.Length,
		Collation:    c.Collation,
		OthersNumber: c.RowID || c.Identity != "",
		Triggered:    t.InsertTriggers != catalog.No,
		TakesFirst:   c.Identity == "AUTO_INCREMENT" && c.Indexes.LeadsIndex && t.Transactional && t.InsertTriggers != catalog.Yes,
	}
}

// Home returns the column's table as the catalog names it; it is empty if the catalog
// does not show the table.
func (f *ColumnFacts) Home() string {
	if f.Table == "" {
		return ""
	}
	return f.Schema + "." + f.Table
}

// StoreColumn returns the column as a store names it. If the catalog does not show the
// column, its names are those in the policy, folded. elsewhere reports that the store
// cannot see the table.
func (f *ColumnFacts) StoreColumn(r *policy.Rule, k *Column, elsewhere bool) store.Column {
	c := store.Column{Schema: f.Schema, Table: f.Table, Name: f.Column, Unranked: !f.Ranked || elsewhere, Unindexed: f.unindexed && !elsewhere, Indexed: f.Leads && !elsewhere, Counted: f.Counts, Live: f.live}
	if c.Table == "" {
		c.Schema, c.Table, c.Name = r.Schema, r.Name, k.Name
	}
	return c
}
