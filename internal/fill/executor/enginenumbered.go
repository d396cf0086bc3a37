package executor

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/rowcount"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// engineNumbered executes an INSERT whose rows come from a query, if MariaDB itself
// numbers the rows from the first reserved key on: see [rowcount.TextFrom]. The rows
// are counted first, and that many keys are reserved.
//
// The engine does not stop at the last reserved key, and a function that the query
// calls through a view, or a trigger, may use the first one for a row of another table.
// So the INSERT runs in a transaction of its own, or after a savepoint in the
// application's transaction, and is rolled back if more rows were stored than were
// counted, or if the engine reports that it began with another number.
type engineNumbered struct {
	x      *execution.Execution
	own    driver.Tx // the transaction, if keyfill has begun it; else nil
	saved  bool      // keyfill's savepoint (rowsSavepoint) is set
	counts int       // how often the rows were counted
	stored int64     // how many rows the last INSERT that was rolled back had stored
}

// errOtherNumber is returned when the engine gave the rows other numbers than keyfill
// has reserved.
var errOtherNumber = anchor.New("rows", "a function or trigger took its first number for another table, and nothing is stored: select the keys, or insert without it")

// TakesFirst reports whether the engine numbers the rows of the execution's INSERT
// itself, as far as the text and the table show.
func TakesFirst(ctx context.Context, x *execution.Execution) (bool, error) {
	c := x.Conn
	in := &x.Plan.Inserts[0]
	if !x.Plan.TakesFirst() || c.DB.Detached || in.Upsert.Conflict != plans.ConflictError {
		// With IGNORE or REPLACE, a row beyond the reserved keys whose number is taken would
		// be skipped without an error, or would replace another row.
		return false, nil
	}
	f, err := c.DB.Facts(ctx, &c.Session, table.Of(in))
	return err == nil && f.Columns[x.Plan.Draws[0].Key].TakesFirst, err
}

// NumberedByEngine reports whether the engine numbers the rows itself and the state of
// the transaction is known.
func NumberedByEngine(ctx context.Context, x *execution.Execution) (bool, error) {
	c := x.Conn
	takes, err := TakesFirst(ctx, x)
	if err != nil || !takes {
		return false, err
	}
	if _, err = c.IsInTransaction(ctx); err == session.ErrChains {
		return false, nil // keyfill cannot begin a transaction of its own, whose commit would begin another one
	}
	return err == nil && c.Tx != session.Unknown, err
}

// fill counts the rows and draws the keys, in the transaction in which the rows are
// stored.
func (n *engineNumbered) fill(ctx context.Context) (err error) {
	x := n.x
	panics := true
	defer giveUp(x.Conn, &panics)
	defer func() {
		if err != nil {
			err = n.undo(ctx, err)
		}
		panics = false
	}()
	rows, err := n.count(ctx)
	if err != nil {
		return err
	}
	if n.counts++; n.counts > 1 {
		rows = max(rows, n.stored)
		rows += rows/8 + 1 // another program is adding rows, so draw more keys
	}
	x.Drawn.Rows = map[int]int64{0: rows}
	drawn, err := keys.Draw(ctx, x.Plan, x.Args, x.Holes, x.Drawn.Rows, nil, x.Conn, nil)
	if err != nil {
		return err
	}
	x.Drawn.Keys = drawn
	return nil
}

// count begins a transaction, or sets keyfill's savepoint in the open transaction, and
// counts the rows. If the count has no arguments, all of this is one round trip, in
// MariaDB's block of statements (Knowledge Base, "BEGIN NOT ATOMIC").
func (n *engineNumbered) count(ctx context.Context) (int64, error) {
	c := n.x.Conn
	query, args := rowcount.CountQuery(n.x.Plan, 0, n.x.Args, n.x.Holes, nil)
	begin := strings.Replace(n.x.Plan.Dialect.Transactions.Set, "%", rowsSavepoint, 1)
	if c.Tx == session.Outside {
		c.EnsureStates(ctx)
		begin = "START TRANSACTION"
		n.own = textTransaction{ctx, c}
		c.Tx, c.Ongoing = session.Inside, store.Ongoing{Ours: true}
	}
	if len(args) == 0 {
		query = "BEGIN NOT ATOMIC " + begin + "; " + query + "; END"
	} else if _, err := dbconn.Exec(ctx, c.Own(), begin, nil); err != nil {
		return 0, err
	}
	row, err := c.QueryRow(ctx, query, args)
	if err != nil {
		return 0, err // a savepoint may be set, but nothing was changed after it
	}
	n.saved = n.own == nil
	rows, ok := session.IntegerOf(row[0])
	if !ok {
		return 0, session.ErrNoNumber
	}
	return rows, nil
}

