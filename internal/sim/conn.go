package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Errors that a client of the store gets instead of an answer.
var (
	ErrRefused    = errors.New("sim: connection refused")
	ErrReset      = errors.New("sim: connection reset")
	ErrRolledBack = errors.New("sim: transaction rolled back")
	ErrBusy       = errors.New("sim: another transaction writes")
	ErrKilled     = errors.New("sim: the process has been killed")
)

// Conn is a process's connection to the store, for one request at a time.
type Conn struct {
	// Early and Unpaired are set for a mutant, which is a client with a deliberate mistake.
	// Early lets the server answer before the commit. Unpaired lets the client take any
	// answer for the answer to its last request.
	Early, Unpaired bool

	// Repeats lets a request arrive at the server twice, the second time a while later, if
	// [Duplicate] is among the faults: f of [Update] is then called twice.
	Repeats bool

	p       *Process
	server  *Server
	number  int
	sent    int // the number of requests that were sent
	answers chan answer
	life    context.Context // ends when the life of the process that opened the connection ends
	tx      *Transaction    // the transaction that was begun, or nil
}

// Conn opens a connection. A process may use four of them at a time.
func (p *Process) Conn() *Conn { return p.ConnTo(p.World.Server) }

// ConnTo does what Conn does, for a connection to one of the world's servers.
func (p *Process) ConnTo(s *Server) *Conn {
	p.World.mu.Lock()
	defer p.World.mu.Unlock()
	c := &Conn{p: p, server: s, number: p.conns % 4, answers: make(chan answer, 64), life: p.ctx}
	p.conns++
	return c
}

// Line opens a connection for one request. A process may use 64 of them at a time, and uses
// either these or connections that Conn has opened.
func (p *Process) Line() *Conn {
	p.World.mu.Lock()
	defer p.World.mu.Unlock()
	n := p.lines
	p.lines++
	return &Conn{p: p, server: p.World.Server, number: n / 16 % 4, sent: n, answers: make(chan answer, 4), life: p.ctx}
}

type answer struct {
	request int
	value   any
	err     error
}

// request is a message to the server.
type request struct {
	number int
	update func(*Tx) any
	commit *Commit
	early  bool
	tx     *Transaction // the transaction that the request is part of; nil if the request is a whole transaction
	ends   ending       // whether, and how, the request ends tx
}

// slot returns the slot (the nanoseconds at which an actor may wake) of a request; the next
// slot belongs to its messages.
func (c *Conn) slot(request int) int64 {
	return c.p.slot(slotConn + 128*int64(c.p.Life%3) + 32*int64(c.number) + 2*int64(request%16))
}

// Update makes the server call f in a transaction, and returns the result of f when that is
// committed. It waits for the answer until ctx ends. f is called once at most, unless the
// connection repeats requests, and must not wait. After an error the transaction may have
// been committed all the same.
func Update[T any](ctx context.Context, c *Conn, f func(*Tx) T) (T, error) {
	value, err := c.update(ctx, func(tx *Tx) any { return f(tx) })
	got, ok := value.(T)
	if err == nil && !ok {
		err = ErrReset // the answer belongs to another request
	}
	return got, err
}

func (c *Conn) update(ctx context.Context, f func(*Tx) any) (any, error) {
	return c.send(ctx, request{update: f, tx: c.tx})
}

