package locktrial

import (
	"context"
	"database/sql"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Promise tries on one connection whether a server does what a statement says, which it may
// take and not do. Each statement is sent alone, in a transaction that is rolled back, and
// none changes a value.
type Promise struct {
	any    string   // a query that returns 0 if there is nothing to try; empty if there always is
	before []string // statements that begin the transaction and must succeed
	ask    string   // the statement that shows whether the promise is kept
	fails  bool     // ask has to fail; otherwise it has to return a row
	end    string   // ends the transaction

	Lost    string // what happens to keys without it
	Instead string // what to do
}

const (
	// The savepoint of ask was never set. PostgreSQL 18 documentation, ROLLBACK TO SAVEPOINT:
	// "Specifying a savepoint name that has not been established is an error"; MySQL 8.4
	// Reference Manual, 15.3.4: error 1305; SQLite, lang_savepoint.html: "no such savepoint".
	setPoint  = "SAVEPOINT keyfill_trial"
	neverSet  = "ROLLBACK TO SAVEPOINT keyfill_trial_never_set"
	lostPoint = "savepoints are taken and not set, or refused: after an INSERT that failed in a transaction of yours its number is lost, or the transaction fails"
	noPoint   = "leave transaction: joined, scope: and maxplusone out; or use a server with savepoints"

	sameNumber = "UPDATE keyfill_sequences SET next_value = next_value WHERE name = (SELECT MIN(name) FROM keyfill_sequences) RETURNING next_value"
	lostRows   = "UPDATE … RETURNING on keyfill_sequences returns no row: no INSERT gets a number"
	noRows     = "take a source without a state, such as uuidv7; or name another database as the store"
)

// The promises of the engines. MySQL and MariaDB return no rows of an UPDATE, and keyfill
// asks for none there.
var (
	MySQLSavepoint      = &Promise{before: []string{"START TRANSACTION", setPoint}, ask: neverSet, fails: true, end: "ROLLBACK", Lost: lostPoint, Instead: noPoint}
	PostgreSQLSavepoint = &Promise{before: []string{"BEGIN", setPoint}, ask: neverSet, fails: true, end: "ROLLBACK", Lost: lostPoint, Instead: noPoint}
	SQLiteSavepoint     = PostgreSQLSavepoint

	PostgreSQLReturning = &Promise{any: sequencesCount, before: []string{"BEGIN", "SET LOCAL lock_timeout = '100ms'"}, ask: sameNumber, end: "ROLLBACK", Lost: lostRows, Instead: noRows}
	SQLiteReturning     = &Promise{any: sequencesCount, before: []string{"BEGIN"}, ask: sameNumber, end: "ROLLBACK", Lost: lostRows, Instead: noRows}
)

// Kept reports whether the server keeps the promise, or whether that could not be tried since
// nothing is there, or another session holds a lock.
func (p *Promise) Kept(ctx context.Context, db *sql.DB, d *dialect.Dialect) (bool, error) {
	if p.any != "" {
		var rows int64
		if err := db.QueryRowContext(ctx, p.any).Scan(&rows); err != nil || rows == 0 {
			return true, err
		}
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer (&Trial{end: p.end}).close(ctx, conn)
	if err := send(ctx, conn, p.before[:1], ""); err != nil {
		return false, err
	}
	err = send(ctx, conn, p.before[1:], "")
	switch {
	case p.fails && sqlcode.Answered(err):
		return false, nil // the server refuses the statement itself
	case err != nil:
		return true, err
	case p.fails:
		return send(ctx, conn, []string{p.ask}, "") != nil, nil
	}
	var value int64
	err = conn.QueryRowContext(ctx, p.ask).Scan(&value)
	switch {
	case err == nil, sqlcode.ClassOf(d, err) == dialect.ErrorLock:
		return true, nil
	case err == sql.ErrNoRows:
		return false, nil
	}
	return true, err
}
