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
	Listed   Places // the places of the keys in the column list
	Columns  int    // the length of the column list; -1 without one
	ListEnd  int    // the end of the list's last column, or of its bracket
	ListAt   int    // the offset at which a column list would stand
	judged   bool   // a row has values for key or scope columns
	involved bool   // a value of a row is not a constant
	name     reader.Name
	calls    []scan.Span // values of the first row that may be sets, in engines with sets
	Merged   bool        // it is part of a MERGE, which accepts no sets
	linked   bool        // the table is on another database, through a link

	upserts []plans.UpsertClause // in the text

	conditional bool // a condition of a SELECT may leave a row out

	// overruled is why the engine would store another key than the filled one;
	// overruledAt is the token that causes this.
	overruled   rewrite.Reason
	overruledAt scan.Token
}

// fewKeys is the number of keys of a table that need no allocation; most tables have one.
const fewKeys = 2

// Places holds, for each key, its column in the list.
type Places struct {
	few  [fewKeys]int // of the first keys, plus one
	more []int        // of the other keys, plus one
}

// Of returns a key's column in the list, -1 if it is not listed.
func (l *Places) Of(key int) int {
	if key < fewKeys {
		return l.few[key] - 1
	}
	if key -= fewKeys; key < len(l.more) {
		return l.more[key] - 1
	}
	return -1
}

// Set notes a key's column in the list.
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

// NewState returns the state of an INSERT with the head. The caller keeps it on its
// stack.
func NewState(h Head, verb int) State {
	return State{
		Insert:  plans.Insert{Target: h.Target, Name: plans.WrittenName{Database: h.Name.Outside(), Cased: h.cased}, Offset: verb, Rows: -1, Upsert: plans.Upsert{Conflict: h.conflict, Replaces: h.replaces}, Delayed: h.delayed, Scopes: plans.ScopesOf(h.Target)},
		Columns: -1,
		name:    h.Name,
	}
}

// Missing appends to keys the indexes of keys that the column list does not name and the
// policy then fills.
func (in *State) Missing(keys []int) []int {
	for i := range in.Target.Keys {
		if in.Listed.Of(i) < 0 && in.Target.Keys[i].Fill&plans.FillMissing != 0 {
			keys = append(keys, i)
		}
	}
	return keys
}

// lists reports whether the column list names a key.
func (in *State) lists() bool {
	for i := range in.Target.Keys {
		if in.Listed.Of(i) >= 0 {
			return true
		}
	}
	return false
}

// Lacks reports whether there is a key that the column list does not name and the policy
// then fills.
func (in *State) Lacks() bool {
	for i := range in.Target.Keys {
		if in.Listed.Of(i) < 0 && in.Target.Keys[i].Fill&plans.FillMissing != 0 {
			return true
		}
	}
	return false
}
