package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Process is a simulated process with its machine's clock. When it is killed and started
// again, the clock goes on.
type Process struct {
	World *World
	// Number is the process's number, from 0. Life counts its starts, from 1.
	Number, Life int

	clock Clock
	boss  actor

	// These fields are guarded by the mutex mu of the world.
	ctx      context.Context // ends when this life of the process ends
	kill     context.CancelFunc
	dead     bool
	steps    int
	killAt   int           // the number of the step at which the process is killed; 0 if it is not killed
	restAt   time.Duration // when a pause of the process ends
	conns    int
	lines    int
	cut      mode          // what the store does with requests of the process until cutUntil
	cutUntil time.Duration // until when cut applies
	source   Source
	started  time.Duration
}

func newProcess(w *World, number int) *Process {
	p := &Process{World: w, Number: number}
	p.boss = w.actor(p.slot(0), 0)
	p.clock.w = w
	if w.Has(ClockOff) {
		p.clock.off = stepsOfClocks[p.boss.rand.IntN(len(stepsOfClocks))]
		p.clock.drift = (p.boss.rand.Float64() - 0.5) / 100
	}
	return p
}

// life identifies this life of the process, from a start to its end.
func (p *Process) life() life { return life{p.Number, p.Life} }

// clockAt describes, for the story (the printed account of a run), how a process starts and
// what is wrong with its clock.
type clockAt struct{ *Process }

func (p clockAt) String() string {
	p.clock.mu.Lock()
	defer p.clock.mu.Unlock()
	switch {
	case p.Life > 1:
		return " after the kill"
	case p.clock.off == 0:
		return ""
	}
	return fmt.Sprintf("; its clock is %s and gains %s an hour", way(p.clock.off),
		time.Duration(p.clock.drift*float64(time.Hour)).Round(time.Second))
}

func (p *Process) slot(n int64) int64 { return slotProcess + slotsEach*int64(p.Number) + n }

// stream returns the number of a stream of random numbers for this life.
func (p *Process) stream(n int) uint64 { return uint64(p.Life)<<16 | uint64(n) }

// Now returns what the process's clock shows.
func (p *Process) Now() time.Time { return p.clock.Now() }

// Rand returns random numbers that depend only on the seed, the process and the life, for
// Trial.Open.
func (p *Process) Rand() func(n int) int {
	return p.World.actor(p.slot(0), p.stream(1)).rand.IntN
}

// live starts the process, and starts it again each time that it was killed.
func (p *Process) live() {
	for {
		p.begin()
		source, err := p.World.trial.Open(p)
		if err != nil {
			p.World.Failf("open: process %d: %v", p.Number, err)
			return
		}
		p.World.mu.Lock()
		p.source = source
		p.World.mu.Unlock()
		var threads sync.WaitGroup
		for i := range p.World.traits.threads {
			threads.Go(func() { p.thread(i, source) })
		}
		threads.Wait()
		// Close is called even after a kill, but a killed process closes nothing: here
		// Close only ends the source's goroutines.
		if err := source.Close(context.Background()); err != nil {
			p.World.Failf("close: process %d: %v", p.Number, err)
		}
		if !p.isDead() {
			p.kill()
			return
		}
		p.boss.sleep(p.boss.pause(500 * time.Millisecond))
	}
}

func (p *Process) begin() {
	p.World.mu.Lock()
	p.Life++
	if p.dead {
		p.dead, p.killAt = false, 0
	}
	p.conns, p.lines = 0, 0
	p.started = p.World.now()
	p.ctx, p.kill = context.WithCancel(context.Background())
	p.World.mu.Unlock()
	p.boss.tell("%s starts%s", p.life(), clockAt{p})
}

func (p *Process) isDead() bool {
	p.World.mu.Lock()
	defer p.World.mu.Unlock()
	return p.dead
}

// step is called between any two actions of a process. It waits while the process is
// paused. It returns false if the process has been killed.
func (p *Process) step(a actor) bool {
	w := p.World
	for {
		w.mu.Lock()
		if p.dead {
			w.mu.Unlock()
			return false
		}
		if rest := p.restAt; rest > w.now() {
			w.mu.Unlock()
			a.sleepUntil(rest)
			continue
		}
		p.steps++
		if p.steps != p.killAt {
			w.mu.Unlock()
			return true
		}
		p.dead = true
		step := p.steps
		w.mu.Unlock()
		a.tellFault("%s is killed at its step %d", p.life(), step)
		p.kill()
		return false
	}
}

