package keyfillgorm

import "gorm.io/gorm"

// journal lists the keys that were drawn in a transaction that GORM has begun itself. The
// statement that has begun it and the statements of its associations share one journal.
type journal struct {
	owner   *gorm.Statement
	drawn   []*drawn
	numbers []*numbers
}

// journalKey is the name of the setting that holds the journal. GORM passes the settings of
// a statement on to the statements of its associations.
const journalKey = "keyfill:journal"

// journalOf returns the journal of a statement, or nil if it has no journal.
func journalOf(db *gorm.DB) *journal {
	value, _ := db.Statement.Settings.Load(journalKey)
	j, _ := value.(*journal)
	return j
}

// begin gives a statement a journal, unless the statement stores an association. It runs
// before the associations are stored.
func begin(db *gorm.DB) {
	if j := journalOf(db); j == nil || j.owner == db.Statement {
		db.Statement.Settings.Store(journalKey, &journal{owner: db.Statement})
	}
}

// isAssociation reports whether a statement stores associations of another statement. Its
// INSERT has a clause for rows that exist already.
func isAssociation(db *gorm.DB) bool {
	j := journalOf(db)
	return j != nil && j.owner != db.Statement
}

// note records the keys that were drawn for a statement.
func note(db *gorm.DB, d *drawn) {
	if j := journalOf(db); j != nil {
		j.drawn = append(j.drawn, d)
	}
}

// undo sets to zero the keys that were set in a transaction that GORM has rolled back. When
// a child or a hook fails, the parent's struct has its key already. undo runs after the end
// of the transaction. If GORM has not begun a transaction itself, the keys stay, since the
// rows before the error are not rolled back here.
func undo(db *gorm.DB) {
	j := journalOf(db)
	if j == nil || j.owner != db.Statement {
		return
	}
	db.Statement.Settings.Delete(journalKey)
	if _, began := db.InstanceGet("gorm:started_transaction"); !began || db.Error == nil {
		return
	}
	for _, d := range j.drawn {
		d.zero(db.Statement.Context)
	}
	for _, n := range j.numbers {
		n.zero()
	}
}
