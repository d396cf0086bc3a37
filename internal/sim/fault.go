package sim

import (
	"time"
)

// Fault is a kind of failure in the simulated world.
type Fault uint8

// The faults.
//
//row:faults | loss, duplicate | Requests and answers are lost or come twice, or the connection breaks before the answer.
//row:faults | rollback | The store rolls a transaction back.
//row:faults | refuse, silence | The store refuses all requests for a while, or does not answer.
//row:faults | failover, restore | Another server takes over that does not have the last commits, or an earlier copy takes the place of the store.
//row:faults | kill, pause | A process is killed between any two of its steps and started again, or stands still for a while.
//row:faults | clock off, clock step | The clock of a process is off, drifts, or is set by up to a day in either direction.
//row:faults | collide | The application finds a key in use.
//row:faults | partition | One process cannot reach the store.
//row:faults | meddle | An operator deletes rows of the store.
const (
	// The first four faults happen at random, all the time.

	Loss      Fault = iota // messages are lost, or the connection breaks
	Duplicate              // an answer arrives twice
	Rollback               // transactions are rolled back
	ClockOff               // clocks are wrong from the start, and drift

	// The following faults happen at random moments and last for a while.

	Refuse    // the store refuses requests for a while
	Silence   // the store does not answer for a while
	Failover  // a replica without the last commits takes over
	Restore   // the store is set back to an earlier state
	Kill      // a process is killed
	Pause     // a process stands still for a while
	ClockStep // a clock is set forwards or back
	Collide   // a source is notified that its key is in use
	Partition // a process cannot reach the store for a while
	Meddle    // a forbidden action happens, which Trial.Meddle carries out

	firstStrike = Refuse
)

// AllFaults returns the faults that every store has: all except Partition and Meddle. A
// seed chooses among them in this order, which must never change.
func AllFaults() []Fault {
	return []Fault{Loss, Duplicate, Rollback, Refuse, Silence, Failover, Restore, Kill, Pause, ClockOff, ClockStep, Collide}
}

var faultNames = [...]string{"loss", "duplicate", "rollback", "clock off", "refuse", "silence", "failover", "restore",
	"kill", "pause", "clock step", "collide", "partition", "meddle"}

func (f Fault) String() string { return faultNames[f] }

// stepsOfClocks are the times by which a clock is set.
var stepsOfClocks = []time.Duration{time.Second, time.Minute, 24 * time.Hour,
	-time.Second, -time.Minute, -24 * time.Hour}

// chaos makes faults happen until the world is calm.
func (w *World) chaos() {
	a := w.actor(slotChaos, 1)
	var strikes []Fault
	for _, f := range w.Faults {
		if f >= firstStrike {
			strikes = append(strikes, f)
		}
	}
	for w.now() < w.calm && len(strikes) > 0 {
		a.sleep(min(a.pause(500*time.Millisecond), w.calm-w.now()))
		if w.now() < w.calm {
			w.strike(a, strikes[a.rand.IntN(len(strikes))])
		}
	}
	a.sleepUntil(w.calm)
	w.over.Store(true)
	w.mu.Lock()
	for _, p := range w.procs {
		p.killAt, p.restAt, p.cutUntil = 0, 0, 0
	}
	w.mu.Unlock()
	if w.trial.Repair != nil {
		w.trial.Repair(w)
	}
	a.tell("the faults end")
}

// strike makes one fault happen, and returns when it is over.
func (w *World) strike(a actor, f Fault) {
	p := w.procs[a.rand.IntN(len(w.procs))]
	d := min(a.pause(time.Second), w.calm-w.now())
	server := w.Server
	if w.Central != nil && a.rand.IntN(2) == 0 {
		server = w.Central
	}
	switch f {
	case Refuse, Silence:
		m := refusing
		if f == Silence {
			m = silent
		}
		a.tellFault("%s %s for %s", server.name, m, d.Round(time.Millisecond))
		server.setMode(m)
		a.sleep(d)
		server.setMode(up)
		a.tell("%s answers again", server.name)
	case Failover, Restore:
		n := server.lose(1+a.rand.IntN(10), f == Failover)
		how := "an earlier copy of %s takes its place, without its last %s"
		if f == Failover {
			how = "another server takes over %s, without its last %s"
		}
		a.tellFault(how, server.name, counted(n, "change"))
	case Kill:
		w.mu.Lock()
		p.killAt = p.steps + 1 + a.rand.IntN(20)
		w.mu.Unlock()
	case Pause:
		a.tellFault("process %d stands still for %s", p.Number, d.Round(time.Millisecond))
		w.mu.Lock()
		p.restAt = w.now() + d
		w.mu.Unlock()
	case ClockStep:
		d := stepsOfClocks[a.rand.IntN(len(stepsOfClocks))]
		a.tellFault("the clock of process %d is set %s", p.Number, way(d))
		p.clock.step(d)
	case Collide:
		p.drop(a)
	case Partition:
		m := []mode{refusing, silent}[a.rand.IntN(2)]
		a.tellFault("process %d is cut off: for it the store %s for %s", p.Number, m, d.Round(time.Millisecond))
		w.mu.Lock()
		p.cut, p.cutUntil = m, w.now()+d
		w.mu.Unlock()
	case Meddle:
		a.tellFault("somebody meddles: %s", w.trial.Meddle(w))
	}
}
