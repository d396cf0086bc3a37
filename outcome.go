package keyfill

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// What became of the rows of an INSERT is said by the statement itself where it
// proves it, else by the table, which is asked for the keys. The count of affected
// rows alone proves little: MySQL and MariaDB answer 1 for an upsert that sets NULL
// over NULL in a column with a default, and where rows come back drivers leave it
// at 0, or at the count of another statement.

// settle finds out what became of the rows of an Exec that has succeeded, if
// somebody wants to know. A transaction of ours is still open then.
func (x *execution) settle(ctx context.Context, res driver.Result) {
	x.fates, x.changed, x.gone = nil, 0, nil
	if x.kept {
		return
	}
	if x.plan.Alone() && x.plan.Counts() {
		x.changed = x.firstNumbered(ctx, res)
		return
	}
	if !x.plan.Alone() || x.plan.Inserts[0].Query != nil || !x.isWanted(res) {
		return
	}
	in := &x.plan.Inserts[0]
	affected := x.affected(res)
	o, open := x.proven(in, affected)
	x.fates = slices.Repeat([]Outcome{o}, len(x.plan.Filled(x.holes)))
	if !open {
		return
	}
	f := x.rowFacts(ctx)
	if f.stays {
		o = x.byCount(in, affected)
	}
	if o == Unknown && f.shown && !in.UpdatesKey {
		x.fates = x.inTable(ctx, f, affected)
	} else {
		x.fates = slices.Repeat([]Outcome{o}, len(x.fates))
	}
	if !x.idiomTells(res) {
		x.changed = x.changedID(ctx, f, affected)
	}
}

// isWanted reports whether somebody wants to know what became of each row: a
// recorder, or LastInsertId of a statement that need not store its first row.
func (x *execution) isWanted(res driver.Result) bool {
	if x.rec != nil {
		return true
	}
	if !x.isOpen() || !x.tellsID() {
		return false
	}
	return !x.idiomTells(res) && !x.rowIDTells(res)
}

// idiomTells reports whether an update part that calls LAST_INSERT_ID has run: it
// says itself which row it is.
func (x *execution) idiomTells(res driver.Result) bool {
	if !x.plan.Inserts[0].Idiom {
		return false
	}
	own, err := res.LastInsertId()
	return err == nil && own != 0
}

// isOpen reports whether the statement may succeed without storing all its rows,
// or does not say how many it has stored.
func (x *execution) isOpen() bool {
	in := &x.plan.Inserts[0]
	return in.Conflict == rewrite.ConflictSkip || in.Conflict == rewrite.ConflictUpdate || in.Returning || x.ownConflicts()
}

// tellsID reports whether the result's LastInsertId is to be one of our keys.
func (x *execution) tellsID() bool {
	t := tableOf(&x.plan.Inserts[0])
	if t.lastID < 0 || x.session || !x.plan.Alone() {
		return false
	}
	f := t.gate.facts.Load()
	return f == nil || !f.otherID
}

// affected returns the number of rows that the statement has affected, -1 where
// the driver does not tell. Where rows come back only PostgreSQL sends their number
// as well: MariaDB's answer has none, and SQLite counts when the last row was read.
func (x *execution) affected(res driver.Result) int64 {
	if x.plan.Inserts[0].Returning && !x.plan.Dialect().ErrorsAbort {
		return -1
	}
	n, err := res.RowsAffected()
	if err != nil {
		return -1
	}
	return n
}

// proven returns what became of all rows where the statement proves it. Else it is
// Unknown, and open says that the table may tell more.
func (x *execution) proven(in *rewrite.Insert, affected int64) (o Outcome, open bool) {
	rows := int64(in.Rows)
	switch {
	case in.Conflict == rewrite.ConflictConditional:
		return Unknown, false // the column may be that of a MERGE's source
	case x.ownConflicts() && rows > 1:
		return Unknown, true
	case in.Conflict == rewrite.ConflictError && affected < 0 && !in.Returning:
		return Stored, false
	case in.Conflict == rewrite.ConflictError && affected >= 0:
		if affected == rows {
			return Stored, false
		}
		// A trigger has stored the row elsewhere, or SET NOCOUNT is ON.
		return Unknown, x.ownConflicts()
	case in.Conflict == rewrite.ConflictReplace && rows == 1 && affected > 0:
		return Stored, false
	}
	return Unknown, true
}

// byCount returns what the number of affected rows says of a table in which no
// trigger changes, moves or leaves out a row.
func (x *execution) byCount(in *rewrite.Insert, affected int64) Outcome {
	if x.ownConflicts() {
		return Unknown
	}
	switch in.Conflict {
	case rewrite.ConflictError:
		if affected < 0 {
			return Stored // or it had failed
		}
	case rewrite.ConflictReplace:
		if in.Rows == 1 {
			return Stored
		}
	case rewrite.ConflictSkip:
		return countedSkip(in, affected)
	case rewrite.ConflictUpdate:
		return x.countedUpsert(in, affected)
	}
	return Unknown
}

