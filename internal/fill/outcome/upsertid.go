package outcome

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
)

// changedID returns the id of the row that an upsert of one row has changed, as MySQL
// and MariaDB return it for a column with AUTO_INCREMENT; 0 if the row is not found.
// The conflicting row can be determined only if the table has one other unique index:
// it is found by the statement's values for the columns of that index.
func (a Answer) changedID(ctx context.Context, f *table.RowFacts, affected int64) int64 {
	t := a.table
	if !a.x.Plan.Dialect.FirstID || a.in.Upsert.Conflict != plans.ConflictUpdate || a.in.Rows != 1 || !f.Stays || !a.tellsID() ||
		affected < 1 || slices.ContainsFunc(a.x.Fate.Rows, func(o execution.Outcome) bool { return o != execution.OutcomeNotStored }) {
		return 0
	}
	if affected == 1 && a.x.Conn.DB.Found.Counts() {
		return 0 // the row may have been left unchanged
	}
	columns, ok := f.OtherUnique(t.LastIDKey)
	if !ok {
		return 0
	}
	values, ok := a.valuesOf(columns)
	if !ok {
		return 0
	}
	ctx, cancel := execution.Aside(ctx)
	defer cancel()
	return a.idWhere(ctx, f.Columns[t.LastIDKey], columns, values)
}

// broughtID returns the explicit key of the last row, if no filled key was stored, as
// MySQL and MariaDB return it for a column with AUTO_INCREMENT; 0 if that row may have
// been skipped. If the table contains the key after an upsert, either the row was
// stored, or it has changed the row with that key; the driver's own answer would be
// that key too.
func (a Answer) broughtID(ctx context.Context, f *table.RowFacts, affected int64) int64 {
	t := a.table
	others := a.in.Rows - len(a.x.Fate.Rows)
	if a.x.Plan.Dialect.LastRowID {
		return a.broughtRowID(ctx, f)
	}
	if !a.x.Plan.Dialect.FirstID || others == 0 || affected < 1 || !f.Stays || a.in.Upsert.UpdatesKey || !a.tellsID() ||
		slices.ContainsFunc(a.x.Fate.Rows, func(o execution.Outcome) bool { return o != execution.OutcomeNotStored }) {
		return 0
	}
	brought := bind.BroughtKeys(a.x.Plan, a.x.Args, a.x.Holes, 0, t.LastIDKey)
	if len(brought) != others || brought[others-1].Row != a.in.Rows-1 || brought[others-1].Integer == 0 {
		return 0
	}
	key := brought[others-1].Integer
	switch all := affected == int64(others); {
	case a.in.Upsert.Conflict == plans.ConflictSkip && all, a.in.Upsert.LeavesRow && all && !a.x.Conn.DB.Found.Counts():
		return key
	case a.in.Upsert.Conflict != plans.ConflictUpdate:
		return 0
	}
	column := f.Columns[t.LastIDKey]
	ctx, cancel := execution.Aside(ctx)
	defer cancel()
	return a.idWhere(ctx, column, []string{column}, []driver.Value{key})
}

// broughtRowID does what broughtID does, for SQLite, whose last rowid may belong to a
// row with an explicit key.
func (a Answer) broughtRowID(ctx context.Context, f *table.RowFacts) int64 {
	t := a.table
	own, err := a.res.LastInsertId()
	if err != nil || own == 0 || !f.Stays || a.in.Upsert.UpdatesKey || !a.tellsID() || !isRowIDKey(a.x.Conn, t) || slices.Contains(a.x.Fate.Rows, execution.OutcomeStored) ||
		!slices.ContainsFunc(bind.BroughtKeys(a.x.Plan, a.x.Args, a.x.Holes, 0, t.LastIDKey), func(b bind.Brought) bool { return b.Integer == own }) {
		return 0
	}
	column := f.Columns[t.LastIDKey]
	ctx, cancel := execution.Aside(ctx)
	defer cancel()
	return a.idWhere(ctx, column, []string{column}, []driver.Value{own})
}

// valuesOf returns the values that the statement's row has for columns, if they are
// arguments or plain literals and none is NULL.
func (a Answer) valuesOf(columns []string) ([]driver.Value, bool) {
	t := a.table
	p, ok := t.Gate.Values.Get(a.x.Query)
	if !ok {
		d := a.x.Plan.Dialect
		target := t.Target
		target.Keys = slices.Clone(t.Keys)
		folded := make([]string, len(columns))
		for i, c := range columns {
			folded[i] = d.Fold(c, true)
		}
		// Declare the columns as a scope (columns within which the key is numbered), since
		// the values of a scope are read from the row.
		target.Keys[t.LastIDKey].Scope = folded
		p = compile.Query(d, func(schema, name string) *plans.Target {
			if name != t.Rule.Name {
				return nil
			}
			return &target
		}, a.x.Query)
		t.Gate.Values.Put(a.x.Query, p)
	}
	if p.Action != plans.Fill && !p.AtExecution || len(p.Inserts) != 1 {
		return nil, false
	}
	h, err := bind.FindHoles(p, a.x.Args)
	if err != nil {
		return nil, false
	}
	rows, err := bind.Scopes(p, a.x.Args, h, 0, t.LastIDKey)
	if err != nil || len(rows) != 1 {
		return nil, false
	}
	return rows[0], true
}

// idWhere returns the id of the row with these values, 0 if there is not exactly one.
// The statement has locked the row.
func (a Answer) idWhere(ctx context.Context, id string, columns []string, values []driver.Value) int64 {
	d := a.x.Plan.Dialect
	lock := d.Latest.Lock
	if a.x.Conn.Tx != session.Inside {
		lock = d.Latest.NoWait
	}
	var args []any
	condition, ok := parentCondition(d, columns, values)
	if ok {
		condition = strings.TrimSuffix(condition, " AND ")
	} else {
		var parts []string
		for i, c := range columns {
			parts = append(parts, d.QuoteIdent(c)+" = ?")
			args = append(args, values[i])
		}
		condition = strings.Join(parts, " AND ")
	}
	query := fmt.Sprintf("SELECT %s FROM %s WHERE %s LIMIT 2%s", d.QuoteIdent(id), a.in.Name.TableText, condition, lock)
	var found []int64
	err := dbconn.Query(ctx, a.x.Conn.Own(), query, args, func(row []any) error {
		n, ok := session.IntegerOf(row[0])
		if !ok {
			return errOtherKey
		}
		found = append(found, n)
		return nil
	})
	if NoteAsked(ctx, a.x, err); err != nil || len(found) != 1 {
		return 0
	}
	return found[0]
}
