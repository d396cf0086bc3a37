package keyfill

import (
	"cmp"
	"context"
	"database/sql"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/retry"
)

// Outcome is whether a key was stored. The zero value is [Unknown].
type Outcome uint8

const (
	// Unknown means that it is not known whether the key was stored: the statement may
	// have left the row out or changed another one, or the connection broke.
	Unknown Outcome = iota
	// Stored means that the row is in the table with this key, provided that its
	// transaction commits.
	Stored
	// NotStored means that no row of the table has got the key from this statement.
	NotStored
)

// String returns "unknown", "stored" or "not stored".
func (o Outcome) String() string {
	return [...]string{"unknown", "stored", "not stored"}[o]
}

// RecordedKey is one key that was filled.
type RecordedKey struct {
	Table  string // such as "orders" or "sales.orders", in the case in which the engine compares names
	Column string // the key column
	Row    int    // the index of the row in its statement, from 0

	// Key is a uuid.UUID of github.com/google/uuid, in the byte order of the
	// stored text, or a string for a text key, or an int64 for an integer.
	Key     any
	Outcome Outcome
}

// Recorder holds the keys that were filled under a context, until the program drops the
// Recorder. [Record] makes one. It is safe for concurrent use.
type Recorder struct{ recording execution.Recorder }

// Record returns a context and a recorder of every key that is filled under
// that context, in the order of the statements and their rows. Where ctx has a
// recorder already, both record.
//
// A statement that is sent again gets the keys of the attempt before, if that
// attempt had the same text and equal arguments, under the same recorder and on
// the same database, and
//
//   - its connection was broken (driver.ErrBadConn), or
//   - the engine rolled it back in favour of another one: a deadlock, a serialization
//     that failed, a lock wait that timed out, or
//   - its transaction, which BeginTx has begun, was rolled back.
//
// The keys of an attempt are used again only once. Keys that belong to a transaction,
// and keys of INSERT … SELECT, are drawn again. Without a recorder a retry draws new
// keys, and the first keys are a gap.
//
// If RETURNING or OUTPUT gives a key back, it replaces the recorded key when the caller
// reads its row. Before that the outcome is [Unknown].
func Record(ctx context.Context) (context.Context, *Recorder) {
	r := new(Recorder)
	return execution.WithRecorder(ctx, &r.recording), r
}

// All returns every key so far. The caller owns the slice.
func (r *Recorder) All() []RecordedKey {
	noted := r.recording.All()
	if noted == nil {
		return nil
	}
	keys := make([]RecordedKey, len(noted))
	for i, k := range noted {
		keys[i] = RecordedKey{Table: k.Table, Column: k.Column, Row: k.Row, Key: k.Key, Outcome: Outcome(k.Outcome)}
	}
	return keys
}

// Keys returns the keys of a table so far. "orders" means the table of that name
// in any schema, "sales.orders" the one in the schema sales. Names are compared
// without regard to case. The caller owns the slice.
func (r *Recorder) Keys(table string) []RecordedKey {
	var keys []RecordedKey
	for _, k := range r.All() {
		_, bare, _ := strings.Cut(k.Table, ".")
		if strings.EqualFold(k.Table, table) || strings.EqualFold(bare, table) {
			keys = append(keys, k)
		}
	}
	return keys
}

// Last returns the last key of a table that is known to be stored, as a T. It returns
// false if no key is known to be stored, and if T does not suit the key. Where several
// columns are filled, Last returns the key of the first one in the policy. The table is
// named as in [Recorder.Keys].
//
//   - A UUID suits every T whose underlying type is [16]byte: the UUID of
//     github.com/google/uuid, the one of the standard library's package uuid from
//     Go 1.27 on, or a program's own. The bytes are in the order of the stored
//     text. A UUID suits a T whose underlying type is string too, which gets
//     the text of RFC 9562, section 4, in lower case: 36 characters.
//   - A text key suits every T whose underlying type is string.
//   - An integer suits every T whose underlying type is int64.
//   - Each of them suits a struct T that reads it by its method Scan (sql.Scanner), to
//     which a UUID is given as text, such as the ID of package publicid.
func Last[T any](r *Recorder, table string) (T, bool) {
	keys := r.Keys(table)
	for i := len(keys) - 1; i >= 0; i-- {
		if keys[i].Outcome == Stored && keys[i].Column == keys[0].Column {
			return keyAs[T](keys[i].Key)
		}
	}
	var none T
	return none, false
}

