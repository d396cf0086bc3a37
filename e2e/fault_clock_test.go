package e2e_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

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
	// Of those that keep nothing in the database one engine tells enough; and
	// on SQLite no snowflake has a store.
	flake, markless := faultSnowflake, faultSnowflake
	markless.Store, markless.EnsureSchema = policy.StoreNone, false
	for _, c := range []struct {
		name    string
		source  policy.Source
		engines []engine
	}{
		{"uuidv7", policy.Source{Kind: policy.KindUUIDv7}, []engine{sqliteFile}},
		{"ulid", policy.Source{Kind: policy.KindULID}, []engine{sqliteFile}},
		{"sequence", faultSequence, faultEngines},
		{"snowflake", flake, faultEngines},
		{"snowflake without a store", markless, []engine{mysqlDefault}},
	} {
		for _, back := range []time.Duration{time.Second, time.Minute, 24 * time.Hour} {
			t.Run(fmt.Sprintf("%s/%v", c.name, back), func(t *testing.T) {
				t.Parallel()
				each(t, c.engines, func(t *testing.T, s *scratch) {
					clockBack(t, s, c.source, back)
				})
			})
		}
	}
}

// clockBack inserts before and after the clock is set back, in one process and
// across a restart of it.
func clockBack(t *testing.T, s *scratch, source policy.Source, back time.Duration) {
	column := "VARCHAR(36)"
	if source.Stateful() {
		column = "BIGINT"
	}
	exec(t, s.raw, "CREATE TABLE t (id "+column+", stmt BIGINT NOT NULL, pos INT NOT NULL)")
	exec(t, s.raw, "CREATE INDEX t_id ON t (id)")
	flake := source.Kind == policy.KindSnowflake
	if flake {
		source.Worker = new(workerOf(t))
	}
	clock := new(stepped)
	cfg := fillID("t", policy.Table{InPlace: &source})
	cfg.Now = clock.now
	in := newInserter(s.engine, nil, 20)
	for _, restart := range []bool{false, true} {
		in.db, _ = openConnector(t, s.connector, cfg)
		in.many(t, 30)
		clock.step(-back)
		if restart {
			if err := in.db.Close(); err != nil {
				t.Fatal(err)
			}
			in.db, _ = openConnector(t, s.connector, cfg)
		}
		// A second is waited out; of more, keys that tell the time do without.
		if flake && back > 10*time.Second {
			if err := in.insert(jobPatience); !errors.Is(err, keysource.ErrClock) {
				t.Errorf("restart %v: %v, want ErrClock", restart, err)
			}
		} else {
			in.many(t, 30)
		}
		clock.step(back)
		in.many(t, 30)
		if err := in.db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.wantDistinct(t, in.stored)
}
