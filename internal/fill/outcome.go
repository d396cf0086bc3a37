package fill

import (
	"cmp"
	"context"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/rewrite"
)

// What became of the rows of an INSERT is said by the statement itself where it
// proves it, else by the table, which is asked for the keys. The count of affected
// rows alone proves little: MySQL and MariaDB answer 1 for an upsert that sets NULL
// over NULL in a column with a default, and where rows come back drivers leave it
// at 0, or at the count of another statement.

// settle finds out what became of the rows of an Exec that has succeeded, if
// somebody wants to know. A transaction of ours is still open then.
func (a answer) settle(ctx context.Context) {
	a.x.fate.rows, a.x.fate.changed, a.x.fate.gone = nil, 0, nil
	if a.x.kept {
		return
	}
	if a.x.plan.Alone() && a.x.plan.Counts() {
		a.x.fate.changed = a.firstNumbered(ctx)
		return
	}
	if !a.x.plan.Alone() || a.in.Query != nil || !a.isWanted() {
		return
	}
	affected := a.affected()
	o, open := a.proven(affected)
	a.x.fate.rows = slices.Repeat([]outcome{o}, len(a.x.plan.Filled(a.x.holes)))
	if !open {
		a.recheck(ctx, o, affected)
		return
	}
	f := a.x.rowFacts(ctx)
	if f.Stays {
		o = a.byCount(affected)
	}
	if o == outcomeUnknown && f.Shown && !a.in.UpdatesKey {
		a.x.fate.rows = a.inTable(ctx, f, affected)
	} else {
		a.x.fate.rows = slices.Repeat([]outcome{o}, len(a.x.fate.rows))
	}
	if !a.idiomTells() {
		a.x.fate.changed = cmp.Or(a.changedID(ctx, f, affected), a.broughtID(ctx, f, affected))
	}
}

// recheck asks the table for the keys of rows that the statement says are stored, if a
// recorder wants to know, and a trigger of the table may have given them others. A key
// that is not found is unknown.
func (a answer) recheck(ctx context.Context, o outcome, affected int64) {
	family := a.x.plan.Dialect().Family
	if o != outcomeStored || a.x.recording.recorder == nil || family == dialect.FamilySQLServer || family == dialect.FamilyOracle {
		return // these two are not asked for triggers
	}
	if f := triggerFacts(ctx, a.x); f.Triggered {
		a.x.fate.rows = a.inTable(ctx, f, affected)
	}
}

// isWanted reports whether somebody wants to know what became of each row: a
// recorder, or LastInsertId of a statement that need not store its first row.
func (a answer) isWanted() bool {
	if a.x.recording.recorder != nil {
		return true
	}
	if !a.isOpen() || !a.tellsID() {
		return false
	}
	return !a.idiomTells() && !a.rowIDTells()
}

// proven returns what became of the rows if the statement alone proves it. Otherwise
// the outcome is unknown; open says whether asking the table may tell more.
func (a answer) proven(affected int64) (o outcome, open bool) {
	rows := int64(a.in.Rows)
	switch {
	case a.in.Conflict == rewrite.ConflictConditional:
		return outcomeUnknown, false // the column may belong to the source of a MERGE
	case a.x.ownConflicts() && rows > 1:
		return outcomeUnknown, true
	case a.in.Conflict == rewrite.ConflictError && affected < 0 && !a.in.Returning:
		return outcomeStored, false
	case a.in.Conflict == rewrite.ConflictError && affected >= 0:
		if affected == rows {
			return outcomeStored, false
		}
		// A trigger has stored the row elsewhere, or SET NOCOUNT is ON.
		return outcomeUnknown, a.x.ownConflicts()
	case a.in.Conflict == rewrite.ConflictReplace && rows == 1 && affected > 0:
		return outcomeStored, false
	case a.in.Conditional && a.in.Conflict == rewrite.ConflictSkip && affected == rows:
		return outcomeStored, false // each row has met its condition
	}
	return outcomeUnknown, true
}

// byCount returns what the number of affected rows says of a table in which no
// trigger changes, moves or leaves out a row.
func (a answer) byCount(affected int64) outcome {
	if a.x.ownConflicts() {
		return outcomeUnknown
	}
	switch a.in.Conflict {
	case rewrite.ConflictError:
		if affected < 0 {
			return outcomeStored // or it had failed
		}
	case rewrite.ConflictReplace:
		switch {
		case a.in.Conditional && affected == 0:
			return outcomeNotStored
		case a.in.Rows == 1 && !a.in.Conditional:
			return outcomeStored
		}
	case rewrite.ConflictSkip:
		if affected == 0 && a.x.plan.Dialect().Family == dialect.FamilySQLServer {
			return outcomeUnknown // SET NOCOUNT may be ON
		}
		return countedSkip(a.in, affected)
	case rewrite.ConflictUpdate:
		return a.countedUpsert(affected)
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
func (a answer) countedUpsert(affected int64) outcome {
	rows := int64(a.in.Rows)
	family := a.x.plan.Dialect().Family == dialect.FamilyMySQL
	switch {
	case affected == 0:
		return outcomeNotStored
	case !family || a.in.UpdatesKey || a.in.Replaces:
	case affected == 2*rows:
		return outcomeNotStored
	case a.in.LeavesRow && affected == rows && !a.x.conn.DB.found.counts():
		return outcomeStored
	}
	return outcomeUnknown
}

// inTable returns what became of the rows as the table tells it.
func (a answer) inTable(ctx context.Context, f *keys.RowFacts, affected int64) []outcome {
	places := a.x.plan.Filled(a.x.holes)
	fates := make([]outcome, len(places))
	for draw := range a.x.plan.Draws {
		found := presentKeys(ctx, a.x, f, draw, affected)
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
				fates[i] = believed(a.in, f, found[p.N], stored, int64(len(found)), affected)
				if !f.Stays && !a.table.KeyColumns[p.Key].Rule.Integer && found[p.N] == outcomeStored {
					fates[i] = outcomeStored // no other row comes to this key by chance
				}
			}
		}
	}
	return fates
}

// believed returns what the presence of a key says of its row, where stored of the keys
// that were asked for were found.
func believed(in *rewrite.Insert, f *keys.RowFacts, found outcome, stored, asked, affected int64) outcome {
	switch {
	case stored == asked && affected != 0:
		return found
	case !f.Stays:
		return outcomeUnknown // another row of the statement may have the key: NEW.id + 1
	case affected < 0 || in.Conflict == rewrite.ConflictReplace || in.Replaces:
		return found
	case stored > affected:
		return outcomeUnknown // another statement has stored one of the keys
	case in.Conflict == rewrite.ConflictSkip && asked == int64(in.Rows) && stored < affected && found == outcomeNotStored:
		return outcomeUnknown // another one has removed it since
	}
	return found
}