// keyAs returns a recorded key as a T, if T suits it. The underlying type of T is known
// only through reflection.
func keyAs[T any](key any) (T, bool) {
	as, ok := key.(T)
	if ok || key == nil {
		return as, ok
	}
	from, to := reflect.ValueOf(key), reflect.TypeFor[T]()
	if scanner, isScanner := any(&as).(sql.Scanner); isScanner && to.Kind() == reflect.Struct {
		if id, isUUID := key.(uuid.UUID); isUUID {
			key = id.String()
		}
		var none T
		if scanner.Scan(key) != nil {
			return none, false
		}
		return as, true
	}
	if id, isUUID := key.(uuid.UUID); isUUID && to.Kind() == reflect.String {
		from = reflect.ValueOf(id.String())
	}
	// Convert only between types of one kind, so that no integer becomes a text, and no
	// array is cut.
	if from.Kind() != to.Kind() || !from.CanConvert(to) {
		return as, false
	}
	as, ok = from.Convert(to).Interface().(T)
	return as, ok
}

// ErrCommitUnknown is in the error of [Retry] if the transaction may or may not be
// stored: its COMMIT got no answer, and its rows were not found, or do not prove it.
// errors.Is also finds the driver's error of the COMMIT in it.
var ErrCommitUnknown = retry.ErrCommitUnknown

// RetryOptions change what [Retry] does. The zero value changes nothing.
type RetryOptions struct {
	Tx       sql.TxOptions // the options with which each transaction begins
	Attempts int           // how often the transaction is tried at most; 0 means 10
}

// retryAttempts is how often [Retry] runs its function at most.
const retryAttempts = 10

// Retry runs f in a transaction and commits the transaction. It repeats the transaction, f
// included, after an error that a repetition may cure: the engine has rolled it back in
// favour of another transaction, a lock wait timed out, or the connection was lost before
// the COMMIT was sent. In between it waits for a random time of up to some 200
// milliseconds. f must neither commit nor roll back, and must be able to run again. If a
// statement in f has ended the transaction all the same, such as DDL on MySQL, f does not
// run again. Only the first element of options is used.
//
// f has to return the error of a statement that has failed, unless a savepoint undoes the
// statement. MySQL and MariaDB end a transaction at a deadlock, and commit each later
// statement separately. On these engines Retry sets the savepoint keyfill_attempt when
// the transaction begins, checks before the COMMIT that it still exists, and returns an
// error if it does not.
//
// An INSERT of the next attempt has the keys of the same INSERT in the attempt before, so
// that what f has named after its keys stays valid. Two INSERTs are the same if they have
// the same text and equal arguments, or the same text, as many rows and the same place
// among the INSERTs of their attempts. If several INSERTs of the earlier attempt match, the
// first is used, and each is used once. An INSERT that f has not sent before gets new keys.
// Keys that belong to a transaction, and the keys of INSERT … SELECT, are drawn again.
//
// Where the COMMIT gets no answer, Retry looks for the keys on another connection. It
// returns nil if all of them are there, and every statement of the transaction that writes
// is an INSERT whose rows all got their keys from a source outside of the transaction. An
// INSERT that brings its keys, one with IGNORE or ON CONFLICT, and any other statement than
// a query count as other writes. If the server has not finished the COMMIT yet, Retry waits
// for it: for 30 seconds at most, and until 5 seconds after the end of ctx. On PostgreSQL
// Retry asks the server for the state of the transaction, and f runs again if nothing was
// stored. On SQL Server, where a session may see what is not committed, Retry does not
// look. In all other cases Retry returns an error in which errors.Is finds
// [ErrCommitUnknown] and the error of the COMMIT, and f does not run again: a missing row
// may have been stored, and deleted by another session.
//
// Retry returns the error of f and the errors of the driver as they are, and [ErrNotOurs]
// for a database that was not opened through keyfill. Another wrapper may be around it. If
// f panics, the transaction is rolled back.
func Retry(ctx context.Context, db *sql.DB, f func(*sql.Tx) error, options ...RetryOptions) error {
	var o RetryOptions
	if len(options) > 0 {
		o = options[0]
	}
	return retry.RunTx(ctx, db, &o.Tx, cmp.Or(o.Attempts, retryAttempts), f)
}
