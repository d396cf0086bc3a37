package faults_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// faultTable is the table of the tests of faults for integers.
var faultTable = form{}.table("t")

// bulkTable is the same without what keeps statements apart, for many rows.
var bulkTable = []string{
	"CREATE TABLE t (id BIGINT, stmt BIGINT NOT NULL, pos INT NOT NULL)",
	"CREATE INDEX t_id ON t (id)",
}

// hand is a goroutine that inserts in one form after the other.
type hand struct {
	engine harness.Engine
	db     *sql.DB
	log    *journal
	form   form

	// patience bounds a step. Steps that fail one after another have twice as long
	// each time, so that a slow machine comes to an end: longer is how long. crosses
	// says that transactions lock rows in any order, so that there are deadlocks.
	patience time.Duration
	longer   time.Duration
	crosses  bool
	single   bool

	next int64     // number of the next statement
	one  *sql.Stmt // prepared; nil before the first use
	many *sql.Stmt // prepared, of as many rows as fill inserts
}

func newHand(e harness.Engine, db *sql.DB, log *journal, j *job, first int64) *hand {
	return &hand{engine: e, db: db, log: log, form: j.Form, patience: cmp.Or(j.Patience, jobPatience), crosses: j.Crosses, single: j.Single, next: first}
}

// step inserts once, or in a transaction.
func (h *hand) step() {
	ctx, cancel := context.WithTimeout(context.Background(), max(h.patience, h.longer))
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
		h.longer = min(2*max(h.patience, h.longer), jobPatience)
		return
	}
	h.longer = 0
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
	row := rand.IntN(2)
	if err := h.cross(ctx, tx, row); err != nil {
		return err
	}
	for range rand.IntN(3) {
		e, err := h.insert(ctx, tx, tx)
		switch {
		case err == nil:
			*all = append(*all, e)
		case h.endures(err):
			h.log.fail(err)
		default:
			return err
		}
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
	if e, err = h.insert(ctx, tx, tx); err != nil {
		return err
	}
	*all = append(*all, e)
	return h.cross(ctx, tx, 1-row)
}

// crossTable is what transactions that cross have to lock, besides.
var crossTable = []string{
	"CREATE TABLE crossing (row_id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
	"INSERT INTO crossing VALUES (0, 0), (1, 0)",
}

func (h *hand) cross(ctx context.Context, tx *sql.Tx, row int) error {
	if !h.crosses {
		return nil
	}
	_, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE crossing SET n = n + 1 WHERE row_id = %d", row))
	return err
}

// endures reports whether a transaction goes on after an error: on MariaDB it may,
// after a statement that has waited for a lock in vain.
func (h *hand) endures(err error) bool {
	return h.crosses && strings.Contains(err.Error(), "Lock wait timeout") && rand.IntN(2) == 0
}

// sender is a *sql.DB, *sql.Tx or *sql.Conn.
type sender interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// spreadValue is the name of the value by which a composite spreads its keys. Each
// process has the same three values.
const spreadValue = "user"

// insert executes an INSERT of one of the forms. tx is not nil inside a
// transaction.
func (h *hand) insert(ctx context.Context, x sender, tx *sql.Tx) (entry, error) {
	rows := 1
	stmt := h.number()
	ctx, rec := keyfill.Record(keyfill.WithValue(ctx, spreadValue, fmt.Sprint(stmt%3)))
	var (
		res sql.Result
		err error
	)
	switch rand.IntN(4) {
	case 0:
		res, err = h.prepared(ctx, tx, stmt)
	case 1:
		res, err = x.ExecContext(ctx, h.form.literal(stmt))
	case 2:
		if rows = 2 + rand.IntN(19); h.single {
			rows = 1
		}
		res, err = x.ExecContext(ctx, h.form.insertRows(h.engine, rows), h.form.rowArgs(stmt, rows)...)
	default:
		res, err = x.ExecContext(ctx, h.form.insertRows(h.engine, 1), h.form.rowArgs(stmt, 1)...)
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
			return tx.ExecContext(ctx, h.form.insertRows(h.engine, 1), h.form.rowArgs(stmt, 1)...)
		}
		if h.one, err = h.db.PrepareContext(ctx, h.form.insertRows(h.engine, 1)); err != nil {
			return nil, err
		}
	}
	if tx != nil {
		return tx.StmtContext(ctx, h.one).ExecContext(ctx, h.form.rowArgs(stmt, 1)...)
	}
	return h.one.ExecContext(ctx, h.form.rowArgs(stmt, 1)...)
}

// judge looks at the keys of a statement that was executed without an error.
func (h *hand) judge(rec *keyfill.Recorder, res sql.Result, stmt int64, rows int) (entry, error) {
	e := entry{what: committed, stmt: stmt, rows: int64(rows)}
	// If keys belong to the connection, the keys of an attempt that was lost with it are
	// recorded too.
	keys := slices.DeleteFunc(rec.Keys("t"), func(k keyfill.RecordedKey) bool { return k.Outcome != keyfill.Stored })
	if len(keys) != rows {
		return h.broke(stmt, "%d keys for %d rows", len(keys), rows)
	}
	var texts []string
	for i, k := range keys {
		if k.Row != i {
			return h.broke(stmt, "key %d of %d is of row %d", i, rows, k.Row)
		}
		texts = append(texts, h.form.text(k.Key, h.form.parentOf(stmt, i)))
	}
	if h.form.Listed {
		e.text = strings.Join(texts, " ")
	} else if err := e.run(keys); err != nil {
		return h.broke(stmt, "%v", err)
	}
	if h.form.isText() || h.form.Scoped || h.engine.IsPostgres() || h.form.Listed && rows > 1 {
		return e, nil // no LastInsertId, or none that holds a key
	}
	want, ok := keys[0].Key.(int64)
	if h.engine.Server == nil {
		want += int64(rows) - 1
	}
	if id, err := res.LastInsertId(); !ok || err != nil || id != want {
		return h.broke(stmt, "LastInsertId is %d away from the key, %v", id-want, err)
	}
	return e, nil
}

// run takes the first of keys, which have to follow each other.
func (e *entry) run(keys []keyfill.RecordedKey) error {
	first, ok := keys[0].Key.(int64)
	if !ok || first < 1 {
		return fmt.Errorf("the first key is a %T below 1", keys[0].Key)
	}
	for i, k := range keys {
		if k.Key != first+int64(i) {
			return fmt.Errorf("key %d of %d is %v away from the first one", i, len(keys), k.Key.(int64)-first)
		}
	}
	e.first = first
	return nil
}

var errBroken = errors.New("a law is broken")

func (h *hand) broke(stmt int64, format string, args ...any) (entry, error) {
	h.log.write(entry{what: broken, stmt: stmt, text: fmt.Sprintf(format, args...)})
	return entry{}, errBroken
}

// fill inserts statements of so many rows, prepared and not by turns.
func (h *hand) fill(ctx context.Context, rows, statements int) {
	query := h.form.insertRows(h.engine, rows)
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
		res, err = h.many.ExecContext(ctx, h.form.rowArgs(stmt, rows)...)
	} else {
		res, err = h.db.ExecContext(ctx, query, h.form.rowArgs(stmt, rows)...)
	}
	if err != nil {
		return entry{}, err
	}
	return h.judge(rec, res, stmt, rows)
}
