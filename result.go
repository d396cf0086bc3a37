package keyfill

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"
	"time"

	"github.com/keyfill/keyfill/catalog"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// ownResult is a driver's result with the key that we have made, or 0 when it
// was not stored, or when the engine does not tell.
type ownResult struct {
	driver.Result
	id int64
}

func (r ownResult) LastInsertId() (int64, error) { return r.id, nil }

// upsertResult is that of an upsert of one row that has changed one. Whether it
// was inserted depends on what the server counts, which is asked when somebody
// wants to know.
type upsertResult struct {
	driver.Result
	id    int64
	mount *Mount
}

func (r upsertResult) LastInsertId() (int64, error) {
	if r.mount.countsFound() {
		return 0, nil
	}
	return r.id, nil
}

// filledID is a key that was filled into a row.
type filledID struct {
	row int
	id  int64
}

// result returns the driver's result, or one whose LastInsertId is the key of
// the first row, on SQLite that of the last one.
func (x *execution) result(res driver.Result) driver.Result {
	in := &x.plan.Inserts[0]
	t := tableOf(in)
	if t.lastID < 0 || x.session || !x.plan.Alone() {
		return res
	}
	if f := t.gate.facts.Load(); f != nil && f.otherID {
		return res
	}
	if x.plan.Counts() {
		return x.numberedResult(res)
	}
	ids := x.filledIDs(t.lastID)
	if len(ids) == 0 || in.Rows < 0 {
		return res
	}
	if in.Rows > 1 && !t.keys[t.lastID].adjacent() {
		// Who is given one of several keys takes the others to be beside it.
		return ownResult{res, 0}
	}
	affected, err := res.RowsAffected()
	if err != nil {
		affected = -1
	}
	switch d := x.plan.Dialect(); {
	case d.LastRowID:
		return x.lastRow(res, ids, affected)
	case in.Conflict == rewrite.ConflictUpdate && isMySQL(d):
		return x.upserted(res, ids[0].id, affected)
	}
	return ownResult{res, firstRow(in, ids[0].id, affected)}
}

// filledIDs returns the keys of the column of index i that were drawn, in row
// order.
func (x *execution) filledIDs(i int) []filledID {
	var ids []filledID
	for _, p := range x.plan.Filled(x.holes) {
		if p.Insert != 0 || p.Key != i {
			continue
		}
		switch v := x.keys[p.Draw][p.N].(type) {
		case int64:
			ids = append(ids, filledID{p.Row, v})
		case string:
			id, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return nil // a text key
			}
			ids = append(ids, filledID{p.Row, id})
		}
	}
	return ids
}

// firstRow returns the first key if it is known to be stored. affected is -1
// when the driver does not tell.
func firstRow(in *rewrite.Insert, first, affected int64) int64 {
	switch {
	case in.Conflict == rewrite.ConflictSkip && affected != int64(in.Rows),
		in.Conflict == rewrite.ConflictError && affected >= 0 && affected < int64(in.Rows),
		in.Conflict == rewrite.ConflictUpdate, affected == 0:
		return 0
	}
	return first
}

// upserted is for ON DUPLICATE KEY UPDATE of MySQL and MariaDB, which counts an
// inserted row once and an updated one twice; but with clientFoundRows one that
// is found and left as it is counts once too.
func (x *execution) upserted(res driver.Result, id, affected int64) driver.Result {
	in := &x.plan.Inserts[0]
	if in.Idiom {
		// The update part says which row it is, where it has run.
		if own, err := res.LastInsertId(); err == nil && own != 0 {
			return res
		}
	}
	if in.Rows == 1 && affected == 1 {
		return upsertResult{res, id, x.guard.mount}
	}
	return ownResult{res, 0}
}

// lastRow is for SQLite, whose own answer is the rowid of the last row that any
// INSERT of the connection has stored.
func (x *execution) lastRow(res driver.Result, ids []filledID, affected int64) driver.Result {
	in := &x.plan.Inserts[0]
	last := ids[len(ids)-1]
	if affected == 0 {
		return ownResult{res, 0} // last_insert_rowid() is another INSERT's, perhaps another table's
	}
	skips := in.Conflict == rewrite.ConflictSkip || in.Conflict == rewrite.ConflictUpdate ||
		in.Conflict == rewrite.ConflictError && affected != int64(in.Rows)
	t := tableOf(in)
	f := t.gate.facts.Load()
	if skips && f != nil && f.keys[t.lastID].rowID {
		// The key is the rowid, and what the connection says of it is of this
		// statement where it has changed.
		own, err := res.LastInsertId()
		updated := in.Conflict == rewrite.ConflictUpdate && own == x.before
		if err == nil && !updated && slices.ContainsFunc(ids, func(f filledID) bool { return f.id == own }) {
			return res
		}
		return ownResult{res, 0}
	}
	switch {
	case last.row != in.Rows-1 && f != nil && f.keys[t.lastID].rowID:
		// The last row has brought its own key.
		return res
	case last.row != in.Rows-1:
		return ownResult{res, 0}
	case in.Conflict == rewrite.ConflictUpdate, skips && affected != int64(in.Rows):
		return ownResult{res, 0}
	}
	return ownResult{res, last.id}
}

// remember notes the rowid that the connection has stored last, for an upsert
// that may store none: that of another table may be one of our keys.
func (x *execution) remember(ctx context.Context) {
	in := &x.plan.Inserts[0]
	t := tableOf(in)
	if !x.plan.Dialect().LastRowID || in.Conflict != rewrite.ConflictUpdate || t.lastID < 0 {
		return
	}
	rows, err := catalog.Conn(x.guard.conn).Rows(ctx, "SELECT last_insert_rowid()")
	if err == nil && len(rows) == 1 && len(rows[0]) == 1 {
		x.before, _ = rows[0][0].(int64)
	}
}

// isMySQL reports whether a dialect is that of MySQL or MariaDB.
func isMySQL(d *dialect.Dialect) bool { return d.ZeroIsNoKey }

// What is known of the connections' CLIENT_FOUND_ROWS.
const (
	foundCounts uint32 = iota + 1
	foundNot
)

// foundPatience is how long a caller of LastInsertId waits for the answer.
const foundPatience = 2 * time.Second

// countsFound reports whether the server may count rows that an upsert has left
// as they are. It is asked once, on a connection of our own, which has the same
// flags.
func (m *Mount) countsFound() bool {
	switch m.found.Load() {
	case foundCounts:
		return true
	case foundNot:
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), foundPatience)
	defer cancel()
	st, err := m.sources.stores.get("")
	if err != nil {
		return true
	}
	counts, err := st.CountsFound(ctx)
	switch {
	case err != nil:
		return true // asked again next time
	case counts:
		m.found.Store(foundCounts)
	default:
		m.found.Store(foundNot)
	}
	return counts
}
