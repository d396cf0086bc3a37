package faults_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// freeWorkers are the snowflake workers' numbers that no test has. Without a
// store no two databases that are open in a process may have the same.
var freeWorkers = func() chan int {
	numbers := make(chan int, 24)
	for n := 1000; n < 1024; n++ {
		numbers <- n
	}
	return numbers
}()

// workerOf returns a number of a worker that is the test's until it ends.
func workerOf(t *testing.T) int {
	n := <-freeWorkers
	t.Cleanup(func() { freeWorkers <- n })
	return n
}

// stepped is a clock that is set while it goes.
type stepped struct{ ahead atomic.Int64 }

func (c *stepped) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *stepped) step(d time.Duration) { c.ahead.Add(int64(d)) }

// TestFaultClock: the clock of a process is set back, and the process is
// started again after that. Keys stay different; where that takes a worker
// longer than it waits, the error says what to do, and once the clock is right
// again keys are made.
func TestFaultClock(t *testing.T) {
	t.Parallel()
	// Of kinds that keep nothing in the database one engine is enough; and on SQLite no
	// snowflake has a store.
	text := form{Listed: true, Column: "VARCHAR(36)"}
	markless, storeless := faultSnowflake, policy.Source{Kind: policy.KindComposite, Store: policy.StoreNone}
	markless.Store, markless.EnsureSchema = policy.StoreNone, false
	clockKind(t, harness.SQLiteFile, faultKind{name: "uuidv7", source: policy.Source{Kind: policy.KindUUIDv7}, form: text})
	clockKind(t, harness.SQLiteFile, faultKind{name: "ulid", source: policy.Source{Kind: policy.KindULID}, form: text})
	clockKind(t, harness.MySQLDefault, faultKind{name: "snowflake without a store", source: markless, workers: true})
	for _, e := range harness.ByTurns(t, faultEngines[:2]) {
		clockKind(t, e, faultKind{name: "composite without a store", source: storeless, form: form{Listed: true, Column: "CHAR(20)"}, workers: true})
	}
	for turn, e := range faultEngines {
		for i, k := range faultKinds(e) {
			if harness.Soaking() {
				clockKind(t, e, k)
				continue
			}
			if !testturn.Of(t, turn+i, 3) {
				continue
			}
			// Each kind meets each step, on another engine.
			step := (turn + i) % len(clockSteps)
			clockKind(t, e, k, clockSteps[step:step+1]...)
		}
	}
}

// clockSteps are how far a clock is set back.
var clockSteps = []time.Duration{time.Second, time.Minute, 24 * time.Hour}

// clockKind runs the test for a kind with some steps, all of them where none is given.
func clockKind(t *testing.T, e harness.Engine, k faultKind, steps ...time.Duration) {
	if len(steps) == 0 {
		steps = clockSteps
	}
	for _, back := range steps {
		t.Run(fmt.Sprintf("%s/%v/%s", k.name, back, e.Name), func(t *testing.T) {
			t.Parallel()
			clockBack(t, e.Scratch(t), k, back)
		})
	}
}

// clockBack inserts before and after the clock is set back, in one process and
// across a restart of it.
func clockBack(t *testing.T, s *harness.Scratch, k faultKind, back time.Duration) {
	for _, query := range slices.Concat(k.before, k.form.table("t")) {
		harness.Exec(t, s.Raw, query)
	}
	if k.numbered() {
		k.source.Worker = workerFor(t, k)
	}
	clock := new(stepped)
	cfg := k.config(s.Engine, "t")
	options := keyfill.Options{Policy: cfg, Now: clock.now}
	in := newInserter(s.Engine, nil, 5)
	in.form = k.form
	const statements = 12
	for _, restart := range []bool{false, true} {
		in.db, _ = harness.OpenConnector(t, s.Connector, options)
		in.many(t, statements)
		clock.step(-back)
		if restart {
			if err := in.db.Close(); err != nil {
				t.Fatal(err)
			}
			in.db, _ = harness.OpenConnector(t, s.Connector, options)
		}
		// A second is waited out; if the clock goes back further, keys that hold the time
		// do without, unless a new process leases another number.
		if k.workers && back > 10*time.Second && !(restart && !k.numbered()) {
			if err := in.insert(jobPatience); !errors.Is(err, keysource.ErrClock) {
				t.Errorf("restart %v: %v, want ErrClock", restart, err)
			}
		} else {
			in.many(t, statements)
		}
		clock.step(back)
		in.many(t, statements)
		if err := in.db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantDistinct(t, s, in.form, in.stored)
}

// workerFor returns a worker's number for a source of the test's process.
func workerFor(t *testing.T, k faultKind) *int {
	if k.source.Kind == policy.KindComposite {
		return harness.NewWorker() // of three digits
	}
	return new(workerOf(t))
}
