package figures

import (
	"runtime"
	"syscall"
	"time"

	"github.com/keyfill/keyfill/internal/stats"
)

// Variant is one of several programs that do the same, and that are compared.
type Variant struct {
	Name string
	// Run repeats the measured operation n times.
	Run func(n int) error
	// Setup is called before each turn (n repetitions), and is not measured; nil does
	// nothing.
	Setup func(n int) error
}

// Samples are the measurements of the turns of a variant, one for each round.
type Samples struct {
	CPU    []float64 // the process's CPU time for each repetition, in nanoseconds
	Wall   []float64 // nanoseconds
	Allocs []float64 // the number of allocations for each repetition
}

// turns lets variants take turns for some rounds, with n repetitions a turn. The samples of
// the first round, which warms up, are dropped.
func turns(rounds, n int, variants []Variant) (map[string]*Samples, error) {
	all := make(map[string]*Samples, len(variants))
	for _, v := range variants {
		all[v.Name] = new(Samples)
	}
	for round := range rounds + 1 {
		for _, i := range stats.Order(round, len(variants)) {
			v := variants[i]
			cpu, wall, allocs, err := turn(v, n)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				s := all[v.Name]
				s.CPU = append(s.CPU, cpu)
				s.Wall = append(s.Wall, wall)
				s.Allocs = append(s.Allocs, allocs)
			}
		}
	}
	return all, nil
}

func turn(v Variant, n int) (cpu, wall, allocs float64, err error) {
	if v.Setup != nil {
		if err := v.Setup(n); err != nil {
			return 0, 0, 0, err
		}
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, used := time.Now(), processTime()
	err = v.Run(n)
	cpu, wall = float64(processTime()-used), float64(time.Since(start))
	runtime.ReadMemStats(&after)
	times := float64(n)
	return cpu / times, wall / times, float64(after.Mallocs-before.Mallocs) / times, err
}

// singly calls f while Go uses one processor.
func singly(f func() error) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return f()
}

// processTime returns the CPU time that the process has used; 0 if the system does not
// report it.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ratio returns the figure of a variant against a rival (the program compared with) by
// their CPU time. The control compares the rival's second turns, called again, with its
// first ones.
func ratio(what string, all map[string]*Samples, variant, rival, again string, bar Bar) Figure {
	f := Figure{What: what, Against: rival, Unit: Times, Bar: bar,
		Value: stats.Of(stats.Ratios(all[variant].CPU, all[rival].CPU))}
	if s, ok := all[again]; ok {
		control := stats.Of(stats.Ratios(s.CPU, all[rival].CPU))
		f.Control = &control
	}
	return f
}

// moreAllocations returns the figure for the allocations that a variant makes beyond its
// rival's. The counts include a few allocations of Go's runtime, which rounding removes.
func moreAllocations(what string, all map[string]*Samples, variant, rival string, bar Bar) Figure {
	more := stats.Of(all[variant].Allocs).Median - stats.Of(all[rival].Allocs).Median
	f := absolute(what+": more allocations", Allocations, Allocations.round(more), bar)
	f.Against = rival
	return f
}
