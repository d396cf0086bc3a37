package outcome

//row:changes | LastInsertId of an upsert | `internal/fill/outcome/lastid.go`, `upsertid.go`

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
)

// lastID determines what LastInsertId returns after an execution has succeeded.
type lastID struct{ Answer }

// filledID is an integer key that was filled into a row.
type filledID struct {
	row   int
	id    int64
	place int // the index of the key among all keys that were filled in for the plan
}

// result returns the driver's result, or a result whose LastInsertId is the key of the
// first row (on SQLite, of the last row).
func (l lastID) result() driver.Result {
	if l.table.LastIDKey < 0 || l.x.Form.Session || !l.x.Plan.Alone() {
		return l.res
	}
	if f := execution.FactsOf(l.x.Conn, l.table); f != nil && f.NumbersOther {
		return l.res
	}
	if l.x.Plan.Counts() {
		return l.numberedResult()
	}
	ids := l.filledIDs(l.table.LastIDKey)
	if len(ids) == 0 || l.in.Rows < 0 {
		return l.res
	}
	if l.in.Rows > 1 && !l.table.KeyColumns[l.table.LastIDKey].IsAdjacent() {
		// Return 0, since a caller that gets one of several keys expects the others to be
		// adjacent.
		return OwnResult{l.res, 0}
	}
	switch {
	case l.idiomTells(), l.isLastRowID(), l.engineNumberedFirst(ids):
		return l.res
	case l.x.Fate.Rows != nil && l.isOpen():
		return OwnResult{l.res, l.storedID(ids)}
	}
	affected := l.affected()
	if l.x.Plan.Dialect.LastRowID {
		return l.lastRow(ids, affected)
	}
	return OwnResult{l.res, firstRow(l.in, ids[0].id, affected)}
}

// engineNumberedFirst reports whether MySQL or MariaDB has numbered a row before the rows
// with keyfill's keys, because the explicit key of that row was NULL. The driver's own
// LastInsertId is then that number. If the engine has numbered no row, the driver's
// LastInsertId is the key of the last row.
func (l lastID) engineNumberedFirst(ids []filledID) bool {
	in := l.in
	if !l.x.Plan.Dialect.FirstID || ids[0].row == 0 ||
		in.Upsert.Conflict != plans.ConflictError && in.Upsert.Conflict != plans.ConflictReplace {
		return false
	}
	own, err := l.res.LastInsertId()
	if err != nil || own == 0 || slices.ContainsFunc(ids, func(id filledID) bool { return id.id == own }) {
		return false
	}
	first := false
	for _, o := range bind.BroughtKeys(l.x.Plan, l.x.Args, l.x.Holes, 0, l.table.LastIDKey) {
		switch {
		case o.Integer == own:
			return false
		case o.Integer != 0:
		case o.Row < ids[0].row:
			first = true
		default:
			return false // a later row has a value that is not known here
		}
	}
	return first
}

// filledIDs returns the keys that were drawn for column i, in row order. It returns nil
// if they are not integers.
func (l lastID) filledIDs(i int) []filledID {
	var ids []filledID
	for n, p := range bind.FilledPlaces(l.x.Plan, l.x.Holes) {
		if p.Insert != 0 || p.Key != i {
			continue
		}
		switch v := l.x.Drawn.Keys[p.Draw][p.N].(type) {
		case int64:
			ids = append(ids, filledID{p.Row, v, n})
		case string:
			id, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return nil // a text key
			}
			ids = append(ids, filledID{p.Row, id, n})
		}
	}
	return ids
}

// firstRow returns the key of the first row if it is known to be stored, else 0.
// affected is -1 if the driver does not return it.
func firstRow(in *plans.Insert, first, affected int64) int64 {
	switch {
	case in.Upsert.Conflict == plans.ConflictSkip && affected != int64(in.Rows),
		in.Upsert.Conflict == plans.ConflictError && affected >= 0 && affected < int64(in.Rows),
		in.Upsert.Conflict == plans.ConflictUpdate, affected == 0:
		return 0
	}
	return first
}

// lastRow does what result does, for SQLite, whose own answer is the rowid of the last
// row that any INSERT of the connection has stored.
func (l lastID) lastRow(ids []filledID, affected int64) driver.Result {
	last := ids[len(ids)-1]
	if affected == 0 {
		return OwnResult{l.res, 0} // last_insert_rowid() is from another INSERT, perhaps into another table
	}
	f := execution.FactsOf(l.x.Conn, l.table)
	isRowID := f != nil && f.Columns[l.table.LastIDKey].RowID
	switch {
	case l.in.Upsert.Conflict == plans.ConflictSkip, affected != int64(l.in.Rows): // a trigger may skip rows with RAISE(IGNORE)
		return OwnResult{l.res, 0}
	case last.row != l.in.Rows-1 && isRowID:
		// The last row has an explicit key, so the driver's answer is right.
		return l.res
	case last.row != l.in.Rows-1:
		return OwnResult{l.res, 0}
	}
	return OwnResult{l.res, last.id}
}

// isLastRowID reports whether the rowid that SQLite has stored last belongs to a row of
// the statement, which is true if the statement has stored a row. Otherwise it is from
// another INSERT, perhaps into another table, even if the number is the same.
func (l lastID) isLastRowID() bool {
	if !l.x.Plan.Dialect.LastRowID || !isRowIDKey(l.x.Conn, l.table) {
		return false
	}
	switch affected := l.affected(); {
	case l.in.Upsert.Conflict != plans.ConflictUpdate && affected > 0:
		return true // each affected row was stored
	case l.in.Returning && (l.in.Upsert.Conflict == plans.ConflictError || l.in.Upsert.Conflict == plans.ConflictReplace) && !l.x.OwnConflicts():
		return true // each row was stored
	}
	return slices.Contains(l.x.Fate.Rows, execution.OutcomeStored)
}

