package e2e_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/keyfill/keyfill"
)

// faultTable is the table of the tests of faults. Two rows with one id are no
// error there, so that they are found. A statement brings its number, which no
// other has, and the places of its rows.
var faultTable = []string{
	"CREATE TABLE t (id BIGINT, stmt BIGINT NOT NULL, pos INT NOT NULL, PRIMARY KEY (stmt, pos))",
	"CREATE INDEX t_id ON t (id)",
}

// bulkTable is the same without what keeps statements apart, for many rows.
var bulkTable = []string{
	"CREATE TABLE t (id BIGINT, stmt BIGINT NOT NULL, pos INT NOT NULL)",
	"CREATE INDEX t_id ON t (id)",
}

// hand is a goroutine that inserts in one form after the other.
type hand struct {
	engine engine
	db     *sql.DB
	log    *journal
	next   int64     // number of the next statement
	one    *sql.Stmt // prepared; nil before the first use
	many   *sql.Stmt // prepared, of as many rows as fill inserts
}

func newHand(e engine, db *sql.DB, log *journal, first int64) *hand {
	return &hand{engine: e, db: db, log: log, next: first}
}

// step inserts once, or in a transaction.
func (h *hand) step() {
	ctx, cancel := context.WithTimeout(context.Background(), jobPatience)
	defer cancel()
	var err error
	if rand.IntN(2) == 0 {
		var e entry
		if e, err = h.insert(ctx, h.db, nil); err == nil {
			h.log.write(e)
		}
	} else {
		err = h.transaction(ctx)
	}
	if err != nil {
		h.log.fail(err)
		time.Sleep(jobPause)
	}
}

// transaction inserts several times, once in a savepoint, and commits or not.
func (h *hand) transaction(ctx context.Context) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	var all []entry
	err = h.inTransaction(ctx, tx, &all)
	if err != nil {
		// It fails where the connection is gone, and was the reason then.
		_ = tx.Rollback()
		return err
	}
	if rand.IntN(3) == 0 {
		for i := range all {
			all[i].what = rolledBack
		}
		err = tx.Rollback()
	} else {
		err = tx.Commit()
	}
	if err == nil {
		h.log.write(all...)
	}
	return err
}

func (h *hand) inTransaction(ctx context.Context, tx *sql.Tx, all *[]entry) error {
	for range rand.IntN(3) {
		e, err := h.insert(ctx, tx, tx)
		if err != nil {
			return err
		}
		*all = append(*all, e)
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT s"); err != nil {
		return err
	}
	e, err := h.insert(ctx, tx, tx)
	if err != nil {
		return err
	}
	end := "RELEASE SAVEPOINT s"
	if rand.IntN(2) == 0 {
		end, e.what = "ROLLBACK TO SAVEPOINT s", rolledBack
	}
	if _, err := tx.ExecContext(ctx, end); err != nil {
		return err
	}
	*all = append(*all, e)
	if e, err = h.insert(ctx, tx, tx); err == nil {
		*all = append(*all, e)
	}
	return err
}

// sender is a *sql.DB, *sql.Tx or *sql.Conn.
type sender interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// insert executes an INSERT of one of the forms. tx is not nil inside a
// transaction.
func (h *hand) insert(ctx context.Context, x sender, tx *sql.Tx) (entry, error) {
	rows := 1
	ctx, rec := keyfill.Record(ctx)
	stmt := h.number()
	var (
		res sql.Result
		err error
	)
	switch rand.IntN(4) {
	case 0:
		res, err = h.prepared(ctx, tx, stmt)
	case 1:
		res, err = x.ExecContext(ctx, fmt.Sprintf("INSERT INTO t (stmt, pos) VALUES (%d, 0)", stmt))
	case 2:
		rows = 2 + rand.IntN(19)
		res, err = x.ExecContext(ctx, h.engine.insertRows(rows), rowArgs(stmt, rows)...)
	default:
		res, err = x.ExecContext(ctx, h.engine.insertRows(1), stmt, 0)
	}
	if err != nil {
		return entry{}, err
	}
	return h.judge(rec, res, stmt, rows)
}

