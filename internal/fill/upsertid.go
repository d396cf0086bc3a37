package fill

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// changedID returns the id of the row that an upsert of one row has changed, as
// MySQL and MariaDB tell it of a column with AUTO_INCREMENT; 0 where it is not
// found. A row of another unique value can be the only one in the way where the
// table has one other unique index, and is found by the values that the statement
// has for its columns.
func (a answer) changedID(ctx context.Context, f *keys.RowFacts, affected int64) int64 {
	t := a.table
	if a.x.plan.Dialect().Family != dialect.FamilyMySQL || a.in.Conflict != rewrite.ConflictUpdate || a.in.Rows != 1 || !f.Stays || !a.tellsID() ||
		affected < 1 || slices.ContainsFunc(a.x.fate.rows, func(o outcome) bool { return o != outcomeNotStored }) {
		return 0
	}
	if affected == 1 && a.x.conn.DB.found.counts() {
		return 0 // it may have been left as it is
	}
	columns, ok := f.OtherUnique(t.LastIDKey)
	if !ok {
		return 0
	}
	values, ok := a.valuesOf(columns)
	if !ok {
		return 0
	}
	ctx, cancel := aside(ctx)
	defer cancel()
	return a.idWhere(ctx, f.Columns[t.LastIDKey], columns, values)
}

// valuesOf returns the values that the row of the statement has for columns, where
// they are arguments or plain literals and none is NULL.
func (a answer) valuesOf(columns []string) ([]driver.Value, bool) {
	t := a.table
	p, ok := t.Gate.Values.Get(a.x.query)
	if !ok {
		d := a.x.plan.Dialect()
		target := t.Target
		target.Keys = slices.Clone(t.Keys)
		folded := make([]string, len(columns))
		for i, c := range columns {
			folded[i] = d.Fold(c, true)
		}
		// Values of a row are read for keys that are numbered within its columns.
		target.Keys[t.LastIDKey].Scope = folded
		p = rewrite.Compile(d, func(schema, name string) *rewrite.Target {
			if name != t.Rule.Name {
				return nil
			}
			return &target
		}, a.x.query)
		t.Gate.Values.Put(a.x.query, p)
	}
	if p.Action != rewrite.Fill && !p.AtExecution || len(p.Inserts) != 1 {
		return nil, false
	}
	h, err := p.Holes(a.x.args)
	if err != nil {
		return nil, false
	}
	rows, err := p.Scopes(a.x.args, h, 0, t.LastIDKey)
	if err != nil || len(rows) != 1 {
		return nil, false
	}
	return rows[0], true
}

// idWhere returns the id of the row with these values, 0 where there is not one.
// The statement has locked it.
func (a answer) idWhere(ctx context.Context, id string, columns []string, values []driver.Value) int64 {
	d := a.x.plan.Dialect()
	lock := d.Latest.Lock
	if a.x.conn.Tx != session.Inside {
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
	query := fmt.Sprintf("SELECT %s FROM %s WHERE %s LIMIT 2%s", d.QuoteIdent(id), a.in.TableText, condition, lock)
	var found []int64
	err := dbconn.Query(ctx, a.x.conn.Raw, query, args, func(row []any) error {
		n, ok := session.IntegerOf(row[0])
		if !ok {
			return errOtherKey
		}
		found = append(found, n)
		return nil
	})
	if a.x.noteAsked(ctx, err); err != nil || len(found) != 1 {
		return 0
	}
	return found[0]
}