// isRowIDKey reports whether the key that LastInsertId returns for a table is SQLite's
// rowid.
func isRowIDKey(c *execution.Conn, t *table.Table) bool {
	f := execution.FactsOf(c, t)
	return f != nil && f.Columns[t.LastIDKey].RowID
}

// storedID returns what LastInsertId returns for an execution whose stored rows are
// known: the first stored key (on SQLite, the last one), or 0.
func (l lastID) storedID(ids []filledID) int64 {
	if l.x.Plan.Dialect.LastRowID {
		return cmp.Or(l.lastStoredID(ids), l.x.Fate.Changed)
	}
	for i, id := range ids {
		switch {
		case l.x.Fate.Rows[id.place] == execution.OutcomeUnknown:
			return 0
		case l.x.Fate.Rows[id.place] == execution.OutcomeNotStored:
		case i > 0 && !l.spares(id):
			// Return 0, since a caller that counts up from this key would reach keys of other
			// statements.
			return 0
		default:
			return id.id
		}
	}
	return l.x.Fate.Changed
}

// lastStoredID does what storedID does, for SQLite. It returns 0 if a later row, which
// has an explicit key, may be the last one stored.
func (l lastID) lastStoredID(ids []filledID) int64 {
	rows := l.in.Rows
	for i, id := range slices.Backward(ids) {
		switch {
		case len(ids) != rows && (i < len(ids)-1 || id.row != rows-1), l.x.Fate.Rows[id.place] == execution.OutcomeUnknown:
			return 0
		case l.x.Fate.Rows[id.place] == execution.OutcomeStored:
			return id.id
		}
	}
	return 0
}

// spares reports whether unused keys were reserved after the keys of the statement. A
// caller that counts up from LastInsertId for each row, such as GORM, then never
// reaches keys of other statements.
func (l lastID) spares(id filledID) bool {
	draw := bind.FilledPlaces(l.x.Plan, l.x.Holes)[id.place].Draw
	return keys.SpareKeys(l.x.Plan, l.x.Plan.Draws[draw], l.x.Holes.Counts[draw]) > 0
}

// numberedResult returns the result of an INSERT … SELECT: its LastInsertId is the first
// key (on SQLite, the last one) if every counted row was stored, and otherwise a key that
// a query of the table has found.
func (l lastID) numberedResult() driver.Result {
	d := slices.IndexFunc(l.x.Plan.Draws, func(d plans.Draw) bool { return d.Key == l.table.LastIDKey })
	if d < 0 {
		return l.res
	}
	affected, err := l.res.RowsAffected()
	f := execution.FactsOf(l.x.Conn, l.table)
	switch {
	case l.x.Plan.Dialect.LastRowID && l.in.Upsert.Conflict != plans.ConflictUpdate && affected > 0 && f != nil && f.Columns[l.table.LastIDKey].RowID:
		return l.res // the rowid of the last row, which is its key
	case l.in.Upsert.Conflict != plans.ConflictError:
		return OwnResult{l.res, l.x.Fate.Changed}
	case err != nil, affected != l.x.Drawn.Rows[0], affected == 0:
		return OwnResult{l.res, 0}
	case l.x.Plan.Dialect.LastRowID:
		return OwnResult{l.res, l.x.Drawn.Keys[d][1].(int64) + l.x.Drawn.Rows[0]}
	}
	return OwnResult{l.res, l.x.Drawn.Keys[d][1].(int64) + 1}
}

// firstNumbered returns the first key of an INSERT … SELECT that the table contains (on
// SQLite, the last one), for a statement that may skip rows. It returns 0 if the table
// contains none, or if the caller does not read it.
func (a Answer) firstNumbered(ctx context.Context) (id int64) {
	d := slices.IndexFunc(a.x.Plan.Draws, func(d plans.Draw) bool { return d.Key == a.table.LastIDKey })
	if d < 0 || !a.tellsID() || a.in.Upsert.Conflict == plans.ConflictError || a.in.Upsert.UpdatesKey || a.x.Drawn.Rows[0] == 0 || a.affected() == 0 || a.idiomTells() {
		return 0
	}
	f := RowFactsOf(ctx, a.x)
	before, ok := a.x.Drawn.Keys[d][1].(int64)
	column := f.Column(a.x.Plan.Draws[d].Key)
	if !ok || !f.Stays || column == "" || !a.table.KeyColumns[a.x.Plan.Draws[d].Key].IsInteger() {
		return 0
	}
	which := "MIN"
	if a.x.Plan.Dialect.LastRowID {
		which = "MAX"
	}
	column = a.x.Plan.Dialect.QuoteIdent(column)
	query := fmt.Sprintf("SELECT %s(%s) FROM %s WHERE %s BETWEEN %d AND %d", which, column, a.in.Name.TableText, column, before+1, before+a.x.Drawn.Rows[0])
	ctx, cancel := execution.Aside(ctx)
	defer cancel()
	row, err := a.x.Conn.QueryRow(ctx, query, nil)
	if NoteAsked(ctx, a.x, err); err != nil || row[0] == nil {
		return 0
	}
	id, _ = session.IntegerOf(row[0])
	return id
}
