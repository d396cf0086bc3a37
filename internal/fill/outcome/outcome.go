package outcome

import (
	"cmp"
	"context"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Which rows of an INSERT were stored is known from the statement's answer if that
// proves it. Otherwise the table is queried for the keys. The number of affected rows
// alone proves little: MySQL and MariaDB return 1 for an upsert that sets NULL over
// NULL in a column with a default, and if a statement returns rows, drivers leave the
// number at 0, or at that from another statement.

// Settle finds out which rows of a successful Exec were stored, if a caller wants to
// know. If keyfill has begun a transaction, it is still open then.
func (a Answer) Settle(ctx context.Context) {
	a.x.Fate.Rows, a.x.Fate.Changed, a.x.Fate.Gone = nil, 0, nil
	if a.x.Form.Kept {
		return
	}
	if a.x.Plan.Alone() && a.x.Plan.Counts() {
		a.x.Fate.Changed = a.firstNumbered(ctx)
		return
	}
	if !a.x.Plan.Alone() || a.in.Query != nil || !a.isWanted() {
		return
	}
	affected := a.affected()
	o, open := a.proven(affected)
	a.x.Fate.Rows = slices.Repeat([]execution.Outcome{o}, len(bind.FilledPlaces(a.x.Plan, a.x.Holes)))
	if !open {
		a.recheck(ctx, o, affected)
		return
	}
	f := RowFactsOf(ctx, a.x)
	if f.Stays {
		o = a.byCount(affected)
	}
	if o == execution.OutcomeUnknown && f.Shown && !a.in.Upsert.UpdatesKey {
		a.x.Fate.Rows = a.inTable(ctx, f, affected)
	} else {
		a.x.Fate.Rows = slices.Repeat([]execution.Outcome{o}, len(a.x.Fate.Rows))
	}
	if !a.idiomTells() {
		a.x.Fate.Changed = cmp.Or(a.changedID(ctx, f, affected), a.broughtID(ctx, f, affected))
	}
}

// recheck queries the table for the keys of rows that are stored according to the
// statement's answer, if a recorder (see keyfill.Record) wants to know and a trigger may
// have changed the keys. The outcome of a key that is not found is unknown.
func (a Answer) recheck(ctx context.Context, o execution.Outcome, affected int64) {
	family := a.x.Plan.Dialect.Family
	if o != execution.OutcomeStored || a.x.Recording.Recorder == nil || family == dialect.FamilySQLServer || family == dialect.FamilyOracle {
		return // SQL Server and Oracle are not asked about triggers
	}
	if f := triggerFacts(ctx, a.x); f.Triggered {
		a.x.Fate.Rows = a.inTable(ctx, f, affected)
	}
}

// isWanted reports whether a caller wants to know which rows were stored: it has set a
// recorder (see keyfill.Record), or it may read LastInsertId of a statement that may skip
// its first row.
func (a Answer) isWanted() bool {
	if a.x.Recording.Recorder != nil {
		return true
	}
	if !a.isOpen() || !a.tellsID() {
		return false
	}
	return !a.idiomTells() && !a.rowIDTells()
}

// proven returns the outcome of the rows if the statement's answer proves it. Otherwise
// the outcome is unknown, and open reports whether a query of the table may show it.
func (a Answer) proven(affected int64) (o execution.Outcome, open bool) {
	rows := int64(a.in.Rows)
	switch {
	case a.in.Upsert.Conflict == plans.ConflictConditional:
		return execution.OutcomeUnknown, false // in a MERGE, the key's column may be a column of the source, which proves nothing
	case a.x.OwnConflicts() && rows > 1:
		return execution.OutcomeUnknown, true
	case a.in.Upsert.Conflict == plans.ConflictError && affected < 0 && !a.in.Returning:
		return execution.OutcomeStored, false
	case a.in.Upsert.Conflict == plans.ConflictError && affected >= 0:
		if affected == rows {
			return execution.OutcomeStored, false
		}
		// The engine has counted fewer rows: a trigger has stored a row elsewhere, or SET
		// NOCOUNT is ON.
		return execution.OutcomeUnknown, a.x.OwnConflicts()
	case a.in.Upsert.Conflict == plans.ConflictReplace && rows == 1 && affected > 0:
		return execution.OutcomeStored, false
	case a.in.Conditional && a.in.Upsert.Conflict == plans.ConflictSkip && affected == rows:
		return execution.OutcomeStored, false // as many rows were stored as were sent, so the condition was true for each of them
	}
	return execution.OutcomeUnknown, true
}

// byCount returns the outcome that follows from the number of affected rows, for a
// table in which no trigger changes, moves or skips rows.
func (a Answer) byCount(affected int64) execution.Outcome {
	if a.x.OwnConflicts() {
		return execution.OutcomeUnknown
	}
	switch a.in.Upsert.Conflict {
	case plans.ConflictError:
		if affected < 0 {
			return execution.OutcomeStored // otherwise the statement would have failed
		}
	case plans.ConflictReplace:
		switch {
		case a.in.Conditional && affected == 0:
			return execution.OutcomeNotStored
		case a.in.Rows == 1 && !a.in.Conditional:
			return execution.OutcomeStored
		}
	case plans.ConflictSkip:
		if affected == 0 && a.x.Plan.Dialect.Family == dialect.FamilySQLServer {
			return execution.OutcomeUnknown // with SET NOCOUNT ON, SQL Server counts no rows
		}
		return countedSkip(a.in, affected)
	case plans.ConflictUpdate:
		return a.countedUpsert(affected)
	}
	return execution.OutcomeUnknown
}

// countedSkip does what byCount does, for an INSERT that may skip rows.
func countedSkip(in *plans.Insert, affected int64) execution.Outcome {
	switch {
	case affected == 0:
		return execution.OutcomeNotStored
	case affected == int64(in.Rows) && !(in.Upsert.Replaces && in.Rows > 1):
		return execution.OutcomeStored
	}
	return execution.OutcomeUnknown
}

// countedUpsert does what byCount does, for an INSERT that may change existing rows.
// MySQL and MariaDB count an inserted row once and a changed row twice. A row that the
// statement leaves unchanged counts once with clientFoundRows, and otherwise not.
func (a Answer) countedUpsert(affected int64) execution.Outcome {
	rows := int64(a.in.Rows)
	family := a.x.Plan.Dialect.Family == dialect.FamilyMySQL
	switch {
	case affected == 0:
		return execution.OutcomeNotStored
	case !family || a.in.Upsert.UpdatesKey || a.in.Upsert.Replaces:
	case affected == 2*rows:
		return execution.OutcomeNotStored
	case a.in.Upsert.LeavesRow && affected == rows && !a.x.Conn.DB.Found.Counts():
		return execution.OutcomeStored
	}
	return execution.OutcomeUnknown
}

// inTable returns the outcomes of the rows that a query of the table shows.
func (a Answer) inTable(ctx context.Context, f *table.RowFacts, affected int64) []execution.Outcome {
	places := bind.FilledPlaces(a.x.Plan, a.x.Holes)
	fates := make([]execution.Outcome, len(places))
	for draw := range a.x.Plan.Draws {
		found := presentKeys(ctx, a.x, f, draw, affected)
		if found == nil {
			continue
		}
		stored := int64(0)
		for _, o := range found {
			if o == execution.OutcomeStored {
				stored++
			}
		}
		for i, p := range places {
			if p.Draw == draw {
				fates[i] = believed(a.in, f, found[p.N], stored, int64(len(found)), affected)
				if !f.Stays && !a.table.KeyColumns[p.Key].Rule.Integer && found[p.N] == execution.OutcomeStored {
					fates[i] = execution.OutcomeStored // the key is not an integer, so no other row has it by chance
				}
			}
		}
	}
	return fates
}

// believed returns the outcome of a row from whether its key was found. stored is how
// many of the asked keys were found.
func believed(in *plans.Insert, f *table.RowFacts, found execution.Outcome, stored, asked, affected int64) execution.Outcome {
	switch {
	case stored == asked && affected != 0:
		return found
	case !f.Stays:
		return execution.OutcomeUnknown // a trigger may have given the key to another row of the statement, as by NEW.id + 1
	case affected < 0 || in.Upsert.Conflict == plans.ConflictReplace || in.Upsert.Replaces:
		return found
	case stored > affected:
		return execution.OutcomeUnknown // another statement has stored one of the keys
	case in.Upsert.Conflict == plans.ConflictSkip && asked == int64(in.Rows) && stored < affected && found == execution.OutcomeNotStored:
		return execution.OutcomeUnknown // another session has deleted the row since
	}
	return found
}
