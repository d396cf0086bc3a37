package executor

import (
	"errors"
	"strings"

	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// unlessEnded replaces the error of a failed proof (a part of the statement that fails
// unless a transaction is open) by the error for a transaction that has ended. It returns
// any other error as it is.
func (t *Transactional) unlessEnded(err error) error {
	switch {
	case errors.Is(err, store.ErrEnded):
	case !t.proofFailed(err):
		return err
	}
	if t.own == nil {
		t.X.Conn.MarkEnded()
	}
	return outcome.ErrEnded
}

// proofFailed reports whether err means that the INSERT's proof of an open transaction has
// failed.
func (t *Transactional) proofFailed(err error) bool {
	tx := &t.X.Plan.Dialect.Transactions
	return t.X.Plan.ProvesOpen() && sqlcode.Is(err, tx.KeyNumber) && strings.Contains(err.Error(), tx.KeyText)
}
