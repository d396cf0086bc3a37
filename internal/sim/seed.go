package sim

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/testturn"
)

// Variables of the environment that select the seeds to run: how many, from 1 on, or a
// single one, whose story is then printed. 100,000 seeds take longer than the default
// timeout of "go test", ten minutes:
//
//	KEYFILL_TEST_SEEDS=100000 go test ./keysource -run 'Simulation$' -v -timeout 3h
//
// "make sim" runs all trials for an hour.
const (
	EnvSeeds = "KEYFILL_TEST_SEEDS"
	EnvSeed  = "KEYFILL_TEST_SEED"
)

// defaultSeeds is how many seeds a trial runs, which takes about half a second. A trial
// runs a third of them with -short, if tests go by turns (see package testturn), and under
// the race detector, which is ten times as slow. "make everything" also runs all of them,
// without the race detector.
const defaultSeeds = 150

// Run runs the trial from the seeds that the environment selects, or else from
// defaultSeeds, and fails with the first seed that breaks a law (a rule that every run must
// obey).
func (t *Trial) Run(tb *testing.T) {
	tb.Helper()
	if seed, ok := number(tb, EnvSeed); ok {
		report(tb, t.replay(tb, seed))
		return
	}
	if os.Getenv(EnvTime) != "" {
		t.explore(tb)
		return
	}
	seeds, ok := number(tb, EnvSeeds)
	if !ok {
		seeds = defaultSeeds
		if t.Seeds > 0 {
			seeds = t.Seeds
		}
		if isBrief(tb) {
			seeds /= 3
		}
	}
	begin := time.Now()
	if w := t.Search(tb, seeds); w != nil {
		report(tb, w)
		return
	}
	took := time.Since(begin)
	tb.Logf("%d seeds in %s, %.0f a second", seeds, took.Round(time.Millisecond), float64(seeds)/took.Seconds())
}

// isBrief reports whether tests are shorter: with -short, under the race detector, and if
// tests go by turns (see package testturn).
func isBrief(tb testing.TB) bool {
	return testing.Short() || raceEnabled || testturn.Enabled(tb)
}

// NeedsAll skips the calling test under -short, because the test needs all of its worlds
// (simulated runs, each from one seed). KEYFILL_TEST_REQUIRE=1 runs it all the same.
func NeedsAll(tb testing.TB) {
	tb.Helper()
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		tb.Skip("everything is met in a hundred worlds and more")
	}
}

// Find runs the trial of a mutant (a source with a deliberate mistake) from the seeds 1 to
// most, until a world breaks the law (the rule) of that name. The test fails if no world
// does.
func (t *Trial) Find(tb *testing.T, law string, most uint64) {
	tb.Helper()
	if seed, ok := number(tb, EnvSeed); ok {
		t.replay(tb, seed)
		return
	}
	begin := time.Now()
	w := t.SearchFor(tb, law, most)
	took := time.Since(begin)
	r := Report{Test: tb.Name(), Law: law, From: 1, To: most + 1, Seconds: took.Seconds()}
	if w != nil {
		r.Seed, r.Broken = w.Seed, w.Broken()
	}
	r.print()
	if w == nil {
		tb.Fatalf("no seed from 1 to %d breaks the law %q", most, law)
	}
	tb.Logf("found by seed %d in %s: %s", w.Seed, took.Round(time.Millisecond), w.Broken())
}

// number returns the number in a variable of the environment; ok is false if it is not set.
func number(tb *testing.T, variable string) (n uint64, ok bool) {
	tb.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("%s: %v", variable, err)
	}
	return n, true
}

// replay runs one seed and logs its story.
func (t *Trial) replay(tb *testing.T, seed uint64) *World {
	tb.Helper()
	w := t.One(tb, seed)
	story := w.Story(Name(tb.Name()))
	Report{Test: tb.Name(), From: seed, To: seed + 1, Seed: seed, Story: story, Broken: w.Broken()}.print()
	tb.Log("\n" + story)
	return w
}

func report(tb *testing.T, w *World) {
	tb.Helper()
	for _, broken := range w.Broken() {
		tb.Errorf("seed %d: %s", w.Seed, broken)
	}
	if w.breaks("goroutines") {
		tb.Logf("They wait here:\n\n%s", blocked())
	}
	if tb.Failed() {
		tb.Logf("replay it: make sim SEED=%d TRIAL='%s', or %s", w.Seed, Name(tb.Name()), Replay(w.Seed, tb.Name()))
	}
}

// blocked returns the stacks of the goroutines that are left of worlds (simulated runs, each
// from one seed) that have ended. No world may be running.
func blocked() string {
	buf := make([]byte, 1<<20)
	stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	return strings.Join(slices.DeleteFunc(stacks, func(stack string) bool {
		first, _, _ := strings.Cut(stack, "\n")
		return !strings.Contains(first, "synctest bubble")
	}), "\n\n")
}

// Replay returns the command that runs one seed of a test again, anywhere in
// this module.
func Replay(seed uint64, test string) string {
	pkg := "."
	if info, ok := debug.ReadBuildInfo(); ok {
		pkg = strings.TrimSuffix(info.Path, ".test")
	}
	return fmt.Sprintf("%s=%d go test %s -run '^%s$' -v", EnvSeed, seed, pkg, test)
}

// One runs one seed, with a trace.
func (t *Trial) One(tb *testing.T, seed uint64) *World { return t.run(tb, seed, 0, true) }

// EveryStep runs one seed again and again, and kills the first process at its first step,
// in the next run at its second step, and so on until the faults end. If tests are brief,
// it kills only at each eighth step, and with -short only at each 32nd. EveryStep returns
// the last step, and the world of the first run that breaks a law, or nil.
func (t *Trial) EveryStep(tb *testing.T, seed uint64) (last int, broken *World) {
	stride := 1
	if isBrief(tb) {
		stride = 8
	}
	if testing.Short() {
		stride = 32
	}
	for step := 1; ; step += stride {
		w := t.run(tb, seed, step, false)
		if len(w.broken) > 0 {
			return step, w
		}
		if w.procs[0].Life == 1 {
			return step, nil
		}
	}
}

// Search runs the seeds from 1 to most until one breaks a law (a rule that every run must
// obey), and returns the world of the least such seed, or nil.
func (t *Trial) Search(tb *testing.T, most uint64) *World { return t.SearchFor(tb, "", most) }

// SearchFor does what Search does, but considers only the law of that name.
func (t *Trial) SearchFor(tb *testing.T, law string, most uint64) *World {
	var (
		next  atomic.Uint64
		mu    sync.Mutex
		found *World
		wg    sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1)
				mu.Lock()
				done := found != nil && found.Seed < seed
				mu.Unlock()
				if done || seed > most {
					return
				}
				w := t.run(tb, seed, 0, false)
				if !w.breaks(law) {
					continue
				}
				mu.Lock()
				if found == nil || seed < found.Seed {
					found = w
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return found
}

// run runs one seed in a bubble of its own, and kills the first process at a
// step if that is not 0.
func (t *Trial) run(tb *testing.T, seed uint64, killAt int, trace bool) (w *World) {
	defer func() {
		e := recover()
		switch {
		case e == nil:
		case w != nil && strings.HasPrefix(fmt.Sprint(e), "deadlock: "): // of testing/synctest
			w.Failf("goroutines: some wait for ever: %v", e)
		default:
			panic(fmt.Sprintf("seed %d: %v", seed, e))
		}
	}()
	synctest.Test(tb, func(*testing.T) {
		w = newWorld(t, seed, trace)
		w.procs[0].killAt = killAt
		w.run()
	})
	return w
}
