package statements_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// keyCase is a source of keys in one form.
type keyCase struct {
	name    string
	source  string // its kind
	layout  dialect.Layout
	columns map[string]string // the type of the key column, by dialect
	entropy int64             // the random bytes that it reads for a key
	ordered bool              // keys of later statements are greater

	integer *integerCase // nil where keys are no integers
}

// integerCase is what only integer keys have.
type integerCase struct {
	source  policy.Source
	maxBits int
	// exact reports that the store shows how many keys were drawn: no more than were
	// asked for are reserved.
	exact bool
}

var keyCases = []keyCase{
	{"uuidv7-native", "uuidv7", dialect.SequentialAsString,
		map[string]string{"postgres": "UUID", "mariadb": "UUID"}, 8, true, nil},
	{"uuidv7-text", "uuidv7", dialect.SequentialAsString,
		map[string]string{"postgres": `CHAR(36) COLLATE "C"`, "mariadb": "CHAR(36)", "sqlite": "TEXT"}, 8, true, nil},
	{"uuidv7-binary", "uuidv7", dialect.SequentialAsBinary,
		map[string]string{"postgres": "BYTEA", "mariadb": "BINARY(16)", "sqlite": "BLOB"}, 8, true, nil},
	// Not in MariaDB's uuid type, which a comb is no value of.
	{"comb-native", "comb", dialect.SequentialAsString,
		map[string]string{"postgres": "UUID"}, 10, false, nil},
	{"comb-text", "comb", dialect.SequentialAsString,
		map[string]string{"postgres": `TEXT COLLATE "C"`, "mariadb": "CHAR(36)", "sqlite": "TEXT"}, 10, false, nil},
	{"comb-binary", "comb", dialect.SequentialAsBinary,
		map[string]string{"postgres": "BYTEA", "mariadb": "BINARY(16)", "sqlite": "BLOB"}, 10, false, nil},
	{"ulid-text", "ulid", dialect.SequentialAsString,
		map[string]string{"postgres": `CHAR(26) COLLATE "C"`, "mariadb": "CHAR(26)", "sqlite": "TEXT"}, 10, true, nil},
	{"ulid-binary", "ulid", dialect.SequentialAsBinary,
		map[string]string{"postgres": "BYTEA", "mariadb": "BINARY(16)", "sqlite": "BLOB"}, 10, true, nil},
	// SQLite has three sorts of integer columns: INTEGER is the rowid, BIGINT
	// and INT are not.
	{"bigint-sequence", "sequence", "", harness.ColumnTypes("BIGINT", "BIGINT", "BIGINT"), 0, true,
		&integerCase{source: policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}},
	{"bigint-snowflake", "snowflake", "", harness.ColumnTypes("BIGINT", "BIGINT UNSIGNED", "INTEGER"), 0, true,
		&integerCase{source: policy.Source{Kind: policy.KindSnowflake, Worker: new(7), EnsureSchema: true}}},
	{"int-sequence", "sequence", "", harness.ColumnTypes("INT", "INT", "INT"), 0, true,
		&integerCase{source: policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 1}, maxBits: 31, exact: true}},
}

// isText reports whether keys are text that is no UUID.
func (k keyCase) isText() bool {
	return k.source == "ulid" && k.layout == dialect.SequentialAsString
}

// rule is the policy for a table with the key.
func (k keyCase) rule() policy.Table {
	if k.integer != nil {
		source := k.integer.source
		if source.Worker != nil {
			source.Worker = harness.NewWorker() // the engines' tests run at once in one process
		}
		return policy.Table{InPlace: &source, MaxBits: k.integer.maxBits}
	}
	return policy.Table{Source: k.source, Layout: k.layout}
}

// key turns a key that a driver gave into what a Recorder shows: a uuid.UUID, an
// int64, or a string for a ULID as text.
func (k keyCase) key(t *testing.T, v any) any {
	t.Helper()
	if k.integer != nil {
		return integer(t, v)
	}
	if b, ok := v.([]byte); ok {
		if len(b) == 16 && k.layout == dialect.SequentialAsBinary {
			return uuid.UUID(b)
		}
		v = string(b)
	}
	if b, ok := v.([16]byte); ok {
		return uuid.UUID(b)
	}
	s, ok := v.(string)
	if !ok {
		t.Fatalf("a key of type %T", v)
	}
	if k.isText() {
		if len(s) != 26 {
			t.Fatalf("a ULID of %d characters", len(s))
		}
		return s
	}
	u, err := uuid.Parse(s)
	if err != nil || len(s) != 36 || s != u.String() {
		t.Fatalf("%q is not the text of a UUID: %v", s, err)
	}
	return u
}

// integer returns an integer that a driver gave.
func integer(t *testing.T, v any) int64 {
	t.Helper()
	switch v := v.(type) {
	case int64:
		return v
	case uint64: // go-sql-driver, of an unsigned column
		return int64(v)
	case []byte:
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err == nil {
			return n
		}
	}
	t.Fatalf("an integer of type %T", v)
	return 0
}

// own returns the i-th key that a row of the application brings: as it is bound,
// and as a Recorder would show it.
func (k keyCase) own(i int) (bound, shown any) {
	if k.integer != nil {
		return int64(1_000_000_000 + i), int64(1_000_000_000 + i)
	}
	if k.isText() {
		s := fmt.Sprintf("01ARZ3NDEKTSV4RRFFQ6%06d", i)
		return s, s
	}
	u := uuid.MustParse(fmt.Sprintf("01900000-0000-7000-8000-%012d", i))
	if k.layout == dialect.SequentialAsBinary {
		return u[:], u
	}
	return u.String(), u
}
