package stores_test

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

var errNoLeader = errors.New("no member says that it leads")

// plan says how much a run does.
type plan struct {
	processes int
	keys      int64 // that are drawn at least
	rows      int64 // that are stored at least
	pause     time.Duration
	most      int // keys drawn at once
	whole     bool
}

// The run of "make soak", and the one of "make test": a tenth of it. With shorter pauses, and
// with more than one processor for each of them, 64 processes use up two processors, and
// recover when it is their turn to run.
var (
	wholePlan = plan{processes: 64, keys: 10_000_000, rows: 100_000, pause: 4 * time.Second, most: 3 * block, whole: true}
	tenthPlan = plan{processes: 6, keys: 1_000_000, rows: 10_000, pause: 150 * time.Millisecond, most: 3 * block}
)

// stopped is for how long processes and servers are stopped: longer than each lease.
const stopped = workerLease + 2*time.Second

// run puts the store under each fault in turn. After each one every process has to recover.
func (w *world) run(p plan) {
	w.t.Helper()
	w.start(0)
	w.probe("start", time.Now()) // the first one makes the tables of the states
	for place := 1; place < p.processes; place++ {
		w.start(place)
	}
	w.probe("start of the others", time.Now())
	for i := range w.took {
		w.took[i].free = true
	}
	if p.whole {
		w.stoppedProcesses(nil)
		w.cutOff(true)
	} else {
		w.stoppedProcesses(w.store.proxies[0])
	}
	w.killedServer()
	w.ownClocks(p.whole)
	w.serverClocks(p.whole)
	if p.whole {
		for range 2 {
			w.killedProcesses()
			w.killedServer()
		}
		w.restartedProcesses()
		w.stoppedServer()
		w.cutOff(false)
		w.cutConnections()
		w.stoppedProcesses(nil)
	}
	w.await(p.keys, p.rows)
	w.end(w.places)
}

// stoppedProcesses stops a quarter of the processes for longer than their leases. Others
// are killed meanwhile, and the processes that replace them take over free states.
// The proxies cut off the processes that use them for the same time.
func (w *world) stoppedProcesses(proxies []*proxy) {
	w.t.Helper()
	what := "processes stopped for longer than their leases"
	if proxies != nil {
		what += ", and others cut off"
	}
	for _, p := range proxies {
		p.dark()
	}
	all := w.some(2)
	some, victims := all[:(len(all)+1)/2], all[(len(all)+1)/2:]
	w.signal(some, syscall.SIGSTOP)
	w.rest(stopped / 2)
	for _, m := range victims {
		w.kill(m)
	}
	w.replace(victims)
	w.rest(stopped / 2)
	w.signal(some, syscall.SIGCONT)
	for _, p := range proxies {
		p.cut()
		p.light()
	}
	w.probe(what, time.Now())
}

// killedProcesses kills a quarter of the processes.
func (w *world) killedProcesses() {
	w.t.Helper()
	some := w.some(4)
	for _, m := range some {
		w.kill(m)
	}
	since := time.Now()
	w.replace(some)
	w.probe("processes killed", since)
}

// restartedProcesses lets a quarter of the processes end in good order.
func (w *world) restartedProcesses() {
	w.t.Helper()
	some := w.some(4)
	w.end(some)
	since := time.Now()
	w.replace(some)
	w.probe("processes restarted", since)
}

// killedServer kills a server and starts it again. Where the others go on without it they
// have to be found while it is gone.
func (w *world) killedServer() {
	w.t.Helper()
	since := time.Now()
	w.store.kill(w.t)
	if w.store.heals {
		w.probe(w.store.victim+" killed", since)
		w.store.restart(w.t)
		return
	}
	w.rest(time.Second / 2)
	w.store.restart(w.t)
	w.probe(w.store.victim+" killed", time.Now())
}

// stoppedServer stops a server for longer than the leases.
func (w *world) stoppedServer() {
	w.t.Helper()
	since := time.Now()
	w.store.pause(w.t)
	if w.store.heals {
		w.probe(w.store.victim+" stopped", since)
		w.store.resume(w.t)
		return
	}
	w.rest(stopped)
	w.store.resume(w.t)
	w.probe(w.store.victim+" stopped for longer than the leases", time.Now())
}

// cutOff cuts the first group of processes off for longer than the leases, while the second
// one goes on. Their connections are reset, or go on.
func (w *world) cutOff(reset bool) {
	w.t.Helper()
	proxies := w.store.proxies[0]
	for _, p := range proxies {
		p.dark()
	}
	w.rest(stopped)
	what := "half of the processes cut off, connections go on"
	for _, p := range proxies {
		if reset {
			what = "half of the processes cut off, connections reset"
			p.cut()
		}
		p.light()
	}
	w.probe(what, time.Now())
}

// cutConnections resets all connections again and again.
func (w *world) cutConnections() {
	w.t.Helper()
	for range 20 {
		for _, group := range w.store.proxies {
			for _, p := range group {
				p.cut()
			}
		}
		w.rest(100 * time.Millisecond)
	}
	w.probe("connections reset", time.Now())
}

// ownClocks moves the clocks of processes, and sets them right again. A process whose clock
// was hours ahead makes no snowflake for hours after that, since its keys ascend. So those
// whose clocks were moved far are killed, and the processes in their places have to leave
// the numbers of their workers alone.
func (w *world) ownClocks(whole bool) {
	w.t.Helper()
	steps := []time.Duration{3 * time.Hour, -5 * time.Second}
	if whole {
		steps = []time.Duration{5 * time.Second, -5 * time.Second, 2 * time.Minute, -2 * time.Minute, 3 * time.Hour, -3 * time.Hour}
	}
	for _, by := range steps {
		some := w.some(2)
		if by.Abs() > time.Minute {
			some = some[:min(len(some), 3)]
		}
		w.tell(some, "ahead "+by.String())
		w.rest(time.Second)
		w.tell(some, "ahead 0s")
		what, since := fmt.Sprintf("clocks of processes moved by %v and back", by), time.Now()
		if by.Abs() > time.Minute {
			what += ", and these processes killed"
			for _, m := range some {
				w.kill(m)
			}
			w.replace(some)
		}
		w.probe(what, since)
	}
}

// serverClocks moves the clocks of the servers while leases last.
func (w *world) serverClocks(whole bool) {
	w.t.Helper()
	if w.store.moveClock == nil {
		return
	}
	steps := []time.Duration{stopped, -stopped}
	if whole {
		steps = []time.Duration{stopped, -stopped, 3 * time.Hour, 0, -3 * time.Hour, 0}
	}
	for _, by := range steps {
		w.store.moveClock(w.t, by)
		w.rest(2 * time.Second) // the servers look once a second
		w.probe(fmt.Sprintf("clock of the server at %+v", by), time.Now())
	}
}
