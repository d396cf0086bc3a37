package sim

import (
	"context"
	"math/rand/v2"
)

// ending is how a request ends its transaction.
type ending uint8

const (
	goesOn ending = iota
	commits
	rollsBack
)

// Begin begins a transaction. Each [Update] on the connection is a statement of it, until
// [Conn.End]. The server locks its rows from the first statement to the end, and undoes the
// transaction when it fails, and when the process dies or closes the connection.
func (c *Conn) Begin() { c.tx = &Transaction{done: make(chan struct{})} }

// InTransaction reports whether a transaction was begun and not ended.
func (c *Conn) InTransaction() bool { return c.tx != nil }

// End commits the transaction, or rolls it back. After an error the transaction may have
// been committed all the same.
func (c *Conn) End(ctx context.Context, commit bool) error {
	r := request{tx: c.tx, ends: rollsBack}
	if commit {
		r.ends = commits
	}
	_, err := c.send(ctx, r)
	if err == nil || err == ErrRolledBack {
		c.tx = nil
	} // after any other error, Close makes the server end the transaction
	return err
}

// Close closes the connection: the server then undoes the open transaction. Close does not
// wait for that.
func (c *Conn) Close() {
	if tx := c.tx; tx != nil {
		c.tx = nil
		c.sent++
		a := c.p.World.actor(c.slot(c.sent), c.p.stream(16+c.number)|uint64(c.sent)<<32)
		c.p.World.wg.Go(func() {
			a.sleep(a.latency())
			c.server.abort(tx)
		})
	}
}

// pass lets the process make a step. It returns [ErrKilled] if the life of the process that
// opened the connection has ended, whether or not another life has begun. Within a
// transaction, pass returns as soon as the context ends, because database/sql then takes a
// lock and waits until the present call returns.
func (c *Conn) pass(ctx context.Context, a actor, r request) error {
	step := func() error {
		if a.sleep(0); !c.p.step(a) || c.life.Err() != nil {
			return ErrKilled
		}
		return nil
	}
	if r.tx == nil {
		return step()
	}
	passed := make(chan error, 1)
	c.p.World.wg.Go(func() { passed <- step() })
	select {
	case err := <-passed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// part executes a statement of a transaction, or ends it.
func (s *Server) part(a actor, c *Conn, r request) answer {
	w, tx := s.w, r.tx
	if !s.hold(a, c, tx) {
		return answer{r.number, nil, ErrReset}
	}
	a.sleep(a.latency() / 4)
	if r.early && r.ends == commits {
		c.answers <- answer{r.number, nil, nil}
		a.sleep(a.latency() / 4)
	}
	rollback := r.ends == commits && a.mishap(w.traits.rollback)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case tx.over:
		return answer{r.number, nil, ErrReset}
	case r.ends == goesOn:
		r.commit.Server = s.id
		s.open = append(s.open, r.commit)
		tx.Statements = append(tx.Statements, r.commit)
		return answer{r.number, r.update(&Tx{s, r.commit}), nil}
	case r.ends == rollsBack:
		s.undoOpen()
	case rollback:
		a.tellFault("%s rolls back the transaction of %s", s.name, r.commit.life())
		s.undoOpen()
		s.release()
		return answer{r.number, nil, ErrRolledBack}
	default:
		s.open = nil
		for _, statement := range tx.Statements {
			s.commit(a, statement)
		}
	}
	s.release()
	return answer{r.number, nil, nil}
}

// hold waits until a transaction has the lock of the server. It returns false if the
// transaction has ended.
func (s *Server) hold(a actor, c *Conn, tx *Transaction) bool {
	w := s.w
	w.mu.Lock()
	held, over := tx.writes, tx.over
	w.mu.Unlock()
	if held || over {
		return !over
	}
	s.lock <- struct{}{}
	w.mu.Lock()
	defer w.mu.Unlock()
	if tx.over || s.mode != up {
		tx.over = true
		<-s.lock
		return false
	}
	tx.writes, tx.epoch, s.holder = true, s.epoch, tx
	// When a process has died, its machine closes its connections, so the server ends the
	// transaction.
	a.slot++
	a.rand = rand.New(rand.NewPCG(a.rand.Uint64(), 0))
	w.wg.Go(func() {
		select {
		case <-c.life.Done():
			a.sleep(a.latency())
			s.abort(tx)
		case <-tx.done:
		}
	})
	return true
}

// abort undoes a transaction unless it has ended.
func (s *Server) abort(tx *Transaction) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.holder == tx {
		s.undoOpen()
		s.release()
	}
	tx.over = true
}

// release releases the lock, if a transaction on a connection has it. The caller holds the
// world's mu.
func (s *Server) release() {
	tx := s.holder
	if tx == nil {
		return
	}
	s.holder, tx.over = nil, true
	close(tx.done)
	<-s.lock
}