// textTransaction ends a transaction that was begun by a text.
type textTransaction struct {
	ctx  context.Context
	conn *execution.Conn
}

func (t textTransaction) Commit() error { return t.end("COMMIT") }

func (t textTransaction) Rollback() error { return t.end("ROLLBACK") }

// end executes COMMIT or ROLLBACK, even if the caller's context has ended.
func (t textTransaction) end(text string) error {
	_, err := dbconn.Exec(context.WithoutCancel(t.ctx), t.conn.Own(), text, nil)
	return err
}

// firstNumber returns the number that the engine gives the first row; 0 if no key was
// reserved.
func firstNumber(x *execution.Execution) int64 {
	if x.Drawn.Rows[0] == 0 {
		return 0
	}
	return x.Drawn.Keys[0][1].(int64) + 1
}

func (n *engineNumbered) Exec(ctx context.Context, via execution.Sender) (driver.Result, error) {
	panics := true
	defer giveUp(n.x.Conn, &panics)
	res, err := sendNumbered(ctx, n, func() (res driver.Result, stored, first int64, err error) {
		if countsByRows(n.x) {
			var sets []resultSet
			if res, sets, err = execByQuery(ctx, via, n.x); err == nil {
				stored, first, err = storedByQuery(ctx, n.x, sets)
			}
			return res, stored, first, err
		}
		if res, err = via.SendExec(ctx, n.x); err != nil {
			return nil, 0, 0, err
		}
		if stored, err = res.RowsAffected(); err == nil {
			first, err = res.LastInsertId()
		}
		return res, stored, first, err
	})
	panics = false
	return res, err
}

func (n *engineNumbered) Query(ctx context.Context, via execution.Sender) (driver.Rows, error) {
	rows, err := sendNumbered(ctx, n, func() (read driver.Rows, stored, first int64, err error) {
		rows, err := via.SendQuery(ctx, n.x)
		if err != nil {
			return nil, 0, 0, err
		}
		if read, err = readWhole(n.x.Conn, rows, func(_ []resultSet, err error) error { return err }); err != nil {
			return nil, 0, 0, err
		}
		stored, first, err = storedByQuery(ctx, n.x, read.(*bufferedRows).sets)
		return read, stored, first, err
	})
	return rows, err
}

// countsByRows reports whether a result does not contain the number of stored rows,
// because the execution's INSERT returns rows.
func countsByRows(x *execution.Execution) bool {
	return x.Plan.Dialect.UncountedRows && x.Plan.Inserts[0].Returning
}

