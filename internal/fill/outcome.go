package fill

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
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
	x.fates = slices.Repeat([]outcome{o}, len(x.plan.Filled(x.holes)))
	if !open {
		return
	}
	f := x.rowFacts(ctx)
	if f.Stays {
		o = x.byCount(in, affected)
	}
	if o == outcomeUnknown && f.Shown && !in.UpdatesKey {
		x.fates = x.inTable(ctx, f, affected)
	} else {
		x.fates = slices.Repeat([]outcome{o}, len(x.fates))
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

// isOpen reports whether success leaves open how many rows were stored.
func (x *execution) isOpen() bool {
	in := &x.plan.Inserts[0]
	return in.Conflict == rewrite.ConflictSkip || in.Conflict == rewrite.ConflictUpdate || in.Returning || x.ownConflicts()
}

// tellsID reports whether the result's LastInsertId is to be one of our keys.
func (x *execution) tellsID() bool {
	t := keys.TableOf(&x.plan.Inserts[0])
	if t.LastIDKey < 0 || x.session || !x.plan.Alone() {
		return false
	}
	f := t.Facts()
	return f == nil || !f.NumbersOther
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

// proven returns what became of the rows if the statement alone proves it. Otherwise
// the outcome is unknown; open says whether asking the table may tell more.
func (x *execution) proven(in *rewrite.Insert, affected int64) (o outcome, open bool) {
	rows := int64(in.Rows)
	switch {
	case in.Conflict == rewrite.ConflictConditional:
		return outcomeUnknown, false // the column may be that of a MERGE's source
	case x.ownConflicts() && rows > 1:
		return outcomeUnknown, true
	case in.Conflict == rewrite.ConflictError && affected < 0 && !in.Returning:
		return outcomeStored, false
	case in.Conflict == rewrite.ConflictError && affected >= 0:
		if affected == rows {
			return outcomeStored, false
		}
		// A trigger has stored the row elsewhere, or SET NOCOUNT is ON.
		return outcomeUnknown, x.ownConflicts()
	case in.Conflict == rewrite.ConflictReplace && rows == 1 && affected > 0:
		return outcomeStored, false
	}
	return outcomeUnknown, true
}

// byCount returns what the number of affected rows says of a table in which no
// trigger changes, moves or leaves out a row.
func (x *execution) byCount(in *rewrite.Insert, affected int64) outcome {
	if x.ownConflicts() {
		return outcomeUnknown
	}
	switch in.Conflict {
	case rewrite.ConflictError:
		if affected < 0 {
			return outcomeStored // or it had failed
		}
	case rewrite.ConflictReplace:
		if in.Rows == 1 {
			return outcomeStored
		}
	case rewrite.ConflictSkip:
		return countedSkip(in, affected)
	case rewrite.ConflictUpdate:
		return x.countedUpsert(in, affected)
	}
	return outcomeUnknown
}

// countedSkip is byCount where rows may have been left out.
func countedSkip(in *rewrite.Insert, affected int64) outcome {
	switch {
	case affected == 0:
		return outcomeNotStored
	case affected == int64(in.Rows) && !(in.Replaces && in.Rows > 1):
		return outcomeStored
	}
	return outcomeUnknown
}

// countedUpsert is byCount where rows that were there may have been changed. MySQL
// and MariaDB count an inserted row once and a changed one twice, and one that is
// left as it is once with clientFoundRows, else not.
func (x *execution) countedUpsert(in *rewrite.Insert, affected int64) outcome {
	rows := int64(in.Rows)
	family := x.plan.Dialect().Family == dialect.FamilyMySQL
	switch {
	case affected == 0:
		return outcomeNotStored
	case !family || in.UpdatesKey || in.Replaces:
	case affected == 2*rows:
		return outcomeNotStored
	case in.LeavesRow && affected == rows && !x.conn.DB.countsFound():
		return outcomeStored
	}
	return outcomeUnknown
}

// inTable returns what became of the rows as the table tells it.
func (x *execution) inTable(ctx context.Context, f *keys.RowFacts, affected int64) []outcome {
	in := &x.plan.Inserts[0]
	places := x.plan.Filled(x.holes)
	fates := make([]outcome, len(places))
	for draw := range x.plan.Draws {
		found := x.present(ctx, f, draw, affected)
		if found == nil {
			continue
		}
		stored := int64(0)
		for _, o := range found {
			if o == outcomeStored {
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
func believed(in *rewrite.Insert, f *keys.RowFacts, found outcome, stored, all, affected int64) outcome {
	switch {
	case stored == all && affected != 0:
		return found
	case !f.Stays:
		return outcomeUnknown // a key may be that of another row of the statement
	case affected < 0 || in.Conflict == rewrite.ConflictReplace || in.Replaces:
		return found
	case stored > affected:
		return outcomeUnknown // another statement has stored one of the keys
	case in.Conflict == rewrite.ConflictSkip && all == int64(in.Rows) && stored < affected && found == outcomeNotStored:
		return outcomeUnknown // another one has removed it since
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
		case x.fates[id.place] == outcomeUnknown:
			return 0
		case x.fates[id.place] == outcomeNotStored:
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
		case len(ids) != rows && (i < len(ids)-1 || id.row != rows-1), x.fates[id.place] == outcomeUnknown:
			return 0
		case x.fates[id.place] == outcomeStored:
			return id.id
		}
	}
	return 0
}

// failure returns what an error says of the rows.
func (x *execution) failure(err error) outcome {
	in := &x.plan.Inserts[0]
	switch {
	case x.undone:
		return outcomeNotStored
	case x.gone != nil && x.conn.Tx != session.Inside:
		return outcomeUnknown // the statement may have committed by itself
	}
	// ErrBadConn says nothing: drivers give it for a connection that broke after
	// the send, too.
	atomic := in.Rows == 1 || x.plan.Dialect().AtomicStatements && in.Conflict != rewrite.ConflictSkip && !x.ownConflicts()
	if atomic && sqlcode.Answered(err) {
		return outcomeNotStored
	}
	return outcomeUnknown
}

// ended returns what an error says of the rows of one INSERT of the text.
func (x *execution) ended(in *rewrite.Insert, err error) outcome {
	if x.plan.Alone() {
		return x.failure(err)
	}
	return x.together(in, err)
}

// ownConflicts reports whether the table may leave out or replace rows by
// itself.
func (x *execution) ownConflicts() bool {
	f := keys.TableOf(&x.plan.Inserts[0]).Facts()
	return f != nil && f.OwnConflicts
}
