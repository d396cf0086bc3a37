package fill

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/rewrite"
)

// answer is what the driver has answered to an execution, read for the first INSERT of
// its text.
type answer struct {
	x     *execution
	in    *rewrite.Insert
	table *keys.Table
	res   driver.Result
}

func (x *execution) answer(res driver.Result) answer {
	in := &x.plan.Inserts[0]
	return answer{x: x, in: in, table: keys.TableOf(in), res: res}
}

// idiomTells reports whether an update part that calls LAST_INSERT_ID has run: it
// says itself which row it is.
func (a answer) idiomTells() bool {
	if !a.in.Idiom {
		return false
	}
	own, err := a.res.LastInsertId()
	return err == nil && own != 0
}

// isOpen reports whether success leaves open how many rows were stored.
func (a answer) isOpen() bool {
	return a.in.Conflict == rewrite.ConflictSkip || a.in.Conflict == rewrite.ConflictUpdate || a.in.Returning || a.x.ownConflicts()
}

// tellsID reports whether the result's LastInsertId is to be one of our keys.
func (a answer) tellsID() bool {
	if a.table.LastIDKey < 0 || a.x.session || !a.x.plan.Alone() {
		return false
	}
	f := factsOf(a.x.conn, a.table)
	return f == nil || !f.NumbersOther
}

// affected returns the number of rows that the statement has affected, -1 where
// the driver does not tell. Where rows come back only PostgreSQL sends their number
// as well: MariaDB's answer has none, and SQLite counts when the last row was read.
func (a answer) affected() int64 {
	if a.in.Returning && !a.x.plan.Dialect().ErrorsAbort {
		return -1
	}
	n, err := a.res.RowsAffected()
	if err != nil {
		return -1
	}
	return n
}

// rowIDTells reports whether the rowid that SQLite has stored last says which row
// of the statement was: where rows may have been left out, some are stored, and the
// key is the rowid.
func (a answer) rowIDTells() bool {
	f := factsOf(a.x.conn, a.table)
	return a.x.plan.Dialect().LastRowID && f != nil && f.Columns[a.table.LastIDKey].RowID && a.in.Conflict == rewrite.ConflictSkip &&
		!a.in.Replaces && !f.OwnConflicts && a.affected() > 0
}