// thread executes statements until the process is killed, or the faults have ended and it
// has got keys again.
func (p *Process) thread(number int, source Source) {
	w := p.World
	a := w.actor(p.slot(slotThread+int64(number)), p.stream(2))
	t := &thread{p: p, a: a, number: number, source: source}
	if j, ok := source.(Joiner); ok {
		t.joiner, t.session = j, &Session{p: p, a: a}
	}
	for {
		a.sleep(min(a.pause(w.traits.think), w.calm-w.now()))
		if w.now() >= w.calm {
			break
		}
		if !t.execute(w.traits.impatient) {
			return
		}
	}
	a.sleepUntil(w.calm + time.Millisecond) // all faults have ended by this time
	if !p.step(a) {
		return
	}
	t.recover()
	for range 3 {
		if !t.execute(0) {
			return
		}
	}
}

// thread is one thread of one life of a process.
type thread struct {
	p      *Process
	a      actor
	number int
	source Source
	well   bool // whether the thread has got keys after the end of the faults

	joiner  Joiner   // the source as a Joiner; nil if it is not one
	session *Session // the thread's session; nil if joiner is nil
}

// String returns the name of a thread in the story (the printed account of a run).
func (t *thread) String() string { return fmt.Sprintf("%s, thread %d,", t.p.life(), t.number) }

// gets writes into the story (the printed account of a run) which keys the thread got.
func (t *thread) gets(keys []int64) {
	t.a.w.note(event{slot: t.a.slot, keys: keys}, "%s gets %s", t, list(keys))
}

// draw draws n keys.
func (t *thread) draw(ctx context.Context, n int) ([]int64, error) {
	if t.joiner != nil {
		return t.joiner.NextOn(ctx, n, t.session)
	}
	return t.source.Next(ctx, n)
}

// statement draws keys and inserts rows with them. It returns false if the process has been
// killed.
func (t *thread) statement(impatient float64) bool {
	w := t.p.World
	n := 1
	if t.a.rand.IntN(2) == 0 {
		n += t.a.rand.IntN(w.traits.rows)
	}
	patience := time.Minute // long enough for every source, but short enough to detect a source that hangs
	if t.a.chance(impatient) {
		patience = t.a.pause(200 * time.Millisecond)
	}
	end := instant(w.now()+patience, t.p.slot(slotDeadline+int64(t.number)))
	ctx, cancel := context.WithDeadline(t.p.ctx, w.start.Add(end))
	defer cancel()
	keys, ok := t.next(ctx, n)
	if !ok || len(keys) == 0 {
		return ok
	}
	if t.a.rand.IntN(10) == 0 {
		return t.p.step(t.a) // rolled back
	}
	if !t.insert(keys) {
		return false
	}
	if t.a.chance(w.traits.brought) {
		return t.bring()
	}
	return true
}

// next draws n keys and notes them. It returns false if the process has been killed. If it
// returns no keys and true, the source has returned an error, which next has compared with
// the laws.
func (t *thread) next(ctx context.Context, n int) ([]int64, bool) {
	w, p := t.p.World, t.p
	if !p.step(t.a) {
		return nil, false
	}
	begin := w.now()
	keys, err := t.draw(ctx, n)
	end := w.now()
	// The source may have returned at any instant, so wait until an instant at which only
	// this thread runs.
	t.a.sleep(0)
	if !p.step(t.a) {
		return nil, false
	}
	if err != nil {
		t.a.tell("%s asks for %s and gets none: %v", t, counted(n, "key"), err)
		switch {
		case t.well && w.trial.Steady && !w.spent(err):
			w.Failf("progress: process %d had keys after the faults, and then: %v", p.Number, err)
		case !w.allows(err):
			w.Failf("errors: process %d: %v", p.Number, err)
		}
		return nil, true
	}
	t.gets(keys)
	if len(keys) != n {
		w.Failf("count: %d keys where %d were asked for", len(keys), n)
	}
	w.mu.Lock()
	w.Issues = append(w.Issues, Issue{p.Number, p.Life, t.number, begin, end, keys, t.session.transaction()})
	w.mu.Unlock()
	return keys, true
}

