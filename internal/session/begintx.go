package session

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

// Begin is [Conn.BeginTx] for callers that use driver.Conn without contexts.
func (c *Conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx begins a transaction of the application. It returns the errors of database/sql
// for options that a driver without BeginTx cannot have.
func (c *Conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.BeginDriver(ctx, opts)
	if err != nil {
		return nil, err
	}
	// If a transaction was open already, it may still be open after this one ends: some
	// engines count transactions that are begun inside one another.
	c.begun, c.closed, c.nested = true, false, c.Tx != Outside
	c.follow(effects.TxBegins, nil)
	return sessionTx{Tx: tx, session: c, ctx: ctx}, nil
}

// sessionTx is a transaction of the application. Its context is kept because database/sql
// passes it only at the beginning.
type sessionTx struct {
	driver.Tx
	session *Conn
	ctx     context.Context
}

// Rollback marks the connection as unusable if the transaction's context has ended and the
// driver's connection is not both a SessionResetter and a Validator. database/sql itself
// would then close that connection, but it sees a [Conn], which is both.
func (t sessionTx) Rollback() error {
	c := t.session
	if t.ctx.Err() != nil && (c.resetter == nil || c.validator == nil) {
		c.discard = true
	}
	if c.OnEnd != nil {
		_ = c.OnEnd.BeforeEnd(t.ctx, false) // an error does not prevent the rollback
	}
	return t.rollback()
}

func (t sessionTx) rollback() error {
	c := t.session
	c.Columns.forget() // the rollback may undo DDL
	c.Settings.ends()
	c.Place.ends()
	err := t.Tx.Rollback()
	c.ends(err)
	c.left = c.left && err != nil
	if c.OnEnd != nil {
		c.OnEnd.AfterEnd(t.ctx, false, err)
	}
	return err
}

func (t sessionTx) Commit() error {
	c := t.session
	if c.OnEnd != nil {
		if err := c.OnEnd.BeforeEnd(t.ctx, true); err != nil {
			_ = t.rollback() // the rollback only fails if the connection is lost, or the connection is closed because the rollback failed
			return err
		}
	}
	c.Settings.ends()
	c.Place.ends()
	err := t.Tx.Commit()
	failed := err
	if c.dialect().ErrorsAbort {
		failed = nil // PostgreSQL ends the transaction even if the COMMIT fails
	}
	c.ends(failed)
	c.left = c.left || failed != nil
	if c.OnEnd != nil {
		c.OnEnd.AfterEnd(t.ctx, true, err)
	}
	return err
}
