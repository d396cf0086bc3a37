package sim

import (
	"iter"
	"maps"
)

// Change is the change of a row of any shape (a row that is a Go value, not one integer) in
// a transaction. A nil value means that there is no row.
type Change struct {
	Row      string
	Old, New any
}

// Load returns a row of any shape (a Go value, not one integer), nil if there is none.
func (tx *Tx) Load(row string) any { return tx.s.things[row] }

// All returns all rows of any shape (a Go value, not one integer).
func (tx *Tx) All() map[string]any { return maps.Clone(tx.s.things) }

// Each returns all rows of any shape (a Go value, not one integer), in no order. The rows
// must not be changed meanwhile.
func (tx *Tx) Each() iter.Seq2[string, any] { return maps.All(tx.s.things) }

// Count returns how many rows of any shape (a Go value, not one integer) there are.
func (tx *Tx) Count() int { return len(tx.s.things) }

// Store changes a row of any shape (a Go value, not one integer), or removes it if to is
// nil. A transaction may change several.
func (tx *Tx) Store(row string, to any) {
	tx.commit.Changes = append(tx.commit.Changes, Change{row, tx.s.things[row], to})
	tx.s.put(row, to)
}

// MaxKeyIn returns the greatest key in the table that is at least from and at most to, or 0
// if there is no such key.
func (tx *Tx) MaxKeyIn(from, to int64) int64 {
	var most int64
	for key := range tx.s.table {
		if from <= key && key <= to {
			most = max(most, key)
		}
	}
	return most
}

// put changes a row of any shape (a Go value, not one integer). The caller holds the
// world's mu.
func (s *Server) put(row string, to any) {
	if to == nil {
		delete(s.things, row)
		return
	}
	s.things[row] = to
}

// Edit changes rows as an operator does, while no transaction is open.
func (s *Server) Edit(f func(*Tx)) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	f(&Tx{s, new(Commit)})
}

// Keys returns all keys in the table, in no order.
func (tx *Tx) Keys() iter.Seq[int64] { return maps.Keys(tx.s.table) }

// Changed returns how many changes of rows of any shape (a Go value, not one integer) the
// transaction, or the statement, has made.
func (tx *Tx) Changed() int { return len(tx.commit.Changes) }