// allows reports whether the trial allows that a request fails with err.
func (w *World) allows(err error) bool {
	if w.trial.Allow != nil {
		return w.trial.Allow(w, err)
	}
	return len(w.Faults) > 0 || errors.Is(err, context.DeadlineExceeded)
}

// spent reports whether a source has handed out all of its keys.
func (w *World) spent(err error) bool { return w.trial.Spent != nil && w.trial.Spent(w, err) }

// insert inserts rows with keys. If a key exists already, it notifies the source.
func (t *thread) insert(keys []int64) bool {
	t.a.sleep(t.a.latency())
	if !t.p.step(t.a) {
		return false
	}
	if t.session != nil {
		fits, err := t.session.insert(t.p.ctx, keys)
		if err == ErrKilled {
			return false
		}
		if err != nil || fits {
			return true
		}
	} else if t.p.World.Server.insert(keys) {
		return true
	}
	t.a.tell("%s finds a key in use", t)
	t.p.drop(t.a)
	return true
}

// bring notifies the source of a key of the application's own, a little above the greatest
// key, and then inserts a row with that key.
func (t *thread) bring() bool {
	f, ok := t.source.(Follower)
	if !ok && t.joiner == nil {
		return true
	}
	w, p := t.p.World, t.p
	key := w.Server.MaxKey() + t.a.rand.Int64N(20)
	begin := w.now()
	end := instant(begin+time.Second, p.slot(slotDeadline+int64(t.number)))
	ctx, cancel := context.WithDeadline(p.ctx, w.start.Add(end))
	defer cancel()
	var err error
	if t.joiner != nil {
		err = t.joiner.AdvanceOn(ctx, key+1, t.session)
	} else {
		err = f.Advance(ctx, key+1)
	}
	t.a.sleep(0)
	if !p.step(t.a) {
		return false
	}
	if err == nil {
		t.a.tell("%s inserts a row with a key of its own, %d", t, key)
	} else {
		t.a.tell("%s cannot insert a row with a key of its own, %d: %v", t, key, err)
	}
	w.mu.Lock()
	w.Follows = append(w.Follows, Follow{p.Number, p.Life, begin, w.now(), key + 1, err, t.session.transaction()})
	w.mu.Unlock()
	return err != nil || t.insert([]int64{key})
}

// recover draws until it gets a key, which must happen within Trial.Recovery.
func (t *thread) recover() {
	w := t.p.World
	within := 2 * time.Second
	if w.trial.Recovery != nil {
		within = w.trial.Recovery(w)
	}
	// calm and started may both be before the end of the process's last pause.
	end := max(w.calm, t.p.started) + within
	for {
		t.a.sleep(20 * time.Millisecond)
		end := instant(end, t.p.slot(slotDeadline+int64(t.number)))
		ctx, cancel := context.WithDeadline(t.p.ctx, w.start.Add(end))
		begin := w.now()
		keys, err := t.draw(ctx, 1)
		cancel()
		at := w.now()
		t.a.sleep(0)
		switch {
		case err == nil:
			t.well = true
			t.gets(keys)
			w.mu.Lock()
			w.Issues = append(w.Issues, Issue{t.p.Number, t.p.Life, t.number, begin, at, keys, nil})
			w.mu.Unlock()
			return
		case w.spent(err):
			return
		case at >= end:
			w.Failf("progress: process %d has no keys %s after the faults: %v", t.p.Number, within, err)
			return
		}
	}
}

// drop notifies the source that one of its keys was found in use.
func (p *Process) drop(a actor) {
	p.World.mu.Lock()
	source, dead, life := p.source, p.dead, p.Life
	p.World.mu.Unlock()
	s, ok := source.(Suspect)
	if !ok || dead {
		return
	}
	s.Drop()
	p.noteDrop(life)
	a.tellFault("process %d.%d hears that a key of it is in use, and drops what it has", p.Number, life)
}

// NoteDrop notes that the keys which the source had reserved must not be used from now on.
func (p *Process) NoteDrop() {
	p.World.mu.Lock()
	life := p.Life
	p.World.mu.Unlock()
	p.noteDrop(life)
}

func (p *Process) noteDrop(life int) {
	p.World.mu.Lock()
	defer p.World.mu.Unlock()
	p.World.Drops = append(p.World.Drops, Drop{p.Number, life, p.World.now()})
}