// countedSkip is byCount where rows may have been left out.
func countedSkip(in *rewrite.Insert, affected int64) Outcome {
	switch {
	case affected == 0:
		return NotStored
	case affected == int64(in.Rows) && !(in.Replaces && in.Rows > 1):
		return Stored
	}
	return Unknown
}

// countedUpsert is byCount where rows that were there may have been changed. MySQL
// and MariaDB count an inserted row once and a changed one twice, and one that is
// left as it is once with clientFoundRows, else not.
func (x *execution) countedUpsert(in *rewrite.Insert, affected int64) Outcome {
	rows := int64(in.Rows)
	family := x.plan.Dialect().Family == dialect.FamilyMySQL
	switch {
	case affected == 0:
		return NotStored
	case !family || in.UpdatesKey || in.Replaces:
	case affected == 2*rows:
		return NotStored
	case in.LeavesRow && affected == rows && !x.guard.db.countsFound():
		return Stored
	}
	return Unknown
}

// inTable returns what became of the rows as the table tells it.
func (x *execution) inTable(ctx context.Context, f *rowFacts, affected int64) []Outcome {
	in := &x.plan.Inserts[0]
	places := x.plan.Filled(x.holes)
	fates := make([]Outcome, len(places))
	for draw := range x.plan.Draws {
		found := x.present(ctx, f, draw, affected)
		if found == nil {
			continue
		}
		stored := int64(0)
		for _, o := range found {
			if o == Stored {
				stored++
			}
		}
		for i, p := range places {
			if p.Draw == draw {
				fates[i] = believed(in, f, found[p.N], stored, int64(len(found)), affected)
			}
		}
	}
	return fates
}

// believed returns what the presence of a key says of its row, where stored keys of
// all were found.
func believed(in *rewrite.Insert, f *rowFacts, found Outcome, stored, all, affected int64) Outcome {
	switch {
	case stored == all && affected != 0:
		return found
	case !f.stays:
		return Unknown // a key may be that of another row of the statement
	case affected < 0 || in.Conflict == rewrite.ConflictReplace || in.Replaces:
		return found
	case stored > affected:
		return Unknown // another statement has stored one of the keys
	case in.Conflict == rewrite.ConflictSkip && all == int64(in.Rows) && stored < affected && found == NotStored:
		return Unknown // another one has removed it since
	}
	return found
}

// storedID returns what LastInsertId gives of an execution that is settled: the
// first key that is stored, on SQLite the last, or 0.
func (x *execution) storedID(d *dialect.Dialect, ids []filledID) int64 {
	if d.LastRowID {
		return x.lastStoredID(ids)
	}
	for i, id := range ids {
		switch {
		case x.fates[id.place] == Unknown:
			return 0
		case x.fates[id.place] == NotStored:
		case i > 0 && !x.spares(id):
			// Who counts up from it would come to keys of other statements.
			return 0
		default:
			return id.id
		}
	}
	return x.changed
}

// lastStoredID is storedID for SQLite. Rows that bring their keys are not known.
func (x *execution) lastStoredID(ids []filledID) int64 {
	rows := x.plan.Inserts[0].Rows
	for i, id := range slices.Backward(ids) {
		switch {
		case len(ids) != rows && (i < len(ids)-1 || id.row != rows-1), x.fates[id.place] == Unknown:
			return 0
		case x.fates[id.place] == Stored:
			return id.id
		}
	}
	return 0
}

// failure returns what an error says of the rows.
func (x *execution) failure(err error) Outcome {
	in := &x.plan.Inserts[0]
	switch {
	case x.undone:
		return NotStored
	case x.gone != nil && x.guard.tx != txInside:
		return Unknown // the statement may have committed by itself
	}
	// ErrBadConn says nothing: drivers give it for a connection that broke after
	// the send, too.
	atomic := in.Rows == 1 || x.plan.Dialect().AtomicStatements && in.Conflict != rewrite.ConflictSkip && !x.ownConflicts()
	if atomic && sqlcode.Answered(err) {
		return NotStored
	}
	return Unknown
}

// ended returns what an error says of the rows of one INSERT of the text.
func (x *execution) ended(in *rewrite.Insert, err error) Outcome {
	if x.plan.Alone() {
		return x.failure(err)
	}
	return x.together(in, err)
}

// ownConflicts reports whether the table may leave out or replace rows by
// itself.
func (x *execution) ownConflicts() bool {
	f := tableOf(&x.plan.Inserts[0]).gate.facts.Load()
	return f != nil && f.ownConflicts
}
