package fill

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// table is a configured table.
type table struct {
	rewrite.Target
	rule     *policy.Rule
	mode     policy.Mode
	keys     []tableKey
	newError errorMaker

	// looked says that the catalog is asked before the first fill, through the
	// gate.
	looked bool
	gate   *gate

	// tally is what was done with INSERTs into the table, once something was.
	tally atomic.Pointer[tableTally]

	// lastID is the index of the key that LastInsertId gives, -1 when the
	// driver's own answer stays.
	lastID int
}

// tableKey is a key column and where its keys come from.
type tableKey struct {
	rule   policy.RuleKey
	column string
	layout dialect.Layout
	source keysource.Source // nil where the kind has a state: see Mount.counter
	text   bool             // keys are text of an alphabet of their own, or decimal

	// shape is what the numbers of a counter are made into; nil where they are the
	// keys, or there are none.
	shape keysource.Mapping
}

// integer reports whether keys are sent as integers.
func (k *tableKey) integer() bool { return k.rule.Integer && k.layout == "" }

// sqlType is the type that a key is cast to in a query: it is assigned to every
// column that takes the keys. PostgreSQL assigns uuid to text too, but not text
// to uuid.
func (k *tableKey) sqlType() string {
	switch {
	case k.text:
		return "text"
	case k.integer():
		return "bigint"
	case k.layout == dialect.SequentialAsBinary:
		return "bytea"
	}
	return "uuid"
}

// tableOf returns the table of an INSERT of a plan.
func tableOf(in *rewrite.Insert) *table { return in.Target.Owner.(*table) }

// keyError returns the error of a key that could not be made. What a driver has
// said on the statement's own connection is the caller's as it is.
func (t *table) keyError(i int, err error) error {
	if sqlcode.Answered(err) && !ours(err) {
		return err
	}
	return t.newError(t.Table, t.keys[i].column, -1, err)
}

// ours reports whether an error says what is wrong with a source.
func ours(err error) bool {
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

// end returns the first day on which a key column of the table gets no keys.
func (t *table) end() string {
	first := ""
	for i := range t.keys {
		if src := t.keys[i].rule.Source; ofWorkers(src) {
			day := src.SnowflakeOptions().Bits.End().Format(time.DateOnly)
			if first == "" || day < first {
				first = day
			}
		}
	}
	return first
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

// dummies returns n times what stands for a key where none is stored: 0, or the
// zero of the layout.
func (k *tableKey) dummies(n int) []driver.Value {
	keys := make([]driver.Value, n)
	for i := range keys {
		switch {
		case k.rule.Integer:
			keys[i] = keysource.Integers(0, 1, k.layout)[0]
		case k.text:
			keys[i] = strings.Repeat("0", cmp.Or(k.width(), dummyText))
		default:
			keys[i] = k.layout.Value([16]byte{})
		}
	}
	return keys
}

// dummyText is the length in characters of what stands for a text key: a ULID's.
const dummyText = 26

// function returns the engine's function for keys of a column's kind and layout.
func (k *tableKey) function(d *dialect.Dialect) dialect.Function {
	if k.layout != dialect.SequentialAsString {
		return dialect.Function{}
	}
	switch k.rule.Source.Kind {
	case policy.KindUUIDv4:
		return d.Numbering.UUIDv4
	case policy.KindUUIDv7:
		return d.Numbering.UUIDv7
	}
	return dialect.Function{}
}

// gapFree reports whether the numbers of the rows are to have no gaps.
func (k *tableKey) gapFree() bool { return k.rule.Source.Transaction == policy.TransactionJoined }

// limit returns the greatest key.
func (k *tableKey) limit() int64 {
	return min(int64(math.MaxInt64)>>(63-cmp.Or(k.rule.MaxBits, 63)), greatestNumber)
}

// greatestNumber is the greatest one that a store gives: it keeps the next one,
// which has to fit an int64 too.
const greatestNumber = math.MaxInt64 - 1

// facts returns what the catalog has said of the table; nil before it was asked.
func (t *table) facts() *tableFacts { return t.gate.facts.Load() }
