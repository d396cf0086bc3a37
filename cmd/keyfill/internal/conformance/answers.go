package conformance

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// tryCatalog reads what the catalog says of a table.
func tryCatalog(ctx context.Context, r *run) (_ outcome, err error) {
	d := r.target.Dialect
	if err := r.exec(ctx, "CREATE TABLE kf_declared (id "+r.engine.number+" NOT NULL PRIMARY KEY, code "+r.engine.text+" NOT NULL UNIQUE, note "+r.engine.text+")"); err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, r.drop("kf_declared")) }()
	t, err := catalog.Read(ctx, d, catalog.DB(r.db), "", d.FoldTable("kf_declared", false))
	if err != nil {
		return outcome{}, err
	}
	for _, want := range []struct {
		name         string
		integer, own bool // holds integers; is alone in a unique index
	}{{"id", true, true}, {"code", false, true}, {"note", false, false}} {
		c := t.Column(d, d.Fold(want.name, false))
		switch {
		case c == nil:
			return refused("the catalog has no column %s", want.name), nil
		case c.Integer != want.integer || want.integer && c.Bits < 63:
			return refused("the catalog says of %s that it is %s", want.name, c.Type), nil
		case c.Indexes.UniqueAlone != want.own:
			return refused("the catalog says of a unique index on %s: %t", want.name, c.Indexes.UniqueAlone), nil
		}
	}
	_, err = catalog.Read(ctx, d, catalog.DB(r.db), "", d.FoldTable("kf_missing", false))
	if !catalog.IsNoTable(err) {
		return refused("the catalog does not say that a table is missing"), nil
	}
	return shown(0), nil
}

// tryDuplicate stores a key twice.
func tryDuplicate(ctx context.Context, r *run) (_ outcome, err error) {
	_, done, err := r.orders(ctx, block())
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	const row = "INSERT INTO kf_orders (id, note) VALUES (7, 'a')"
	if err := r.exec(ctx, row); err != nil {
		return outcome{}, err
	}
	return r.hasClass(r.exec(ctx, row), dialect.ErrorDuplicate), nil
}

// tryMissing reads a table that is not there.
func tryMissing(ctx context.Context, r *run) (outcome, error) {
	if r.engine.codeless {
		return notTried("the engine's error has no code of its own"), nil
	}
	_, err := r.number(ctx, "SELECT COUNT(*) FROM kf_missing")
	return r.hasClass(err, dialect.ErrorNoObject), nil
}

// hasClass returns shown if an error has a class, else refused.
func (r *run) hasClass(err error, want dialect.ErrorClass) outcome {
	switch {
	case err == nil:
		return refused("there was no error")
	case sqlcode.ClassOf(r.target.Dialect, err) != want:
		return refused("the error is another one: %s", seenError(err))
	}
	return shown(0)
}

// tryWaiting lets two transactions wait for one another.
func tryWaiting(ctx context.Context, r *run) (_ outcome, err error) {
	_, done, err := r.orders(ctx, block())
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := r.exec(ctx, "INSERT INTO kf_orders (id, note) VALUES (1, 'a')", "INSERT INTO kf_orders (id, note) VALUES (2, 'b')"); err != nil {
		return outcome{}, err
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var txs [2]*sql.Tx
	for i := range txs {
		conn, err := r.db.Conn(ctx)
		if err != nil {
			return outcome{}, err
		}
		// The session is closed, so that its setting serves no later claim.
		defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
		if err := execAll(ctx, conn, r.engine.impatient...); err != nil {
			return outcome{}, err
		}
		if txs[i], err = conn.BeginTx(ctx, nil); err != nil {
			return r.hasTransient(err), nil // SQLite, if BEGIN takes the lock
		}
		defer func() { _ = txs[i].Rollback() }() // its error is of no interest here
		if err := update(ctx, txs[i], i+1); err != nil {
			return r.hasTransient(err), nil // SQLite, where one connection writes at a time
		}
	}
	answers := make(chan error, len(txs))
	for i := range txs {
		go func() {
			err := update(ctx, txs[i], 2-i)
			_ = txs[i].Rollback() // so that the other one goes on
			answers <- err
		}()
	}
	first := errors.Join(<-answers, <-answers)
	return r.hasTransient(first), nil
}

// update writes to a row of kf_orders.
func update(ctx context.Context, tx *sql.Tx, id int) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE kf_orders SET note = 'c' WHERE id = %d", id))
	return err
}

// execAll executes statements on a connection.
func execAll(ctx context.Context, conn *sql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// hasTransient returns shown if the transaction of an error may succeed when it is
// repeated, else refused.
func (r *run) hasTransient(err error) outcome {
	switch {
	case err == nil:
		return refused("there was no error")
	case !sqlcode.ClassOf(r.target.Dialect, err).Transient():
		return refused("the error is another one: %s", seenError(err))
	}
	return shown(0)
}

// trySettings changes a setting of a session, and inserts a text that has another number
// of rows then.
func trySettings(ctx context.Context, r *run) (_ outcome, err error) {
	if len(r.engine.settings) == 0 {
		return notTried("no setting of the engine changes what this text means"), nil
	}
	db, done, err := r.orders(ctx, policy.Source{Kind: policy.KindUUIDv7})
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	stored, tried := int64(0), 0
	for i, s := range r.engine.settings {
		conn, err := db.Conn(ctx)
		if err != nil {
			return outcome{}, err
		}
		err = execAll(ctx, conn, s.set)
		isSet := !sqlcode.Answered(err) // CockroachDB knows standard_conforming_strings = on alone: pkg/sql/vars.go
		if err == nil {
			err = execAll(ctx, conn, s.text)
		}
		// The session is closed, so that its setting serves no later claim.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		switch {
		case !isSet:
			continue
		case err != nil:
			return outcome{}, err
		}
		tried++
		n, err := r.number(ctx, "SELECT COUNT(*) FROM kf_orders")
		if err != nil {
			return outcome{}, err
		}
		if n-stored != s.rows {
			return refused("with setting %d the text stores %d rows, want %d", i+1, n-stored, s.rows), nil
		}
		stored = n
	}
	if tried == 0 {
		return notTried("the server takes none of the settings that change what this text means"), nil
	}
	return shown(stored), nil
}
