package keyfill

import (
	"context"
	"database/sql/driver"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// Outcome says what became of a key. The zero value is [Unknown].
type Outcome uint8

const (
	// Unknown means that the engine does not tell: the statement may have left
	// the row out or changed another one, or the connection broke.
	Unknown Outcome = iota
	// Stored means that the row is in the table with this key, as far as its
	// transaction commits.
	Stored
	// NotStored means that no row got the key.
	NotStored
)

// String returns "unknown", "stored" or "not stored".
func (o Outcome) String() string {
	return [...]string{"unknown", "stored", "not stored"}[o]
}

// RecordedKey is one key that was filled.
type RecordedKey struct {
	Table  string // "orders" or "sales.orders", in the case in which the engine compares names
	Column string // the key column
	Row    int    // the row of its statement, from 0

	// Key is a uuid.UUID of github.com/google/uuid, in the byte order of the
	// stored text, or a string for a text key, or an int64 for an integer.
	Key     any
	Outcome Outcome
}

// Recorder holds the keys that were filled under a context, for as long as the
// program holds the Recorder. [Record] makes one. It is safe for concurrent use.
type Recorder struct {
	parent *Recorder
	mu     sync.Mutex
	keys   []RecordedKey
	lost   []*execution // that ended in driver.ErrBadConn: see retry.go
}

// note is where the keys of an execution stand in one recorder.
type note struct {
	rec *Recorder
	at  int
}

type recorderKey struct{}

// Record returns a context and a recorder of every key that is filled under
// that context, in the order of the statements and their rows. Where ctx has a
// recorder already, both record.
//
// When database/sql sends a statement again because its connection was broken
// (driver.ErrBadConn), the statement gets the same keys, unless they belong to
// the connection's transaction. Without a recorder a retry draws new keys, and
// the first keys are a gap.
//
// The key that RETURNING or OUTPUT gives back replaces the key that was sent,
// as far as the caller reads the rows. Before that the outcome is [Unknown].
func Record(ctx context.Context) (context.Context, *Recorder) {
	r := &Recorder{parent: recorderOf(ctx)}
	return context.WithValue(ctx, recorderKey{}, r), r
}

func recorderOf(ctx context.Context) *Recorder {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	return r
}

// All returns every key so far. The caller owns the slice.
func (r *Recorder) All() []RecordedKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]RecordedKey(nil), r.keys...)
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

// Last returns the last key of a table that is known to be stored, as a T. It
// returns false where there is none, and where T does not suit the key. Where
// several columns are filled, the key is that of the first one in the policy.
// The table is named as in [Recorder.Keys].
//
//   - A UUID suits every T whose underlying type is [16]byte: that of
//     github.com/google/uuid, that of the standard library's package uuid from
//     Go 1.27 on, or a program's own. The bytes are in the order of the stored
//     text. A UUID suits a T whose underlying type is string too, which gets
//     the text of RFC 9562, section 4, in lower case: 36 characters.
//   - A text key suits every T whose underlying type is string.
//   - An integer suits every T whose underlying type is int64.
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

// keyAs returns a recorded key as a T, if T suits it. Only reflection tells the
// underlying type of T.
func keyAs[T any](key any) (T, bool) {
	as, ok := key.(T)
	if ok || key == nil {
		return as, ok
	}
	from, to := reflect.ValueOf(key), reflect.TypeFor[T]()
	if id, isUUID := key.(uuid.UUID); isUUID && to.Kind() == reflect.String {
		from = reflect.ValueOf(id.String())
	}
	// Between types of one kind only, so that no integer becomes a text, and no
	// array is cut.
	if from.Kind() != to.Kind() || !from.CanConvert(to) {
		return as, false
	}
	as, ok = from.Convert(to).Interface().(T)
	return as, ok
}

// record notes the keys of an execution with what became of them.
func (x *execution) record(err error) {
	if x.rec == nil {
		return
	}
	keys := x.recorded()
	if !x.plan.Alone() {
		x.settled(keys, err)
		x.write(keys)
		return
	}
	o := Unknown
	if err != nil {
		o = x.failure(err)
	}
	for i := range keys {
		keys[i].Outcome = o
		if err == nil && len(x.fates) == len(keys) {
			keys[i].Outcome = x.fates[i]
		}
	}
	x.write(keys)
}

// write puts the keys of an execution into the recorders: behind the others
// the first time, then in their own place, so that a statement that was sent
// twice is recorded once.
func (x *execution) write(keys []RecordedKey) {
	if x.notes == nil {
		for r := x.rec; r != nil; r = r.parent {
			r.mu.Lock()
			x.notes = append(x.notes, note{r, len(r.keys)})
			r.keys = append(r.keys, keys...)
			r.mu.Unlock()
		}
		return
	}
	for _, n := range x.notes {
		n.rec.mu.Lock()
		copy(n.rec.keys[n.at:], keys)
		n.rec.mu.Unlock()
	}
}

// recorded returns the keys that the execution drew, in row order.
func (x *execution) recorded() []RecordedKey {
	var keys []RecordedKey
	for _, p := range x.plan.Filled(x.holes) {
		if x.plan.Inserts[p.Insert].Explained {
			continue
		}
		t := tableOf(&x.plan.Inserts[p.Insert])
		k := &t.keys[p.Key]
		keys = append(keys, RecordedKey{
			Table:  t.Table,
			Column: k.column,
			Row:    p.Row,
			Key:    k.reported(x.keys[p.Draw][p.N]),
		})
	}
	return append(keys, x.numberedKeys()...)
}

// reported returns a key as it was bound, or as the engine gave it back, in the
// type that a Recorder shows.
func (k *tableKey) reported(v driver.Value) any {
	switch v := v.(type) {
	case uuid.UUID:
		return v
	case [16]byte:
		return uuid.UUID(v)
	case string:
		if k.text {
			return v
		}
		if k.integer() {
			if id, err := strconv.ParseInt(v, 10, 64); err == nil {
				return id
			}
			return v
		}
		if id, err := uuid.Parse(v); err == nil {
			return id
		}
		return v
	case []byte:
		if len(v) == 16 && !k.text && !k.integer() {
			return uuid.UUID(v)
		}
		return k.reported(string(v))
	case uint64:
		// go-sql-driver gives it for a column that is unsigned.
		if v <= math.MaxInt64 {
			return int64(v)
		}
	}
	return v
}
