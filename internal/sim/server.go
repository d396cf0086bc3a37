package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Server is the simulated database server of the store. It has rows of one integer each
// and, unless the seed puts it elsewhere, the table that the application inserts into. If
// the table is on this server, a failover that loses commits of the store also loses rows
// of the table.
type Server struct {
	w      *World
	name   string // its name in the lines of [World.Story]
	shared bool   // the application's table is in this database
	clock  Clock
	lock   chan struct{} // the lock of all rows: a transaction holds it from its first update to its end

	// These fields are guarded by the mutex mu of the world.
	id      string
	ids     int
	epoch   int           // how many times a failure has ended the open transactions
	ready   time.Duration // when the server was ready again after the last of these failures
	mode    mode
	rows    map[string]int64
	things  map[string]any // rows that are Go values instead of integers
	table   map[int64]struct{}
	commits []*Commit
	log     []*Commit    // the commits that a failover may lose, in order
	undone  []*Commit    // statements of transactions on sessions that were rolled back
	open    []*Commit    // statements of the transaction that has the lock
	holder  *Transaction // the transaction on a [Conn] that has the lock
	lost    int
}

// mode is what a server does with a request.
type mode uint8

const (
	up mode = iota
	refusing
	silent
)

func (m mode) String() string {
	return [...]string{"answers", "refuses every request", "answers nothing"}[m]
}

// Commit is a transaction that was committed.
type Commit struct {
	At    time.Duration
	Asked time.Duration // when the client sent the request for it
	Lost  bool          // whether it was lost in a failover, or when a copy was restored

	Process, Life int    // the client
	Server        string // the identity of the server
	Row           string // the row that it changed
	Old, New      int64
	Note          string // the text given to [Tx.Note]
	Read          int64
	Changes       []Change // its changes of rows of any shape, in order

	Transaction *Transaction // the transaction on a [Session] that it is a statement of

	inserted []int64 // the keys that were inserted into the table, if it was an INSERT
}

// Tx is a transaction that changes one row, or a statement of a longer transaction.
type Tx struct {
	s      *Server
	commit *Commit
}

// Get returns a row's integer; 0 if there is none.
func (tx *Tx) Get(row string) int64 { return tx.s.rows[row] }

// Set changes the transaction's one row.
func (tx *Tx) Set(row string, to int64) {
	if tx.commit.Row != "" && tx.commit.Row != row {
		panic(fmt.Sprintf("a transaction of two rows, %q and %q", tx.commit.Row, row))
	}
	if tx.commit.Row == "" {
		tx.commit.Row, tx.commit.Old = row, tx.s.rows[row]
	}
	tx.commit.New = to
	tx.s.rows[row] = to
}

// Note sets the purpose of the transaction, and an integer that it has read: see [Commit].
func (tx *Tx) Note(text string, read int64) { tx.commit.Note, tx.commit.Read = text, read }

// MaxKey returns the greatest key in the table, 0 if it is empty.
func (tx *Tx) MaxKey() int64 { return tx.s.max() }

// MaxKeyBelow returns the greatest key in the table that is less than end, 0 if
// there is none.
func (tx *Tx) MaxKeyBelow(end int64) int64 {
	var most int64
	for key := range tx.s.table {
		if key < end {
			most = max(most, key)
		}
	}
	return most
}

// Server returns the identity of the server.
func (tx *Tx) Server() string { return tx.s.id }

// Epoch returns how many times the server has failed, and when it was ready after the last
// time.
func (tx *Tx) Epoch() (n int, ready time.Duration) { return tx.s.epoch, tx.s.ready }

// Now returns what the server's clock shows.
func (tx *Tx) Now() time.Time { return tx.s.clock.Now() }

func newServer(w *World, r *rand.Rand) *Server {
	s := &Server{
		w:      w,
		name:   "the store",
		shared: r.IntN(2) == 0,
		lock:   make(chan struct{}, 1),
		id:     "server 0",
		rows:   map[string]int64{},
		things: map[string]any{},
		table:  map[int64]struct{}{},
	}
	s.clock.w = w
	return s
}

