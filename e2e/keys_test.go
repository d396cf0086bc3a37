package e2e_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
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
}

var keyCases = []keyCase{
	{"uuidv7-native", "uuidv7", dialect.SequentialAsString,
		map[string]string{"postgres": "UUID", "mariadb": "UUID"}, 8, true},
	{"uuidv7-text", "uuidv7", dialect.SequentialAsString,
		map[string]string{"postgres": `CHAR(36) COLLATE "C"`, "mariadb": "CHAR(36)", "sqlite": "TEXT"}, 8, true},
	{"uuidv7-binary", "uuidv7", dialect.SequentialAsBinary,
		map[string]string{"postgres": "BYTEA", "mariadb": "BINARY(16)", "sqlite": "BLOB"}, 8, true},
	// Not in MariaDB's uuid type, which a comb is no value of.
	{"comb-native", "comb", dialect.SequentialAsString,
		map[string]string{"postgres": "UUID"}, 10, false},
	{"comb-text", "comb", dialect.SequentialAsString,
		map[string]string{"postgres": `TEXT COLLATE "C"`, "mariadb": "CHAR(36)", "sqlite": "TEXT"}, 10, false},
	{"comb-binary", "comb", dialect.SequentialAsBinary,
		map[string]string{"postgres": "BYTEA", "mariadb": "BINARY(16)", "sqlite": "BLOB"}, 10, false},
	{"ulid-text", "ulid", dialect.SequentialAsString,
		map[string]string{"postgres": `CHAR(26) COLLATE "C"`, "mariadb": "CHAR(26)", "sqlite": "TEXT"}, 10, true},
	{"ulid-binary", "ulid", dialect.SequentialAsBinary,
		map[string]string{"postgres": "BYTEA", "mariadb": "BINARY(16)", "sqlite": "BLOB"}, 10, true},
}

// isText reports whether keys are text that is no UUID.
func (k keyCase) isText() bool {
	return k.source == "ulid" && k.layout == dialect.SequentialAsString
}

// rule is the policy for a table with the key.
func (k keyCase) rule() policy.Table {
	return policy.Table{Source: k.source, Layout: k.layout}
}

// key turns a key that a driver gave into what a Recorder shows: a uuid.UUID,
// or a string for a ULID as text.
func (k keyCase) key(t *testing.T, v any) any {
	t.Helper()
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

// own returns the i-th key that a row of the application brings: as it is bound,
// and as a Recorder would show it.
func (k keyCase) own(i int) (bound, shown any) {
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
