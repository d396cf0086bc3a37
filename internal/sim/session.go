package sim

import (
	"context"
	"time"
)

// Session is a thread's connection to a store that is a file, as SQLite's is. The
// application's table is in the file too. One transaction writes at a time, and other
// transactions wait until it ends. The transaction of a killed process is undone.
type Session struct {
	// Heedless makes a mutant of the client (it has a deliberate mistake): the client
	// ignores the failure of a commit.
	Heedless bool

	p  *Process
	a  actor
	tx *Transaction // the open transaction, or nil
}

// Transaction is a transaction of several statements, on a [Session] or a [Conn].
type Transaction struct {
	// Undone reports whether it was rolled back; it may be read at the end of a run.
	Undone bool

	Statements []*Commit

	writes bool // whether the transaction has the lock of the server
	epoch  int  // the server's epoch (the number of its failures) when it got the lock

	// These fields are used by a transaction on a [Conn].
	over bool          // whether the transaction has ended; guarded by the world's mu
	done chan struct{} // closed when the transaction loses the lock
}

// busyTimeout is how long a statement waits for another transaction.
const busyTimeout = 5 * time.Second

// Open reports whether a transaction is open.
func (c *Session) Open() bool { return c.tx != nil }

func (c *Session) transaction() *Transaction {
	if c == nil {
		return nil
	}
	return c.tx
}

// Write calls f on a session: in the transaction that is open, or in a new one, which has
// been committed when Write returns without an error.
func Write[T any](ctx context.Context, c *Session, f func(*Tx) T) (T, error) {
	var value T
	err := c.write(ctx, func(tx *Tx) { value = f(tx) })
	return value, err
}

func (c *Session) write(ctx context.Context, f func(*Tx)) error {
	w, s := c.p.World, c.p.World.Server
	own := c.tx == nil
	if own {
		c.begin()
	}
	statement := &Commit{Asked: w.now(), Process: c.p.Number, Life: c.p.Life, Transaction: c.tx}
	err := c.lock(ctx)
	if err == nil {
		w.mu.Lock()
		if s.epoch != c.tx.epoch {
			err = ErrReset
		} else {
			s.open = append(s.open, statement)
			statement.Server = s.id
			c.tx.Statements = append(c.tx.Statements, statement)
			f(&Tx{s, statement})
		}
		w.mu.Unlock()
	}
	switch {
	case err != nil && own:
		c.rollback()
	case own:
		err = c.commit()
	}
	if err == nil && !c.p.step(c.a) {
		err = ErrKilled
	}
	return err
}

// Transact calls f, which writes on the session, in the transaction that is open, or in a
// new one, which has been committed when Transact returns without an error.
func Transact(c *Session, f func() error) error {
	if c.tx != nil {
		return f()
	}
	c.begin()
	if err := f(); err != nil {
		c.rollback()
		return err
	}
	return c.commit()
}

// begin opens a transaction. The transaction takes the server's lock at its first write.
func (c *Session) begin() { c.tx = new(Transaction) }

// lock waits until no other transaction writes.
func (c *Session) lock(ctx context.Context) error {
	w, s, tx := c.p.World, c.p.World.Server, c.tx
	c.a.sleep(c.a.latency() / 4)
	if !c.p.step(c.a) {
		return ErrKilled
	}
	if tx.writes {
		return nil
	}
	if err := c.wait(ctx); err != nil {
		return err
	}
	tx.writes = true
	c.a.sleep(0)
	if !c.p.step(c.a) {
		return ErrKilled
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	tx.epoch = s.epoch
	if s.mode != up {
		return ErrRefused
	}
	return nil
}

// wait waits for the lock of the server.
func (c *Session) wait(ctx context.Context) error {
	w, s := c.p.World, c.p.World.Server
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.lock <- struct{}{}:
		return nil
	default:
	}
	t := time.NewTimer(instant(w.now()+busyTimeout, c.a.slot) - w.now())
	defer t.Stop()
	select {
	case s.lock <- struct{}{}:
		return nil
	case <-t.C:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commit commits the transaction. If it returns an error, the transaction was rolled back.
func (c *Session) commit() error {
	w, s, tx := c.p.World, c.p.World.Server, c.tx
	if !tx.writes {
		c.tx = nil
		return nil
	}
	c.a.sleep(c.a.latency() / 4)
	if !c.p.step(c.a) {
		c.rollback()
		return ErrKilled
	}
	if c.a.mishap(w.traits.rollback) {
		c.rollback()
		return c.heed(ErrRolledBack)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer c.release()
	if s.epoch != tx.epoch {
		return c.heed(ErrReset)
	}
	s.open = nil
	for _, statement := range tx.Statements {
		s.commit(c.a, statement)
	}
	return nil
}

func (c *Session) heed(err error) error {
	if c.Heedless {
		return nil
	}
	return err
}

// rollback ends the transaction and undoes it.
func (c *Session) rollback() {
	w, s, tx := c.p.World, c.p.World.Server, c.tx
	c.a.sleep(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	defer c.release()
	if tx.writes && s.epoch == tx.epoch {
		s.undoOpen()
	}
	tx.Undone = true
}

// release releases the lock of the server, if the transaction has it.
func (c *Session) release() {
	if c.tx.writes {
		<-c.p.World.Server.lock
	}
	c.tx = nil
}

// insert inserts rows, all or none, and returns false if one of the keys existed before.
func (c *Session) insert(ctx context.Context, keys []int64) (bool, error) {
	return Write(ctx, c, func(tx *Tx) bool {
		for _, key := range keys {
			if _, ok := tx.s.table[key]; ok {
				return false
			}
		}
		for _, key := range keys {
			tx.s.table[key] = struct{}{}
		}
		tx.commit.inserted = keys
		return true
	})
}

// execute executes a statement, or, on a session, sometimes a transaction of several. It
// returns false if the process has been killed.
func (t *thread) execute(impatient float64) bool {
	c := t.session
	if c == nil || t.a.rand.IntN(2) == 0 {
		return t.statement(impatient)
	}
	c.begin()
	t.a.tell("%s begins a transaction", t)
	for range 1 + t.a.rand.IntN(3) {
		if !t.statement(impatient) {
			c.rollback()
			return false
		}
	}
	if t.a.rand.IntN(3) == 0 {
		c.rollback()
		t.a.tell("%s rolls back its transaction", t)
		return t.p.step(t.a)
	}
	err := c.commit()
	if err == nil {
		t.a.tell("%s commits its transaction", t)
	} else {
		t.a.tell("%s cannot commit its transaction: %v", t, err)
	}
	return err != ErrKilled
}
