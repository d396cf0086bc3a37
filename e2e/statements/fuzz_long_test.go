package statements_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// longRun is many programs on the modes of one engine. KEYFILL_FUZZ says how many, or
// for how long, as -fuzztime does: 200000x or 30s. KEYFILL_FUZZ_FROM is the number of
// the first program, a multiple of batchPrograms; a finding says which. As many batches
// run at a time as -parallel says.
type longRun struct {
	t        *testing.T
	modes    []harness.Engine
	newPairs newPairs
	from     uint64
	programs uint64    // 0: until the time is up
	until    time.Time // zero: until the programs have run
	next     atomic.Uint64
	ran      atomic.Int64
	findings atomic.Int64
	started  time.Time
}

// maxFindings is how many programs may fail before a run ends.
const maxFindings = 20

// fuzzAtLength runs programs one after the other in this process.
func fuzzAtLength(f *testing.F, modes []harness.Engine, newPairs newPairs, length string) {
	l := &longRun{modes: modes, newPairs: newPairs}
	if err := l.parse(length, os.Getenv("KEYFILL_FUZZ_FROM")); err != nil {
		f.Fatal(err)
	}
	// On a disk, statements that make or drop tables take most of the time.
	if _, err := os.Stat("/dev/shm"); err == nil && os.Getenv("TMPDIR") == "" {
		f.Setenv("TMPDIR", "/dev/shm")
	}
	f.Add([]byte("all programs"))
	var once sync.Once // also where inputs of before are kept in testdata
	f.Fuzz(func(t *testing.T, _ []byte) {
		once.Do(func() { l.run(t) })
	})
}

func (l *longRun) parse(length, from string) (err error) {
	if count, ok := strings.CutSuffix(length, "x"); ok {
		l.programs, err = strconv.ParseUint(count, 10, 64)
	} else {
		var d time.Duration
		d, err = time.ParseDuration(length)
		l.until = time.Now().Add(d)
	}
	if err == nil && from != "" {
		l.from, err = strconv.ParseUint(from, 10, 64)
		if l.from%batchPrograms != 0 {
			err = fmt.Errorf("%d is no multiple of %d", l.from, batchPrograms)
		}
	}
	if err != nil {
		return fmt.Errorf("KEYFILL_FUZZ, KEYFILL_FUZZ_FROM: %w", err)
	}
	return nil
}

func (l *longRun) run(t *testing.T) {
	l.t, l.started = t, time.Now()
	workers, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	modes := slices.Clone(l.modes)
	for i := range modes {
		switch modes[i].Server {
		case harness.MariaDB:
			modes[i].Server = mariadb
		case harness.PostgreSQL:
			modes[i].Server = postgresql
		}
	}
	all := make([][]pair, workers)
	for i := range all {
		all[i] = l.newPairs(t, modes)
	}
	var done sync.WaitGroup
	for _, pairs := range all {
		done.Go(func() { l.work(pairs) })
	}
	done.Wait()
	l.progress()
	for i, w := range all[0] {
		for _, others := range all[1:] {
			w.seen().add(others[i].seen())
		}
		w.seen().report(t)
	}
}

// work runs batches until there are no more.
func (l *longRun) work(pairs []pair) {
	for {
		first := (l.next.Add(1) - 1) * batchPrograms
		last := first + batchPrograms
		if l.programs > 0 {
			last = min(last, l.programs)
		}
		if first >= last || !l.until.IsZero() && time.Now().After(l.until) || l.findings.Load() >= maxFindings {
			return
		}
		first, last = first+l.from, last+l.from
		w := pairs[first/batchPrograms%uint64(len(pairs))]
		if err := l.batch(w, first, last); err != nil {
			l.t.Errorf("%s, programs %d to %d: %v", w.seen().Name, first, last-1, err)
			return
		}
	}
}

// batch runs programs on handles of their own. The programs after one that failed are run
// on others.
func (l *longRun) batch(w pair, first, last uint64) error {
	defer w.close()
	isOpen := false
	for i := first; i < last && l.findings.Load() < maxFindings; i++ {
		if !isOpen {
			w.close()
			if err := w.open(context.Background()); err != nil {
				return err
			}
		}
		number := fmt.Sprintf("%d (again, with those before it: KEYFILL_FUZZ=%dx KEYFILL_FUZZ_FROM=%d)", i, last-first, first)
		isOpen = w.run(l.t, number, storedSeed(i)[1:])
		if w.seen().failed {
			l.findings.Add(1)
		}
		if l.ran.Add(1)%2000 == 0 {
			l.progress()
		}
	}
	return nil
}

// progress says how far the run has come.
func (l *longRun) progress() {
	took := time.Since(l.started)
	l.t.Logf("%d programs in %v, %.0f a second, %d of them failed", l.ran.Load(), took.Round(time.Second),
		float64(l.ran.Load())/took.Seconds(), l.findings.Load())
}
