package inserts

import (
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// State is what is known about the INSERT that is being read.
type State struct {
	plans.Insert
	Listed   Places // the index of each key's column in the column list
	Columns  int    // the length of the column list; -1 if there is no list
	ListEnd  int    // the offset after the list's last column, or after its opening bracket
	ListAt   int    // the offset at which a column list would stand
	judged   bool   // whether a row has values for key columns, or for columns within whose values keys are numbered
	involved bool   // whether a value of a row is not a constant
	suspect  bool   // whether the text from the column list to the rows must be read again for uses of LAST_INSERT_ID()
	name     reader.Name
	calls    []scan.Span // values of the first row that may be sets, in engines with sets
	Merged   bool        // whether the INSERT is part of a MERGE, which accepts no sets
	linked   bool        // whether the table is in another database, through a link

	upserts []plans.UpsertClause // the upsert clauses in the text

	conditional bool // whether a condition of a SELECT may leave a row out

	// overruled is why the engine would store another key than the one that is filled;
	// overruledAt is the token that causes this.
	overruled   rewrite.Reason
	overruledAt scan.Token
}

// fewKeys is how many keys a table may have without an allocation here. Most tables have
// one key.
const fewKeys = 2

// Places holds, for each key, the index of its column in the column list.
type Places struct {
	few  [fewKeys]int // for the first keys: the index plus one; 0 if the key is not listed
	more []int        // for the other keys: the index plus one; 0 if the key is not listed
}

// Of returns the index of a key's column in the column list, or -1 if it is not listed.
func (l *Places) Of(key int) int {
	if key < fewKeys {
		return l.few[key] - 1
	}
	if key -= fewKeys; key < len(l.more) {
		return l.more[key] - 1
	}
	return -1
}

// Set notes the index of a key's column in the column list.
func (l *Places) Set(key, column int) {
	if key < fewKeys {
		l.few[key] = column + 1
		return
	}
	key -= fewKeys
	for len(l.more) <= key {
		l.more = append(l.more, 0)
	}
	l.more[key] = column + 1
}

// NewState returns the state of an INSERT whose head was read. verb is the offset of its
// verb. It returns a value, which the caller can keep on its stack.
func NewState(h Head, verb int) State {
	return State{
		Insert:  plans.Insert{Target: h.Target, Name: plans.WrittenName{Database: h.Name.Outside(), Cased: h.cased}, Offset: verb, Rows: -1, Upsert: plans.Upsert{Conflict: h.conflict, Replaces: h.replaces}, Delayed: h.delayed, Scopes: plans.ScopesOf(h.Target)},
		Columns: -1,
		name:    h.Name,
	}
}

// Missing appends to keys the indexes of the keys that the column list does not name, and
// that the policy then fills.
func (in *State) Missing(keys []int) []int {
	for i := range in.Target.Keys {
		if in.Listed.Of(i) < 0 && in.Target.Keys[i].Fill&plans.FillMissing != 0 {
			keys = append(keys, i)
		}
	}
	return keys
}

// lists reports whether the column list names at least one key.
func (in *State) lists() bool {
	for i := range in.Target.Keys {
		if in.Listed.Of(i) >= 0 {
			return true
		}
	}
	return false
}

// Lacks reports whether there is a key that the column list does not name, and that the
// policy then fills.
func (in *State) Lacks() bool {
	for i := range in.Target.Keys {
		if in.Listed.Of(i) < 0 && in.Target.Keys[i].Fill&plans.FillMissing != 0 {
			return true
		}
	}
	return false
}
