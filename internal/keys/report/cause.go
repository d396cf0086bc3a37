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
	//row:causes | `store` | got no key: its store gave no number in time, or cannot be used | the store; [store-down](errors.md#store-down), [store-state](errors.md#store-state)
	CauseStore Cause = iota
	//row:causes | `store_back` | got no key: its store stands below what it has given | [back](errors.md#back)
	CauseStoreBack
	//row:causes | `store_behind` | got no key: its store stands below keys in the table | [behind](errors.md#behind)
	CauseStoreBehind
	//row:causes | `exhausted` | got no key: there is no number left | [exhausted](errors.md#exhausted)
	CauseExhausted
	//row:causes | `clock` | got no key: the clock shows a time of which no key is made | [clock](errors.md#clock)
	CauseClock
	//row:causes | `worker` | got no key: other processes have the worker's number | [worker](errors.md#worker)
	CauseWorker
	//row:causes | `other` | got no key for another reason | the error in the program
	CauseOther
	//row:causes | `canceled` | ended with its context | timeouts of the program
	CauseCanceled
	//row:causes | `engine` | was refused by the database | the error in the program
	CauseEngine
	//row:causes | `column` | was refused by the database or the driver, and the key column does not take such keys | the line `keyfill: a key does not suit its column` in the log; `keyfill check`
	CauseColumn
	//row:causes | `connection` | ended in an error that is no answer of the database, also of its bulk load | the connection
	CauseConnection
	//row:causes | `transaction` | was rolled back with the transaction of its keys | [transactions.md](transactions.md)
	CauseTransaction
	//row:causes | `rows` | gives rows, as by RETURNING, which the program reads and keyfill does not | nothing: its outcome is unknown
	CauseRows
	//row:causes | `unended` | has rows that were not read to the end, or is in a bulk load that the program closed before its end | nothing
	CauseUnended
	//row:causes | `conflict` | is an upsert, and the answer does not show which rows are new | nothing
	CauseConflict
	//row:causes | `count` | stored another number of rows than were sent, or none were counted | triggers; `SET NOCOUNT`
	CauseCount
	//row:causes | `text` | is in a text with other statements, to which the answer may belong | nothing
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
