package report

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// Cause is why an INSERT stored no key, or why its outcome is not known. The public type
// Cause describes each of them.
type Cause uint8

// The causes. CauseCanceled, and the causes after it, are also used for INSERTs that got a
// key.
const (
	CauseStore Cause = iota
	CauseStoreBack
	CauseStoreBehind
	CauseExhausted
	CauseClock
	CauseWorker
	CauseOther
	CauseCanceled
	CauseEngine
	CauseColumn
	CauseConnection
	CauseTransaction
	CauseRows
	CauseUnended
	CauseConflict
	CauseCount
	CauseText
	numCauses
)

var causeWords = [numCauses]string{
	"store", "store_back", "store_behind", "exhausted", "clock", "worker", "other", "canceled",
	"engine", "column", "connection", "transaction", "rows", "unended", "conflict", "count", "text",
}

func (c Cause) String() string { return causeWords[c] }

// causes maps errors of sources to causes. The first error that matches counts.
var causes = []struct {
	err   error
	cause Cause
}{
	{keysource.ErrStoreBack, CauseStoreBack},
	{keysource.ErrStoreBehind, CauseStoreBehind},
	{keysource.ErrExhausted, CauseExhausted},
	{keysource.ErrWorkerTaken, CauseWorker},
	{keysource.ErrClock, CauseClock},
	{keysource.ErrStoreDown, CauseStore},
	{keysource.ErrStoreState, CauseStore},
	{keysource.ErrStoreRefused, CauseStore},
	{context.Canceled, CauseCanceled},
	{context.DeadlineExceeded, CauseCanceled},
}

// CauseOfNoKey returns the cause for which an INSERT got no key.
func CauseOfNoKey(err error) Cause {
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return c.cause
		}
	}
	if sqlcode.Answered(err) {
		return CauseEngine
	}
	return CauseOther
}

// Stopped returns the error of a statement that keyfill itself has sent on the
// application's connection. If a time limit or a cancel has stopped the statement, the
// returned error says that the statement was keyfill's: otherwise the caller would look
// for a fault of the INSERT, which was not sent.
func Stopped(err error) error {
	if Ours(err) || !IsStopped(err) {
		return err
	}
	return anchor.Lastf("contention", "keyfill: its own statement before the INSERT was stopped by a time limit or a cancel: raise the limit, or look for a lock: %w", err)
}

// IsStopped reports whether the engine has stopped a statement because of a time limit
// or a cancel: the codes are query_canceled (PostgreSQL), and those for
// max_statement_time (MariaDB) and max_execution_time (MySQL).
func IsStopped(err error) bool {
	c, answered := sqlcode.Of(err)
	return answered && (c.State == "57014" || c.Number == 1969 || c.Number == 3024)
}

// Ours reports whether an error is about the state of a source (its stored counter).
func Ours(err error) bool {
	var row *store.Error
	if errors.As(err, &row) {
		return true
	}
	for _, known := range []error{
		keysource.ErrStoreDown, keysource.ErrStoreState, keysource.ErrStoreBack, keysource.ErrStoreBehind,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
