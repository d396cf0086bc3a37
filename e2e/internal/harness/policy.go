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

// AlteredSources are sources that keep a stored counter, or that read the greatest key in
// the table instead.
var AlteredSources = map[string]policy.Source{
	"sequence":   {Kind: policy.KindSequence, EnsureSchema: true},
	"named":      {Kind: policy.KindSequence, EnsureSchema: true, Name: "all"},
	"joined":     {Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined, OnBehind: keysource.RemedyAdvance},
	"maxplusone": {Kind: policy.KindMaxPlusOne, EnsureSchema: true},
}

// Counted returns a sequence that creates its tables, after change has changed it.
func Counted(change func(*policy.Source)) policy.Source {
	s := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 10}
	if change != nil {
		change(&s)
	}
	return s
}

// InPlace returns the policy for the id of t, with a source that is written in its entry.
func InPlace(s policy.Source) *policy.Config { return FillID("t", policy.Table{InPlace: &s}) }

// OwnKey is a key that the application brings.
const OwnKey = "0b5c1f9e-0000-4000-8000-000000000001"

// Drawn calls f and returns how many UUIDs of version 4 were made meanwhile.
func Drawn(e *Entropy, f func()) int {
	const uuidv4 = 16 // the bytes that a key reads from the entropy
	before := e.Bytes.Load()
	f()
	return int(e.Bytes.Load()-before) / uuidv4
}

// JoinedSource returns a numbering without gaps that creates its tables.
func JoinedSource() *policy.Source {
	return &policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, EnsureSchema: true}
}

// JoinedID returns the policy for a table whose id is numbered without gaps.
func JoinedID(table string) *policy.Config {
	return FillID(table, policy.Table{InPlace: JoinedSource()})
}

// RefusedFor checks that keyfill has refused a statement, and for which reason.
func RefusedFor(t *testing.T, what string, err error, reason rewrite.Reason) {
	t.Helper()
	if !errors.Is(err, reason) || !errors.As(err, new(*keyfill.Error)) {
		t.Errorf("%s: %v, want %q", what, err, string(reason))
	}
}

// KeyKind is a source with a stored counter, and a column for its keys.
type KeyKind struct {
	Name   string
	Source policy.Source
	Column string // the type of the key column; empty means BIGINT
	Before string // the statements that must be executed first
	Bits   int

	Contiguous bool
	Servers    bool // whether the kind does not work on SQLite
	Files      bool // whether the kind does not work on SQLite in memory
	MariaDB    bool // whether the kind works on MariaDB only
}

// Mapped returns a source of a kind that creates its tables, after change has changed it.
func Mapped(kind string, change func(*policy.Source)) policy.Source {
	s := policy.Source{Kind: kind, EnsureSchema: true}
	if change != nil {
		change(&s)
	}
	return s
}

// Config returns the policy for a table whose id comes from the source.
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

// workerNumbers counts the numbers of workers: each test gets a number of its own, as
// processes do.
var workerNumbers atomic.Int64

// NewWorker returns the number of a worker that no other test of this process has.
func NewWorker() *int { return new(int(workerNumbers.Add(1))) }

// SequenceID returns the policy for a table whose id comes from a sequence that creates its
// tables.
func SequenceID(table string) *policy.Config {
	return FillID(table, policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}})
}

// Blocks returns the policy for a table whose id comes from a sequence that reserves blocks
// of a fixed size.
func Blocks(table string, block int64) *policy.Config {
	return FillID(table, policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: block}})
}