// execByQuery executes a statement for the caller of an Exec, although it returns rows,
// and also returns these rows.
func execByQuery(ctx context.Context, via execution.Sender, x *execution.Execution) (driver.Result, []resultSet, error) {
	rows, err := via.SendQuery(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	read, err := readWhole(x.Conn, rows, func(_ []resultSet, err error) error { return err })
	if err != nil {
		return nil, nil, err
	}
	return outcome.OwnResult{Result: driver.RowsAffected(0), Key: 0}, read.(*bufferedRows).sets, nil
}

// storedByQuery returns how many rows an INSERT has stored whose returned rows were
// read, and the first number that the engine gave.
func storedByQuery(ctx context.Context, x *execution.Execution, sets []resultSet) (stored, first int64, err error) {
	row, err := x.Conn.QueryRow(ctx, "SELECT ROW_COUNT(), LAST_INSERT_ID()", nil)
	if err != nil {
		return 0, 0, err
	}
	stored, _ = session.IntegerOf(row[0])
	if len(sets[0].columns) > 0 {
		stored = int64(len(sets[0].rows)) // with RETURNING, ROW_COUNT() is -1
	}
	first, _ = session.IntegerOf(row[1])
	return stored, first, nil
}

// sendNumbered sends an execution's statement, and sends it again if more rows were
// stored than were counted. send returns the answer, how many rows were stored, and the
// number of the first one.
func sendNumbered[T any](ctx context.Context, n *engineNumbered, send func() (answer T, stored, first int64, err error)) (T, error) {
	var none T
	for {
		answer, stored, first, err := send()
		switch {
		case n.isTaken(err) && n.counts < maxCounts: // the duplicate is the number of a row that was not counted, or a value of the application's
			stored = n.x.Drawn.Rows[0] + 1
		case err != nil:
			return none, n.undo(ctx, err)
		case stored <= n.x.Drawn.Rows[0] && (stored == 0 || first == firstNumber(n.x)):
			n.x.Drawn.Rows[0] = stored
			if err := n.end(ctx); err != nil {
				return none, err
			}
			return answer, nil
		case stored <= n.x.Drawn.Rows[0]:
			return none, n.undo(ctx, n.keyError(errOtherNumber))
		}
		n.stored = stored
		if err := n.undoStored(ctx); err != nil {
			return none, n.undo(ctx, err)
		}
		if n.counts == maxCounts {
			return none, n.undo(ctx, n.keyError(errRowsGrew))
		}
		if err := n.fill(ctx); err != nil {
			return none, err
		}
		Place(n.x)
	}
}

// duplicateEntry is MySQL's error code for a key that exists already: "ER_DUP_ENTRY" in
// the server error reference.
const duplicateEntry = 1062

// isTaken reports whether an INSERT may have failed because its query had more rows
// than were counted, and another row has the number after the reserved ones. A value of
// another unique column may look like such a number.
func (n *engineNumbered) isTaken(err error) bool {
	if !sqlcode.Is(err, duplicateEntry) || n.x.Drawn.Rows[0] == 0 {
		return false
	}
	_, entry, _ := strings.Cut(err.Error(), "'")
	entry, _, _ = strings.Cut(entry, "'")
	key, wrong := strconv.ParseInt(entry, 10, 64)
	after := firstNumber(n.x) + n.x.Drawn.Rows[0]
	return wrong == nil && key >= after && key-after < maxSurplus
}

// maxSurplus is how far after the reserved numbers a number may be to count as one that
// the engine gave to a row.
const maxSurplus = 1 << 20

func (n *engineNumbered) keyError(err error) error {
	return table.Of(&n.x.Plan.Inserts[0]).KeyError(0, err)
}

// undoStored rolls back the rows that the INSERT has stored, before it is sent again.
func (n *engineNumbered) undoStored(ctx context.Context) error {
	if n.own != nil {
		own := n.own
		n.own = nil
		n.leftOwn()
		err := own.Rollback()
		n.x.Conn.EndFailed(ctx, err)
		return err
	}
	n.saved = false
	ctx = context.WithoutCancel(ctx) // even if the caller's context has ended
	err := n.x.Conn.ExecSavepoint(ctx, n.x.Plan.Dialect.Transactions.Undo, rowsSavepoint)
	if err != nil {
		n.x.Conn.MarkUnknown()
	}
	return err
}

// undo rolls back the transaction that was begun, or rolls back to the savepoint that was
// set, and returns err. If the rollback fails, it returns both errors: rows may then be
// stored whose keys were not reserved.
func (n *engineNumbered) undo(ctx context.Context, err error) error {
	if n.own == nil && !n.saved {
		return err
	}
	if undone := n.undoStored(ctx); undone != nil && !errors.Is(err, driver.ErrBadConn) {
		return fmt.Errorf("%w (%v)", err, undone)
	}
	return err
}

// end commits the transaction if keyfill has begun it. A savepoint stays: releasing it
// would change the result of ROW_COUNT(), and the next savepoint of the same name
// replaces it.
func (n *engineNumbered) end(ctx context.Context) error {
	if n.own == nil {
		n.saved = false
		return nil
	}
	own := n.own
	n.own = nil
	n.leftOwn()
	err := own.Commit()
	if err == nil {
		return nil
	}
	n.x.Conn.EndFailed(ctx, err)
	if execution.IsBadConn(err) {
		return n.keyError(fmt.Errorf("%w: %v", errCommit, err))
	}
	return err
}

// leftOwn records that the transaction which keyfill has begun has ended.
func (n *engineNumbered) leftOwn() {
	n.x.Conn.Tx, n.x.Conn.Ongoing = session.Outside, store.Ongoing{}
}

// leave ends the transaction of an execution whose statement is not sent because of
// err.
func (n *engineNumbered) leave(ctx context.Context, err error) error {
	return n.undo(context.WithoutCancel(ctx), err)
}
