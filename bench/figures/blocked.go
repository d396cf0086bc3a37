package figures

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/bench/nulldriver"
)

// Lock is a function in which goroutines wait for each other.
type Lock struct {
	Keys     string  `json:"keys"` // the kind of keys that are made
	Function string  `json:"function"`
	Share    float64 `json:"share"` // the part of all goroutines' waiting time that is spent in this function
	Waits    float64 `json:"waits"` // how often goroutines wait, in 1,000 fills
}

// module begins the names of keyfill's functions.
const module = "github.com/keyfill/keyfill"

// owner returns the part of the program that a function belongs to: goroutines wait in it
// for a lock of that part.
func owner(function string) string {
	switch rest, ok := strings.CutPrefix(function, module); {
	case !ok, strings.HasPrefix(rest, "/bench/"):
		return "others"
	case strings.HasPrefix(rest, "/keysource."), strings.HasPrefix(rest, "/internal/counting."), strings.HasPrefix(rest, "/internal/keyclock."):
		return "the source"
	}
	return ours
}

// goroutines is how many goroutines fill rows at once.
const goroutines = 64

// Blocked measures on which locks 64 goroutines wait while they fill rows on a driver that
// does nothing, each on a connection of its own.
func Blocked(r Run) ([]Figure, []Lock, error) {
	var figures []Figure
	var locks []Lock
	for _, k := range []struct{ keys, text string }{{"v7", ordersText}, {"block", invoicesText}} {
		found, err := blockedBy(k.keys, k.text, r.times(20_000))
		if err != nil {
			return nil, nil, err
		}
		waits := 0.0
		for _, l := range found {
			if owner(l.Function) == ours {
				waits += l.Waits
			}
		}
		// One wait is allowed, since goroutines may wait once or twice for the lock of a
		// map that grows.
		f := absolute("64 goroutines filling, "+k.keys+": waits for a lock of keyfill's, except the source's own, in 1,000 fills", Waits, waits, atMost(1))
		figures = append(figures, f)
		locks = append(locks, found[:min(len(found), 5)]...)
	}
	return figures, locks, nil
}

// blockedBy returns where goroutines wait, the longest first.
func blockedBy(keys, text string, each int) (locks []Lock, err error) {
	l, err := openLayers(&nulldriver.Driver{}, "mysql", goroutines)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	conns := make([]*sql.Conn, goroutines)
	for i := range conns {
		if conns[i], err = l[ours].Conn(context.Background()); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, conns[i].Close()) }()
	}
	if err := fillAtOnce(conns, text, 10); err != nil { // this makes the first keys and plans, which are not measured
		return nil, err
	}
	before := waits()
	runtime.SetBlockProfileRate(1)
	err = fillAtOnce(conns, text, each)
	runtime.SetBlockProfileRate(0)
	if err != nil {
		return nil, err
	}
	after := waits()
	delete(after, "") // drop the waits of this package for its own goroutines
	return locksOf(keys, before, after, each*goroutines), nil
}

// fillAtOnce inserts n rows on each connection.
func fillAtOnce(conns []*sql.Conn, text string, n int) error {
	ctx := context.Background()
	errs := make([]error, len(conns))
	var wg sync.WaitGroup
	for i, conn := range conns {
		wg.Go(func() {
			for range n {
				if _, errs[i] = conn.ExecContext(ctx, text, insertArgs...); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// waited is for how many processor cycles goroutines have waited, and how often.
type waited struct{ Cycles, Count int64 }

// locksOf returns the functions in which goroutines have waited between two counts, while
// that many fills were made.
func locksOf(keys string, before, after map[string]waited, fills int) []Lock {
	var total int64
	for function := range after {
		total += after[function].Cycles - before[function].Cycles
	}
	var locks []Lock
	for _, function := range slices.Sorted(maps.Keys(after)) {
		if cycles := after[function].Cycles - before[function].Cycles; cycles > 0 {
			locks = append(locks, Lock{
				Keys: keys, Function: function, Share: float64(cycles) / float64(total),
				Waits: 1000 * float64(after[function].Count-before[function].Count) / float64(fills),
			})
		}
	}
	slices.SortStableFunc(locks, func(a, b Lock) int { return cmp.Compare(b.Share, a.Share) })
	return locks
}

// waits returns how long and how often the goroutines of the process have waited so far, by
// the function that waits; the waits of this package itself are under "".
func waits() map[string]waited {
	records := make([]runtime.BlockProfileRecord, 100)
	n, ok := runtime.BlockProfile(records)
	for ; !ok; n, ok = runtime.BlockProfile(records) {
		records = make([]runtime.BlockProfileRecord, n+100)
	}
	all := map[string]waited{}
	for _, r := range records[:n] {
		function := waiting(r.Stack())
		sum := all[function]
		all[function] = waited{sum.Cycles + r.Cycles, sum.Count + r.Count}
	}
	return all
}

// waiting returns the function of a stack that waits: the first one outside of the
// runtime and package sync; empty for one of this package.
func waiting(stack []uintptr) string {
	frames := runtime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		name := frame.Function
		switch {
		case strings.HasPrefix(name, module+"/bench/"):
			return ""
		case !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "sync.") &&
			!strings.HasPrefix(name, "internal/"):
			return name
		case !more:
			return ""
		}
	}
}