// send sends a request and waits for its answer.
func (c *Conn) send(ctx context.Context, r request) (any, error) {
	c.sent++
	w := c.p.World
	r.number, r.early = c.sent, c.Early
	r.commit = &Commit{Asked: w.now(), Process: c.p.Number, Life: c.p.Life, Transaction: r.tx}
	a := w.actor(c.slot(c.sent), c.p.stream(16+c.number)|uint64(c.sent)<<32)
	if err := c.pass(ctx, a, r); err != nil {
		return nil, err
	}
	once := *r.commit // a copy, since the server writes into r.commit
	if a.mishap(w.traits.loss / 2) {
		a.tellFault("a request of %s is lost on its way to %s", once.life(), c.server.name)
	} else {
		// The message reaches the server even if the process ends meanwhile.
		server := a
		server.rand = rand.New(rand.NewPCG(a.rand.Uint64(), 0))
		w.wg.Go(func() { c.server.serve(server, c, r) })
	}
	if c.Repeats && a.mishap(w.traits.double) {
		a.tellFault("a request of %s comes to %s once more, later", once.life(), c.server.name)
		again := a
		again.slot++
		again.rand = rand.New(rand.NewPCG(a.rand.Uint64(), 0))
		r := r
		r.commit = &once
		w.wg.Go(func() {
			again.sleep(again.pause(time.Second))
			c.server.serve(again, c, r)
		})
	}
	for {
		got, err := c.receive(ctx)
		if err != nil {
			return nil, err
		}
		if err := c.pass(ctx, a, r); err != nil {
			return nil, err
		}
		if got.request == r.number || c.Unpaired && got.err == nil {
			return got.value, got.err
		}
	}
}

// receive returns the next answer. If there is an answer and the context has ended too, it
// returns the answer: a select alone would choose at random.
func (c *Conn) receive(ctx context.Context) (answer, error) {
	select {
	case got := <-c.answers:
		return got, nil
	default:
	}
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	select {
	case got := <-c.answers:
		return got, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-c.life.Done():
		return answer{}, ErrKilled
	}
}

// serve carries a request to the server, executes it there, and carries the answer back.
func (s *Server) serve(a actor, c *Conn, r request) {
	a.sleep(a.latency())
	got, ok := s.execute(a, c, r)
	if !ok {
		return
	}
	lost := a.mishap(s.w.traits.loss / 2)
	if lost && a.chance(0.5) {
		// In this case the client notices that the connection breaks, and need not wait for
		// its deadline.
		a.tellFault("the connection of %s breaks before the answer of %s", r.commit.life(), s.name)
		got, lost = answer{r.number, nil, ErrReset}, false
	}
	if lost {
		a.tellFault("an answer of %s to %s is lost", s.name, r.commit.life())
	} else {
		c.deliver(a, got)
	}
	if !c.Repeats && a.mishap(s.w.traits.double) {
		a.slot++
		a.tellFault("an answer of %s to %s comes once more", s.name, r.commit.life())
		c.deliver(a, got)
	}
}

func (c *Conn) deliver(a actor, got answer) {
	a.sleep(a.latency())
	select {
	case c.answers <- got:
	default: // the client has ended and reads no answers
	}
}

// execute runs a transaction. It returns false if there is no answer.
func (s *Server) execute(a actor, c *Conn, r request) (answer, bool) {
	s.w.mu.Lock()
	mode, epoch := s.mode, s.epoch
	if mode == up && s.w.now() < c.p.cutUntil {
		mode = c.p.cut
	}
	s.w.mu.Unlock()
	switch mode {
	case refusing:
		return answer{r.number, nil, ErrRefused}, true
	case silent:
		return answer{}, false
	}
	if r.tx != nil {
		return s.part(a, c, r), true
	}
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	a.sleep(a.latency() / 4)
	s.w.mu.Lock()
	if s.epoch != epoch {
		s.w.mu.Unlock()
		return answer{r.number, nil, ErrReset}, true
	}
	s.open = []*Commit{r.commit}
	value := r.update(&Tx{s, r.commit})
	s.w.mu.Unlock()
	if r.early {
		c.answers <- answer{r.number, value, nil}
	}
	a.sleep(a.latency() / 4)
	rollback := a.mishap(s.w.traits.rollback)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	switch {
	case s.epoch != epoch:
		return answer{r.number, nil, ErrReset}, s.mode != silent
	case rollback:
		a.tellFault("%s rolls back the transaction of %s: %s", s.name, r.commit.life(), r.commit)
		s.undoOpen()
		return answer{r.number, nil, ErrRolledBack}, true
	}
	s.open = nil
	s.commit(a, r.commit)
	return answer{r.number, value, nil}, true
}
