package fill

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"
	"time"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/rewrite"
)

// ownResult is a driver's result with the key that we have made, or 0 when it
// was not stored, or when the engine does not tell.
type ownResult struct {
	driver.Result
	id int64
}

func (r ownResult) LastInsertId() (int64, error) { return r.id, nil }

// severalResults are what go-sql-driver/mysql tells of each statement of a text, to
// callers who execute it through sql.Conn.Raw.
type severalResults interface {
	AllRowsAffected() []int64
	AllLastInsertIds() []int64
}

// ownResults is an ownResult whose driver also gives the results of each statement.
type ownResults struct {
	ownResult
	all severalResults
}

func (r ownResults) AllRowsAffected() []int64 { return r.all.AllRowsAffected() }

// AllLastInsertIds ends with our key, as LastInsertId gives it.
func (r ownResults) AllLastInsertIds() []int64 {
	ids := slices.Clone(r.all.AllLastInsertIds())
	if len(ids) > 0 {
		ids[len(ids)-1] = r.id
	}
	return ids
}

// withSeveral makes an ownResult an ownResults if its driver also gives the results of
// each statement. Any other result comes back as it is.
func withSeveral(res driver.Result) driver.Result {
	own, ok := res.(ownResult)
	if !ok {
		return res
	}
	if all, ok := own.Result.(severalResults); ok {
		return ownResults{own, all}
	}
	return res
}

// filledID is a key that was filled into a row.
type filledID struct {
	row   int
	id    int64
	place int // among those that the plan has filled
}

// result returns the driver's result, or one whose LastInsertId is the key of
// the first row, on SQLite that of the last one.
func (x *execution) result(res driver.Result) driver.Result {
	in := &x.plan.Inserts[0]
	t := keys.TableOf(in)
	if t.LastIDKey < 0 || x.session || !x.plan.Alone() {
		return res
	}
	if f := t.Facts(); f != nil && f.NumbersOther {
		return res
	}
	if x.plan.Counts() {
		return x.numberedResult(res)
	}
	ids := x.filledIDs(t.LastIDKey)
	if len(ids) == 0 || in.Rows < 0 {
		return res
	}
	if in.Rows > 1 && !t.KeyColumns[t.LastIDKey].Adjacent() {
		// Who is given one of several keys takes the others to be beside it.
		return ownResult{res, 0}
	}
	switch {
	case x.idiomTells(res):
		return res
	case x.fates != nil && x.isOpen():
		return ownResult{res, x.storedID(x.plan.Dialect(), ids)}
	}
	affected := x.affected(res)
	if x.plan.Dialect().LastRowID {
		return x.lastRow(res, ids, affected)
	}
	return ownResult{res, firstRow(in, ids[0].id, affected)}
}

// filledIDs returns the keys of the column of index i that were drawn, in row
// order.
func (x *execution) filledIDs(i int) []filledID {
	var ids []filledID
	for n, p := range x.plan.Filled(x.holes) {
		if p.Insert != 0 || p.Key != i {
			continue
		}
		switch v := x.keys[p.Draw][p.N].(type) {
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

// rowIDTells reports whether the rowid that SQLite has stored last says which row
// of the statement was: where rows may have been left out, some are stored, and the
// key is the rowid.
func (x *execution) rowIDTells(res driver.Result) bool {
	in := &x.plan.Inserts[0]
	t := keys.TableOf(in)
	f := t.Facts()
	return x.plan.Dialect().LastRowID && f != nil && f.Columns[t.LastIDKey].RowID && in.Conflict == rewrite.ConflictSkip &&
		!in.Replaces && !f.OwnConflicts && x.affected(res) > 0
}

// lastRow is for SQLite, whose own answer is the rowid of the last row that any
// INSERT of the connection has stored.
func (x *execution) lastRow(res driver.Result, ids []filledID, affected int64) driver.Result {
	in := &x.plan.Inserts[0]
	last := ids[len(ids)-1]
	if affected == 0 {
		return ownResult{res, 0} // last_insert_rowid() is another INSERT's, perhaps another table's
	}
	t := keys.TableOf(in)
	f := t.Facts()
	isRowID := f != nil && f.Columns[t.LastIDKey].RowID
	switch {
	case in.Conflict == rewrite.ConflictSkip, affected != int64(in.Rows): // a trigger leaves rows out with RAISE(IGNORE)
		own, err := res.LastInsertId()
		if isRowID && err == nil && slices.ContainsFunc(ids, func(f filledID) bool { return f.id == own }) {
			return res
		}
		return ownResult{res, 0}
	case last.row != in.Rows-1 && isRowID:
		// The last row has brought its own key.
		return res
	case last.row != in.Rows-1:
		return ownResult{res, 0}
	}
	return ownResult{res, last.id}
}

// What is known of the connections' CLIENT_FOUND_ROWS.
const (
	foundCounts uint32 = iota + 1
	foundNot
)

// foundPatience is how long a statement waits for the answer.
const foundPatience = 2 * time.Second

// countsFound reports whether the server may count rows that an upsert has left
// as they are. It is asked once, on a connection of our own, which has the same
// flags.
func (db *Database) countsFound() bool {
	switch db.found.Load() {
	case foundCounts:
		return true
	case foundNot:
		return false
	}
	if time.Now().UnixNano() < db.foundAgain.Load() {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), foundPatience)
	defer cancel()
	counts := false
	st, err := db.OwnStore()
	if err == nil {
		counts, err = st.CountsFound(ctx)
	}
	switch {
	case err != nil:
		db.foundAgain.Store(time.Now().Add(askedAgain).UnixNano())
		return true
	case counts:
		db.found.Store(foundCounts)
	default:
		db.found.Store(foundNot)
	}
	return counts
}