// Commits returns the transactions that were committed, in order: those that
// changed a row or have a note. It is called at the end of a run, and by
// Repair.
func (s *Server) Commits() []*Commit {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.commits
}

// Undone returns the statements of the transactions on sessions that were rolled
// back, or that a crash ended. It is called at the end of a run.
func (s *Server) Undone() []*Commit {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.undone
}

// MaxKey returns the greatest key in the table, 0 if it is empty.
func (s *Server) MaxKey() int64 {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.max()
}

// Lost returns how many commits were lost.
func (s *Server) Lost() int {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.lost
}

// Switches returns how many times another server took over.
func (s *Server) Switches() int {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.ids
}

// Raise sets a row to at least to, as an operator does, while no transaction is open.
func (s *Server) Raise(row string, to int64) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.rows[row] = max(to, s.rows[row])
}

// max returns the greatest key in the table.
func (s *Server) max() int64 {
	var most int64
	for key := range s.table {
		most = max(most, key)
	}
	return most
}

// insert inserts rows, all or none, and returns false if one of the keys existed before.
func (s *Server) insert(keys []int64) bool {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.shared && s.mode != up {
		return true // the INSERT fails and stores no row; true only says that no key existed before
	}
	for _, key := range keys {
		if _, ok := s.table[key]; ok {
			return false
		}
	}
	for _, key := range keys {
		s.table[key] = struct{}{}
	}
	if s.shared {
		s.log = append(s.log, &Commit{inserted: keys})
	}
	return true
}

// setMode sets what the server does with requests, and ends open transactions when the
// server goes down.
func (s *Server) setMode(m mode) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if m != up {
		s.endOpen()
	}
	s.mode, s.ready = m, s.w.now()
}

// endOpen ends the open transaction, and those that wait, as a crash does. The caller holds
// the world's mu.
func (s *Server) endOpen() {
	s.epoch++
	s.undoOpen()
	s.release()
}

func (s *Server) undoOpen() {
	for _, c := range slices.Backward(s.open) {
		s.undo(c)
		if c.Transaction != nil {
			c.Transaction.Undone = true
			s.undone = append(s.undone, c)
		}
	}
	s.open = nil
}

// undo undoes a transaction or a statement.
func (s *Server) undo(c *Commit) {
	if c.Row != "" {
		s.rows[c.Row] = c.Old
	}
	for _, change := range slices.Backward(c.Changes) {
		s.put(change.Row, change.Old)
	}
	for _, key := range c.inserted {
		delete(s.table, key)
	}
}

// commit records a transaction that has changed a row, or has a note.
func (s *Server) commit(a actor, c *Commit) {
	if c.Row != "" || len(c.inserted) > 0 || len(c.Changes) > 0 {
		s.log = append(s.log, c)
	}
	if c.Row == "" && c.Note == "" && len(c.Changes) == 0 {
		return
	}
	c.At, c.Server = s.w.now(), s.id
	s.commits = append(s.commits, c)
	s.w.note(event{slot: a.slot, commit: c}, "%s commits for %s: %s", s.name, c.life(), c)
}

// lose undoes the last n commits, or a few more so that only whole transactions are lost,
// and returns how many it has undone. If takeOver is true, a replica without these commits
// takes over under another identity; otherwise a copy that was made before these commits is
// restored.
func (s *Server) lose(n int, takeOver bool) (lost int) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.endOpen()
	s.ready = s.w.now()
	if takeOver {
		s.ids++
		s.id = fmt.Sprintf("server %d", s.ids)
	}
	kept := len(s.log) - min(n, len(s.log))
	for kept > 0 && kept < len(s.log) && s.log[kept].Transaction != nil &&
		s.log[kept].Transaction == s.log[kept-1].Transaction {
		kept-- // include the transaction's earlier statements, since it is lost as a whole
	}
	for _, c := range slices.Backward(s.log[kept:]) {
		c.Lost = true
		s.lost++
		s.undo(c)
		lost++
	}
	s.log = s.log[:kept]
	return lost
}
