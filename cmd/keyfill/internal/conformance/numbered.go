package conformance

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

const (
	connections  = 8  // over which rows are numbered
	transactions = 24 // of each connection
	parents      = 3  // within each of which rows are numbered
)

// tryJoined numbers rows in the transactions that store them.
func tryJoined(ctx context.Context, r *run) (outcome, error) {
	source := &policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, EnsureSchema: true}
	return r.tryNumbering(ctx, policy.Table{Column: "id", InPlace: source})
}

// tryScope numbers rows within their parents.
func tryScope(ctx context.Context, r *run) (outcome, error) {
	source := &policy.Source{Kind: policy.KindSequence, Scope: &policy.Scope{{Column: "parent"}}, EnsureSchema: true}
	return r.tryNumbering(ctx, policy.Table{Column: "id", InPlace: source})
}

// tryMaxPlusOne numbers rows by the greatest key.
func tryMaxPlusOne(ctx context.Context, r *run) (outcome, error) {
	source := &policy.Source{Kind: policy.KindMaxPlusOne, EnsureSchema: true}
	return r.tryNumbering(ctx, policy.Table{Column: "id", InPlace: source})
}

// tryNumbering lets connections number rows in transactions of which each third one rolls
// back. The table has no unique index where the source needs none, so that a number that
// comes twice is stored twice.
func (r *run) tryNumbering(ctx context.Context, t policy.Table) (_ outcome, err error) {
	n := r.engine.number
	table, unique := r.table(), ""
	if t.InPlace.Kind == policy.KindMaxPlusOne {
		unique = "UNIQUE " // without it the source refuses to number
	}
	if err := r.exec(ctx, "CREATE TABLE "+table+" (id "+n+" NOT NULL, parent "+n+" NOT NULL, worker "+n+" NOT NULL)",
		"CREATE "+unique+"INDEX "+table+"_id ON "+table+" (id)"); err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, r.drop(table)) }()
	scoped := t.InPlace.Scope != nil
	t.InPlace.Exclusive = !scoped
	db, err := r.open(map[string]policy.Table{table: t})
	if err != nil {
		return outcome{}, err
	}
	committed, err := r.crowd(ctx, db, table)
	if err := errors.Join(err, db.Close()); err != nil {
		return outcome{}, err
	}
	return r.compareNumbers(ctx, table, committed, scoped)
}

// crowd runs the transactions of all connections, and returns how many rows were
// committed.
func (r *run) crowd(ctx context.Context, db *sql.DB, table string) (committed int64, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var rows atomic.Int64
	errs := make([]error, connections)
	for worker := range connections {
		wg.Go(func() {
			for i := range transactions {
				kept, err := r.numberRows(ctx, db, table, worker, i)
				if err != nil {
					errs[worker] = err
					stop()
					return
				}
				rows.Add(kept)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return 0, err
		}
	}
	return rows.Load(), errors.Join(errs...)
}

// numberRows stores two rows in a transaction, and returns how many were committed. It
// begins again where the engine has ended the transaction in favour of another one.
func (r *run) numberRows(ctx context.Context, db *sql.DB, table string, worker, i int) (int64, error) {
	const rows = 2
	for {
		if err := r.rate.wait(ctx, rows); err != nil {
			return 0, err
		}
		kept := int64(rows)
		err := func() error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }() // after a commit it does nothing
			for row := range rows {
				// Each transaction stores within one parent, as a program that numbers the
				// lines of an order does.
				if _, err := tx.ExecContext(ctx, r.target.bind("INSERT INTO "+table+" (parent, worker) VALUES (?, ?)"), (worker+i)%parents, worker*rows+row); err != nil {
					return err
				}
			}
			if i%3 == 1 {
				kept = 0
				return tx.Rollback()
			}
			return tx.Commit()
		}()
		switch {
		case err == nil:
			return kept, nil
		case !sqlcode.ClassOf(r.target.Dialect, err).Transient():
			return 0, err
		}
	}
}

