// Package inserted is what instrumented copies of the product code import: see the
// command in the folder above. The repository itself never imports it.
//
// In a copy that counts, each block of statements calls Hit and each test calls Enter. A
// file for each test then says which blocks the test has reached, in its own process and
// in the processes that it has started. In a copy with faults, each fault asks Is whether
// the environment has switched it on.
//
// The functions may be called by several goroutines at once.
package inserted

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// The variables of the environment.
const (
	// Faults holds the numbers of the faults that are switched on, separated by commas.
	Faults = "KEYFILL_FAULTS"
	// Folder is the folder for the files that record which blocks each test reaches. If it
	// is empty, nothing is recorded.
	Folder = "KEYFILL_FAULTS_FOLDER"
	// running holds the names of the running tests, separated by commas, for the processes
	// that these tests start.
	running = "KEYFILL_FAULTS_RUNNING"
)

// Outside is the name of the record of the code that runs while no test runs: the
// initialization of packages, and TestMain.
const Outside = "outside"

var on = parse(os.Getenv(Faults))

// parse returns which numbers are in a list.
func parse(list string) (is []bool) {
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			continue
		}
		for len(is) <= n {
			is = append(is, false)
		}
		is[n] = true
	}
	return is
}

// Is reports whether a fault is switched on.
func Is(fault int) bool { return fault < len(on) && on[fault] }

// Number is the type of a literal that a fault changes.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

// Off returns n, and n+1 if the fault is switched on.
func Off[N Number](fault int, n N) N {
	if Is(fault) {
		return n + 1
	}
	return n
}

// record is the file with the blocks that one test reaches: the byte n is 1 if the test has
// reached block n. A process writes each byte at most once, so that a record outlives a
// process that is killed.
type record struct {
	name string
	file *os.File
	seen []atomic.Bool
}

var (
	mu      sync.Mutex
	tests   []*record                 // the records of the running tests, of this process and of its parents
	outside *record                   // the record named Outside, opened when it is first used
	current atomic.Pointer[[]*record] // the records that Hit writes to: tests, or outside if no test runs; nil if nothing is recorded
	reached = []byte{1}
)

func init() {
	if os.Getenv(Folder) == "" {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	if names := os.Getenv(running); names != "" {
		for name := range strings.SplitSeq(names, ",") {
			tests = append(tests, open(name))
		}
	}
	publish()
}

// open opens the record of a test. It panics if the file cannot be opened, since blocks
// that are not recorded would count as not reached.
func open(name string) *record {
	file, err := os.OpenFile(filepath.Join(os.Getenv(Folder), name), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		panic(err)
	}
	return &record{name: name, file: file, seen: make([]atomic.Bool, Blocks)}
}

// publish makes Hit write to the records of the tests that run now. The caller holds mu.
func publish() {
	now := append([]*record{}, tests...)
	if len(now) == 0 {
		if outside == nil {
			outside = open(Outside)
		}
		now = append(now, outside)
	}
	current.Store(&now)
	var names []string
	for _, r := range tests {
		names = append(names, r.name)
	}
	if err := os.Setenv(running, strings.Join(names, ",")); err != nil {
		panic(err)
	}
}

// Enter records that a test begins, and returns a function that records that it has ended.
// If several tests run at the same time, a block is recorded for each of them.
func Enter(name string) (leave func()) {
	if os.Getenv(Folder) == "" {
		return func() {}
	}
	mu.Lock()
	defer mu.Unlock()
	r := open(name)
	tests = append(tests, r)
	publish()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		for i, other := range tests {
			if other == r {
				tests = append(tests[:i:i], tests[i+1:]...)
				break
			}
		}
		publish()
		// Do not close the file, since another goroutine may be about to write to it.
	}
}

// Hit records that a block of statements is reached.
func Hit(block int) {
	records := current.Load()
	if records == nil {
		return
	}
	for _, r := range *records {
		if !r.seen[block].Load() && r.seen[block].CompareAndSwap(false, true) {
			if _, err := r.file.WriteAt(reached, int64(block)); err != nil {
				panic(err)
			}
		}
	}
}
