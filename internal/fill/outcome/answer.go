package outcome

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Answer is the driver's answer to an execution, interpreted for the first INSERT of
// its text.
type Answer struct {
	x     *execution.Execution
	in    *plans.Insert
	table *table.Table
	res   driver.Result
}

// AnswerTo returns the answer res of the driver to x.
func AnswerTo(x *execution.Execution, res driver.Result) Answer {
	in := &x.Plan.Inserts[0]
	return Answer{x: x, in: in, table: table.Of(in), res: res}
}

// idiomTells reports whether an update part that calls LAST_INSERT_ID has run: the
// driver's LastInsertId then identifies the row.
func (a Answer) idiomTells() bool {
	if !a.in.Upsert.Idiom {
		return false
	}
	own, err := a.res.LastInsertId()
	return err == nil && own != 0
}

// isOpen reports whether a successful statement may have stored fewer rows than it has.
func (a Answer) isOpen() bool {
	return a.in.Upsert.Conflict == plans.ConflictSkip || a.in.Upsert.Conflict == plans.ConflictUpdate || a.in.Returning || a.x.OwnConflicts()
}

// tellsID reports whether the result's LastInsertId must be a key of keyfill's.
func (a Answer) tellsID() bool {
	if a.table.LastIDKey < 0 || a.x.Form.Session || !a.x.Plan.Alone() {
		return false
	}
	f := execution.FactsOf(a.x.Conn, a.table)
	return f == nil || !f.NumbersOther
}

// affected returns the number of affected rows, -1 if the driver does not return it. If
// the statement returns rows, only PostgreSQL also sends their number: MariaDB's answer
// has none, and SQLite counts only when the last row was read.
func (a Answer) affected() int64 {
	if a.in.Returning && !a.x.Plan.Dialect.ErrorsAbort {
		return -1
	}
	n, err := a.res.RowsAffected()
	if err != nil {
		return -1
	}
	return n
}

// rowIDTells reports whether the rowid that SQLite has stored last identifies a row of
// the statement: rows may have been skipped, some were stored, and the key is the
// rowid.
func (a Answer) rowIDTells() bool {
	f := execution.FactsOf(a.x.Conn, a.table)
	return a.x.Plan.Dialect.LastRowID && f != nil && f.Columns[a.table.LastIDKey].RowID && a.in.Upsert.Conflict == plans.ConflictSkip &&
		!a.in.Upsert.Replaces && !f.OwnConflicts && a.affected() > 0
}
