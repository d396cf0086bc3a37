package harness

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// AlteredSources are sources with a state, or none but the table.
var AlteredSources = map[string]policy.Source{
	"sequence":   {Kind: policy.KindSequence, EnsureSchema: true},
	"named":      {Kind: policy.KindSequence, EnsureSchema: true, Name: "all"},
	"joined":     {Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined, OnBehind: keysource.RemedyAdvance},
	"maxplusone": {Kind: policy.KindMaxPlusOne, EnsureSchema: true},
}

// Counted is a sequence that makes what it needs, with a change.
func Counted(change func(*policy.Source)) policy.Source {
	s := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 10}
	if change != nil {
		change(&s)
	}
	return s
}

// InPlace is the policy for the id of t with the source in place.
func InPlace(s policy.Source) *policy.Config { return FillID("t", policy.Table{InPlace: &s}) }

// OwnKey is a key that the application brings.
const OwnKey = "0b5c1f9e-0000-4000-8000-000000000001"

// Drawn runs f and returns how many UUIDs of version 4 were drawn meanwhile.
func Drawn(e *Entropy, f func()) int {
	const uuidv4 = 16 // bytes that a key reads
	before := e.Bytes.Load()
	f()
	return int(e.Bytes.Load()-before) / uuidv4
}

// JoinedSource is a numbering without gaps that makes what it needs.
func JoinedSource() *policy.Source {
	return &policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, EnsureSchema: true}
}

// JoinedID is the policy for a table whose id is numbered without gaps.
func JoinedID(table string) *policy.Config {
	return FillID(table, policy.Table{InPlace: JoinedSource()})
}

// RefusedFor checks that nothing was sent, and why.
func RefusedFor(t *testing.T, what string, err error, reason rewrite.Reason) {
	t.Helper()
	if !errors.Is(err, reason) || !errors.As(err, new(*keyfill.Error)) {
		t.Errorf("%s: %v, want %q", what, err, string(reason))
	}
}

// KeyKind is a source with a state, and a column for its keys.
type KeyKind struct {
	Name   string
	Source policy.Source
	Column string // its type; "" is BIGINT
	Before string // what has to be there
	Bits   int

	Contiguous bool
	Servers    bool // not on SQLite
	Files      bool // not in memory
	MariaDB    bool // there only
}

// Mapped is a source that makes what it needs.
func Mapped(kind string, change func(*policy.Source)) policy.Source {
	s := policy.Source{Kind: kind, EnsureSchema: true}
	if change != nil {
		change(&s)
	}
	return s
}

// Config is the policy for a table whose id comes from the source.
func (k KeyKind) Config(e Engine) *policy.Config {
	cfg := FillID("t", policy.Table{InPlace: &k.Source, MaxBits: k.Bits})
	cfg.Dialect = e.Dialect.Name
	return cfg
}

// Create makes the table, and what the source needs.
func (k KeyKind) Create(t *testing.T, s *Scratch) {
	t.Helper()
	for query := range strings.SplitSeq(k.Before, ";") {
		if query != "" {
			Exec(t, s.Raw, query)
		}
	}
	column := k.Column
	if column == "" {
		column = "BIGINT"
	}
	Exec(t, s.Raw, "CREATE TABLE t (id "+column+" NOT NULL PRIMARY KEY, a INT)")
}

// workerNumbers gives each test its own, as processes have.
var workerNumbers atomic.Int64

// NewWorker returns the number of a worker that no other test of this process has.
func NewWorker() *int { return new(int(workerNumbers.Add(1))) }

// SequenceID is the policy for a table whose id comes from a sequence that
// makes what it needs.
func SequenceID(table string) *policy.Config {
	return FillID(table, policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}})
}

// Blocks is the policy for a table whose id comes from a sequence with a fixed
// block.
func Blocks(table string, block int64) *policy.Config {
	return FillID(table, policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: block}})
}
