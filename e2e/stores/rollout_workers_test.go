package stores_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// crowd says how many mounts have the workers' numbers, which are as many as the mounts.
type crowd struct {
	processes, mounts, bits int
	lease, pause            time.Duration
	members                 int // of etcd
	wave                    int // how many processes are started at once, and end at once
}

// fault is how many processes are stopped, killed or replaced at once.
func (c crowd) fault() int { return max(c.processes/8, 1) }

// crowdNow is 32 numbers in 4 processes of 8 mounts; with make soak 1,024 in 64. Two
// processors do not serve 1,024 mounts that look for a number in PostgreSQL or etcd at once,
// each by a process of the server or a stream of its own: 128 do so at a time there.
func crowdNow(store string) crowd {
	if harness.Soaking() {
		c := crowd{processes: 64, mounts: 16, bits: 10, lease: time.Minute, pause: 8 * time.Second, members: 3, wave: 8}
		if store == "MariaDB" {
			c.wave = c.processes
		}
		return c
	}
	return crowd{processes: 4, mounts: 8, bits: 5, lease: 5 * time.Second, pause: time.Second, members: 1, wave: 4}
}

func (c crowd) numbers() int { return c.processes * c.mounts }

// sequenceBits are the lowest bits of the keys, below the worker's number.
const sequenceBits = 12

func (c crowd) source() string {
	return fmt.Sprintf("kind: snowflake, worker_lease: %ds, time_bits: 41, worker_bits: %d, sequence_bits: %d", c.lease/time.Second, c.bits, sequenceBits)
}

// number returns the worker's number of a key.
func (c crowd) number(key int64) int64 { return key >> sequenceBits & (1<<c.bits - 1) }

// TestWorkerNumbers: processes take all workers' numbers, return them and take them
// again. Some are stopped for longer than their leases and go on, and some are killed. No
// number has two owners at a time, no key comes twice, and a process that finds no number
// gets an error.
func TestWorkerNumbers(t *testing.T) {
	t.Parallel()
	for _, name := range storeNames {
		t.Run(name, func(t *testing.T) {
			if !harness.Soaking() {
				t.Parallel()
			}
			c := crowdNow(name)
			w := &workers{crowd: c, t: t, st: newStates(t, name, c.members), began: time.Now()}
			w.fleet = newFleet(t, w.st, c.source(), c.mounts, c.pause)
			w.run()
		})
	}
}

// workers is one run of [TestWorkerNumbers].
type workers struct {
	crowd
	t     *testing.T
	st    states
	fleet *fleet
	began time.Time
}

func (w *workers) step(what string) {
	w.t.Helper()
	w.t.Logf("%6.1f s: %s", time.Since(w.began).Seconds(), what)
}

func (w *workers) run() {
	t, f, n := w.t, w.fleet, w.fault()
	running := f.startInWaves(w.processes, w.wave)
	w.step("all numbers are taken")
	w.wantAll()
	w.wantNone()

	stopped, rest := running[:n], running[n:]
	signalAll(t, stopped, syscall.SIGSTOP)
	replacing := f.startMany(n)
	f.awaitFirstKeys(replacing)
	w.step(fmt.Sprintf("the numbers of %d stopped processes are taken over", n))
	resumed := time.Now()
	signalAll(t, stopped, syscall.SIGCONT)
	w.awaitNone(n*w.mounts, resumed)
	w.step("the stopped processes go on, and as many mounts find no number")
	w.wantAll()

	f.stop(rest[:n])
	f.awaitKeys(stopped)
	w.step(fmt.Sprintf("they have the numbers that %d processes have returned", n))
	w.wantAll()
	running = slices.Concat(rest[n:], replacing, stopped)

	f.kill(running[:n])
	replacing = f.startMany(n)
	f.awaitFirstKeys(replacing)
	w.step(fmt.Sprintf("the numbers of %d killed processes are taken over", n))
	running = append(running[n:], replacing...)
	w.wantAll()

	// Half of them return their numbers, and as many others take them.
	half := len(running) / 2
	f.stop(running[:half])
	replacing = f.startInWaves(half, w.wave)
	running = append(running[half:], replacing...)
	f.awaitKeys(running)
	w.step(fmt.Sprintf("%d processes have returned their numbers, which others have taken", half))
	w.wantAll()

	for some := range slices.Chunk(running, w.wave) {
		f.stop(some)
	}
	w.wantReturned(running)
	w.step("all numbers are returned")
	w.check()
}