// compareNumbers looks whether the rows have the numbers from 1 on, each once, on each
// parent where they are numbered within one.
func (r *run) compareNumbers(ctx context.Context, table string, committed int64, scoped bool) (outcome, error) {
	query := "SELECT id, parent FROM " + table + " ORDER BY id"
	if scoped {
		query = "SELECT id, parent FROM " + table + " ORDER BY parent, id"
	}
	rows, err := r.db.QueryContext(ctx, query)
	if err != nil {
		return outcome{}, err
	}
	defer rows.Close()
	var read, last, of int64
	for ; rows.Next(); read++ {
		var id, parent int64
		if err := rows.Scan(&id, &parent); err != nil {
			return outcome{}, err
		}
		if scoped && parent != of {
			last, of = 0, parent
		}
		if id != last+1 {
			return refused("the number %d comes after %d", id, last), nil
		}
		last = id
	}
	if err := rows.Err(); err != nil {
		return outcome{}, err
	}
	if read != committed {
		return refused("%d rows were committed, and %d are stored", committed, read), nil
	}
	return shown(read), nil
}

// tryNative draws from a sequence of the engine by two mounts at a time.
func tryNative(ctx context.Context, r *run) (_ outcome, err error) {
	if !r.hasSequences() {
		return notTried("the engine has no sequences"), nil
	}
	if err := r.exec(ctx, r.engine.sequence, "CREATE TABLE kf_native (id "+r.engine.number+" NOT NULL, n "+r.engine.number+" NOT NULL)"); err != nil {
		return outcome{}, err
	}
	defer func() {
		ctx, stop := context.WithTimeout(context.Background(), maxWait)
		defer stop()
		err = errors.Join(err, r.drop("kf_native"), r.exec(ctx, "DROP SEQUENCE kf_numbers"))
	}()
	var mounts [2]*sql.DB
	for i := range mounts {
		source := &policy.Source{Kind: policy.KindNative, Sequence: "kf_numbers", Block: 50}
		if mounts[i], err = r.open(map[string]policy.Table{"kf_native": {Column: "id", InPlace: source}}); err != nil {
			return outcome{}, err
		}
		defer mounts[i].Close()
	}
	const rows = 300
	for n := range rows {
		if err := r.rate.wait(ctx, 1); err != nil {
			return outcome{}, err
		}
		if _, err := mounts[n%2].ExecContext(ctx, r.target.bind("INSERT INTO kf_native (n) VALUES (?)"), n); err != nil {
			return outcome{}, err
		}
	}
	stored, err := r.number(ctx, "SELECT COUNT(DISTINCT id) FROM kf_native")
	if err == nil && stored != rows {
		return refused("%d rows have %d keys", rows, stored), nil
	}
	return shown(stored), err
}

// hasSequences reports whether the engine has sequences.
func (r *run) hasSequences() bool {
	return r.engine.sequence != "" && r.engine.without != r.target.Dialect.Name
}

// tryRollback stores rows in a transaction that rolls back.
func tryRollback(ctx context.Context, r *run) (_ outcome, err error) {
	db, done, err := r.orders(ctx, policy.Source{Kind: policy.KindUUIDv7})
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return outcome{}, err
	}
	noted, rec := keyfill.Record(ctx)
	_, err = tx.ExecContext(noted, r.target.bind("INSERT INTO kf_orders (note) VALUES (?)"), "a")
	if err := errors.Join(err, tx.Rollback()); err != nil {
		return outcome{}, err
	}
	n, err := r.number(ctx, "SELECT COUNT(*) FROM kf_orders")
	switch {
	case err != nil:
		return outcome{}, err
	case n != 0:
		return refused("%d rows of a transaction that was rolled back are stored", n), nil
	case len(rec.All()) != 1:
		return refused("%d keys were given to one row", len(rec.All())), nil
	}
	return shown(0), nil
}

// orders makes a table and opens it through keyfill; done closes and drops it.
func (r *run) orders(ctx context.Context, s policy.Source) (db *sql.DB, done func() error, err error) {
	column := r.engine.number
	if s.Kind == policy.KindUUIDv7 {
		column = r.engine.uuid
	}
	if err := r.exec(ctx, "CREATE TABLE kf_orders (id "+column+" NOT NULL PRIMARY KEY, note "+r.engine.text+", n "+r.engine.number+")"); err != nil {
		return nil, nil, err
	}
	if db, err = r.open(map[string]policy.Table{"kf_orders": {Column: "id", InPlace: &s}}); err != nil {
		return nil, nil, errors.Join(err, r.drop("kf_orders"))
	}
	return db, func() error { return errors.Join(db.Close(), r.drop("kf_orders")) }, nil
}

// patience bounds how long a claim waits for an answer that a server may never give.
const patience = 20 * time.Second