func (h *hand) number() int64 {
	h.next++
	return h.next
}

// prepared executes the statement that is prepared once.
func (h *hand) prepared(ctx context.Context, tx *sql.Tx, stmt int64) (sql.Result, error) {
	if h.one == nil {
		var err error
		if tx != nil {
			// The only connection may be the transaction's.
			return tx.ExecContext(ctx, h.engine.insertRows(1), stmt, 0)
		}
		if h.one, err = h.db.PrepareContext(ctx, h.engine.insertRows(1)); err != nil {
			return nil, err
		}
	}
	if tx != nil {
		return tx.StmtContext(ctx, h.one).ExecContext(ctx, stmt, 0)
	}
	return h.one.ExecContext(ctx, stmt, 0)
}

// judge looks at the keys of a statement that was executed without an error.
func (h *hand) judge(rec *keyfill.Recorder, res sql.Result, stmt int64, rows int) (entry, error) {
	keys := rec.Keys("t")
	if len(keys) != rows {
		return h.broke(stmt, "%d keys for %d rows", len(keys), rows)
	}
	first, ok := keys[0].Key.(int64)
	if !ok || first < 1 {
		return h.broke(stmt, "the first key is a %T below 1", keys[0].Key)
	}
	for i, k := range keys {
		if k.Key != first+int64(i) || k.Row != i || k.Outcome != keyfill.Stored {
			return h.broke(stmt, "key %d of %d is %v away from the first one, of row %d, %v", i, rows, k.Key.(int64)-first, k.Row, k.Outcome)
		}
	}
	want := first
	switch {
	case h.engine.isPostgres():
		return entry{what: committed, stmt: stmt, first: first, rows: int64(rows)}, nil
	case h.engine.server == nil:
		want += int64(rows) - 1
	}
	if id, err := res.LastInsertId(); err != nil || id != want {
		return h.broke(stmt, "LastInsertId is %d away from the key, %v", id-want, err)
	}
	return entry{what: committed, stmt: stmt, first: first, rows: int64(rows)}, nil
}

var errBroken = errors.New("a law is broken")

func (h *hand) broke(stmt int64, format string, args ...any) (entry, error) {
	h.log.write(entry{what: broken, stmt: stmt, text: fmt.Sprintf(format, args...)})
	return entry{}, errBroken
}

// fill inserts statements of so many rows, prepared and not by turns.
func (h *hand) fill(ctx context.Context, rows, statements int) {
	query := h.engine.insertRows(rows)
	for done := 0; done < statements && ctx.Err() == nil; {
		e, err := h.fillOnce(ctx, query, rows, done%2 == 0)
		if err != nil {
			h.log.fail(err)
			time.Sleep(jobPause)
			continue
		}
		h.log.write(e)
		done++
	}
}

func (h *hand) fillOnce(ctx context.Context, query string, rows int, prepared bool) (_ entry, err error) {
	ctx, rec := keyfill.Record(ctx)
	stmt := h.number()
	if prepared && h.many == nil {
		if h.many, err = h.db.PrepareContext(ctx, query); err != nil {
			return entry{}, err
		}
	}
	var res sql.Result
	if prepared {
		res, err = h.many.ExecContext(ctx, rowArgs(stmt, rows)...)
	} else {
		res, err = h.db.ExecContext(ctx, query, rowArgs(stmt, rows)...)
	}
	if err != nil {
		return entry{}, err
	}
	return h.judge(rec, res, stmt, rows)
}

// insertRows returns an INSERT of so many rows.
func (e engine) insertRows(rows int) string {
	return e.placeholders("INSERT INTO t (stmt, pos) VALUES (?, ?)" + strings.Repeat(", (?, ?)", rows-1))
}

func rowArgs(stmt int64, rows int) []any {
	args := make([]any, 0, 2*rows)
	for pos := range rows {
		args = append(args, stmt, pos)
	}
	return args
}
