package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
)

// The shortest and the longest slice: how long one trial runs before the next trial runs.
const (
	leastSlice = 2 * time.Second
	mostSlice  = 30 * time.Second
)

// tally is the sum of the results of one trial so far.
type tally struct {
	test
	next             uint64 // seed
	worlds           uint64
	histories        map[uint64]struct{}
	keys             int64
	seconds          float64
	replayed, unlike int
	broken           []string
}

// explore checks that each mutant (a deliberate mistake) is found, and then runs the trials
// in turn until the time is over.
func (e *explorer) explore(tests []test) error {
	begin := time.Now()
	var trials []*tally
	lost := 0
	for _, t := range tests {
		if !t.mutants() {
			trials = append(trials, &tally{test: t, next: e.from, histories: map[uint64]struct{}{}})
			continue
		}
		missed, err := e.find(t)
		if err != nil {
			return err
		}
		lost += missed
	}
	if err := e.turns(trials, begin); err != nil {
		return err
	}
	e.sum(trials, time.Since(begin))
	var all []error
	if lost > 0 {
		all = append(all, fmt.Errorf("%d mutants were not found", lost))
	}
	for _, t := range trials {
		if len(t.broken) > 0 {
			all = append(all, fmt.Errorf("a law is broken in the trial %q", t.display()))
		}
	}
	return errors.Join(all...)
}

// find runs the seeds from 1 on until each mutant (a deliberate mistake) is found, and
// returns how many were not found.
func (e *explorer) find(t test) (missed int, err error) {
	reports, err := t.run()
	if err != nil {
		return 0, err
	}
	for _, r := range reports {
		if r.Seed == 0 {
			missed++
			fmt.Fprintf(e.out, "mutant  NOT FOUND by %d seeds  %s\n", r.To-r.From, sim.Name(r.Test))
			continue
		}
		fmt.Fprintf(e.out, "mutant  found by seed %5d in %5.1f s, law %-10s  %s\n", r.Seed, r.Seconds, r.Law, sim.Name(r.Test))
	}
	return missed, nil
}

// turns runs the trials in turn, each in slices, until the time is over.
func (e *explorer) turns(trials []*tally, begin time.Time) error {
	if len(trials) == 0 {
		return nil
	}
	slice := min(max((e.limit-time.Since(begin))/time.Duration(4*len(trials)), leastSlice), mostSlice)
	for {
		for _, t := range trials {
			left := e.limit - time.Since(begin)
			if left <= 0 && t.worlds > 0 {
				return nil
			}
			if len(t.broken) > 0 {
				continue // the trial would break the same law (a rule that every run must obey) again from the same seeds
			}
			if err := t.slice(min(max(left, time.Second), slice)); err != nil {
				return err
			}
			var worlds, histories, keys uint64
			broken := 0
			for _, t := range trials {
				worlds += t.worlds
				histories += uint64(len(t.histories))
				keys += uint64(t.keys)
				broken += len(t.broken)
			}
			fmt.Fprintf(e.out, "%8s  %-28s at seed %d; all trials: %d worlds, %d histories, %d keys, %d broken laws\n",
				time.Since(begin).Round(time.Second), t.display(), t.next, worlds, histories, keys, broken)
		}
		if allBroken(trials) {
			return nil
		}
	}
}

func allBroken(trials []*tally) bool {
	for _, t := range trials {
		if len(t.broken) == 0 {
			return false
		}
	}
	return true
}

// slice runs the next worlds (simulated runs, each from one seed) of a trial for the time
// d.
func (t *tally) slice(d time.Duration) error {
	reports, err := t.run(sim.EnvTime+"="+d.String(), fmt.Sprintf("%s=%d", sim.EnvFrom, t.next))
	if err != nil {
		return err
	}
	for _, r := range reports {
		t.worlds += r.To - r.From
		t.keys += r.Keys
		t.seconds += r.Seconds
		t.replayed += r.Replayed
		t.unlike += r.Unlike
		t.next = r.To
		r.EachHistory(func(h uint64) { t.histories[h] = struct{}{} })
		for _, text := range r.Broken {
			t.broken = append(t.broken, fmt.Sprintf("seed %d: %s", r.Seed, text))
		}
	}
	return nil
}

// sum prints the results of all trials.
func (e *explorer) sum(trials []*tally, took time.Duration) {
	fmt.Fprintf(e.out, "\n%-28s %10s %10s %9s %12s %9s %7s  %s\n",
		"trial", "worlds", "histories", "a second", "keys", "run twice", "unlike", "broken laws")
	var all tally
	histories := 0
	line := func(name string, t *tally, histories int) {
		broken := "none"
		if len(t.broken) > 0 {
			broken = t.broken[0]
		}
		fmt.Fprintf(e.out, "%-28s %10d %10d %9.0f %12d %9d %7d  %s\n",
			name, t.worlds, histories, float64(t.worlds)/max(t.seconds, 0.001), t.keys, t.replayed, t.unlike, broken)
	}
	for _, t := range trials {
		line(t.display(), t, len(t.histories))
		for _, text := range t.broken {
			fmt.Fprintf(e.out, "    %s\n", text)
		}
		all.worlds += t.worlds
		all.keys += t.keys
		all.seconds += t.seconds
		all.replayed += t.replayed
		all.unlike += t.unlike
		all.broken = append(all.broken, t.broken...)
		histories += len(t.histories)
	}
	line("all", &all, histories)
	fmt.Fprintf(e.out, "\nin %s, from seed %d on, no seed twice\n", took.Round(time.Second), e.from)
	for _, t := range trials {
		if len(t.broken) > 0 {
			fmt.Fprintf(e.out, "the story: make sim SEED=%s TRIAL='%s'\n", seedOf(t.broken[0]), t.display())
		}
	}
}

// seedOf returns the seed in a text such as "seed 42: …".
func seedOf(broken string) string {
	var seed uint64
	if _, err := fmt.Sscanf(broken, "seed %d:", &seed); err != nil {
		return "?"
	}
	return fmt.Sprint(seed)
}