// wantAll fails unless every number is leased, each by another owner.
func (w *workers) wantAll() {
	w.t.Helper()
	// A process that has just been slow may be between two leases.
	end := time.Now().Add(harness.Limit)
	for {
		owners := map[string]int64{}
		for first, owner := range w.st.leased(w.t) {
			if other, twice := owners[owner]; twice {
				w.t.Errorf("%q has the numbers %d and %d", owner, other-1, first-1)
			}
			if first < 1 || first > int64(w.numbers()) {
				w.t.Errorf("the number %d is leased, of %d", first-1, w.numbers())
			}
			owners[owner] = first
		}
		if len(owners) == w.numbers() {
			return
		}
		if time.Now().After(end) {
			w.t.Errorf("%d numbers are leased, want all %d", len(owners), w.numbers())
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// awaitNone waits until so many mounts have found no number since a time. It does not say
// which: one that goes on may have the number of one whose lease has just run out.
func (w *workers) awaitNone(mounts int, since time.Time) {
	w.t.Helper()
	for end := time.Now().Add(harness.Limit); ; time.Sleep(50 * time.Millisecond) {
		type mount struct{ process, number int }
		none := map[mount]bool{}
		for _, p := range w.fleet.all {
			for _, d := range p.draws() {
				if d.failed == noNumber && d.at.After(since) {
					none[mount{p.number, d.mount}] = true
				}
			}
		}
		if len(none) >= mounts {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%d mounts have found no number, and there are %d more than numbers", len(none), mounts)
		}
	}
}

// returnPatience is for how long Close waits for a store that takes a number back.
const returnPatience = 2 * time.Second

// wantReturned fails unless processes that have ended have returned all their numbers. A
// number whose Close has waited for too long may be left, and runs out.
func (w *workers) wantReturned(ended []*process) {
	w.t.Helper()
	late := 0
	for _, p := range ended {
		for _, d := range p.lines() {
			if d.failed == closed && d.waited >= returnPatience {
				late++
			}
		}
	}
	left := len(w.st.leased(w.t))
	if left > late {
		w.t.Errorf("%d numbers are leased although all processes have ended in good order, %d databases late", left, late)
	}
	for end := time.Now().Add(harness.Limit); left > 0; left = len(w.st.leased(w.t)) {
		if time.Now().After(end) {
			w.t.Errorf("%d numbers are leased although nobody renews their leases", left)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// losses returns how often mounts say that they have lost a number, or found none.
func (w *workers) losses() (n uint64) {
	w.t.Helper()
	for _, p := range w.fleet.all {
		lost := map[int]uint64{}
		for _, d := range p.draws() {
			if d.failed == noNumber {
				n++
			}
			lost[d.mount] = max(lost[d.mount], d.lost)
		}
		for _, of := range lost {
			n += of
		}
	}
	return n
}

// wantNone fails unless one more mount gets the error that says that there is no number. On
// a busy machine a lease may run out before its mount renews it. Then the one more rightly
// has that number, the mount says that it has lost it, and the next one is asked.
func (w *workers) wantNone() {
	w.t.Helper()
	cfg, err := policy.Parse([]byte(w.fleet.like.Policy))
	if err != nil {
		w.t.Fatal(err)
	}
	for end := time.Now().Add(harness.Limit); ; {
		before := w.losses()
		db, m := harness.OpenConnector(w.t, harness.ConnectorOf(w.t, w.fleet.like.Driver, w.fleet.like.DSN), cfg)
		key, err := m.Reserve(w.t.Context(), "t", 1)
		if errors.Is(err, keysource.ErrWorkerTaken) {
			w.step(fmt.Sprintf("mount %d gets: %v", w.numbers()+1, err))
			return
		}
		if db.Close(); err != nil {
			w.t.Errorf("one mount more than there are numbers gets %v, want %v", err, keysource.ErrWorkerTaken)
			return
		}
		for w.losses() == before && time.Now().Before(end) {
			time.Sleep(100 * time.Millisecond)
		}
		if time.Now().After(end) {
			w.t.Errorf("one mount more than there are numbers has the key %d; others have lost numbers %d times since it was opened", key, w.losses()-before)
			return
		}
		w.step(fmt.Sprintf("mount %d has a number that another one has lost", w.numbers()+1))
	}
}

// tenure is a mount that has a number, from when it takes it until it loses it.
type tenure struct {
	process, mount int
	lost           uint64
	number         int64
}

// check compares all keys: none comes twice, every number was used, and the keys of a
// number, in the order of the time in them, change from one tenure to the next without a
// way back.
func (w *workers) check() {
	w.t.Helper()
	type drawn struct {
		key int64
		by  tenure
		at  time.Time
	}
	byNumber := map[int64][]drawn{}
	keys, without := 0, 0
	others := map[string]int{}
	for _, p := range w.fleet.all {
		for _, d := range p.draws() {
			switch d.failed {
			case "":
				n := w.number(d.key)
				byNumber[n] = append(byNumber[n], drawn{d.key, tenure{p.number, d.mount, d.lost, n}, d.at})
				keys++
			case noNumber:
				without++
			default:
				others[d.failed]++
			}
		}
	}
	tenures := 0
	for n, all := range byNumber {
		slices.SortFunc(all, func(a, b drawn) int { return cmp.Compare(a.key, b.key) })
		over, twice := map[tenure]bool{}, false
		for i, d := range all {
			if i == 0 {
				continue
			}
			before := all[i-1]
			if d.key == before.key {
				w.t.Errorf("%+v and %+v have drawn one key", before.by, d.by)
			}
			if d.by != before.by {
				over[before.by] = true
			}
			twice = twice || over[d.by]
		}
		if twice {
			w.t.Errorf("the number %d had two owners at a time, by its keys:", n)
			for _, d := range all {
				w.t.Logf("%+v drew at %6.3f s a key of the time %d", d.by, d.at.Sub(w.began).Seconds(), d.key>>(sequenceBits+w.bits))
			}
		}
		tenures += len(over) + 1
	}
	if len(byNumber) != w.numbers() {
		w.t.Errorf("keys have %d numbers, want all %d", len(byNumber), w.numbers())
	}
	if len(others) > 0 {
		w.t.Errorf("draws have failed: %v", others)
	}
	w.t.Logf("%d keys of %d numbers, which had %d owners one after the other, in %d processes; %d draws found no number",
		keys, len(byNumber), tenures, len(w.fleet.all), without)
}
