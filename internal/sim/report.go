package sim

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
)

// Variables of the environment by which "make sim" directs the tests of trials, besides
// [EnvSeed]. If EnvReport is set, they print a [Report].
const (
	EnvReport = "KEYFILL_SIM"      // "1"
	EnvTime   = "KEYFILL_SIM_TIME" // for how long [Trial.Run] runs worlds
	EnvFrom   = "KEYFILL_SIM_FROM" // the seed with which [Trial.Run] begins
)

// ReportPrefix begins a line with a [Report] as JSON.
const ReportPrefix = "sim report: "

// Report is the result of a test of a trial, or of a mutant (a source with a deliberate
// mistake).
type Report struct {
	Test string
	Law  string `json:",omitempty"` // the law (the rule) that the mutant has to break; empty if the test is of no mutant

	From, To uint64 // the worlds (simulated runs, each from one seed) of the seeds from From to To-1 were run
	Seconds  float64
	Keys     int64 // the number of keys that were handed out

	// Histories are the numbers of the histories, of eight bytes each: see [World.History].
	// Replayed is how many worlds (simulated runs, each from one seed) were run twice, and
	// Unlike is how many of these had a different history the second time.
	Histories        []byte `json:",omitempty"`
	Replayed, Unlike int

	Seed   uint64   `json:",omitempty"` // the seed of the first world (a simulated run from one seed) that broke a law; 0 if none did
	Broken []string `json:",omitempty"` // the laws
	Story  string   `json:",omitempty"` // the story of the world whose seed EnvSeed names
}

// print prints the report, if "make sim" asks for it.
func (r Report) print() {
	if os.Getenv(EnvReport) == "" {
		return
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // cannot happen: every Report can be written
	}
	fmt.Printf("%s%s\n", ReportPrefix, text)
}

// EachHistory calls f with each history.
func (r Report) EachHistory(f func(uint64)) {
	for i := 0; i+8 <= len(r.Histories); i += 8 {
		f(binary.LittleEndian.Uint64(r.Histories[i:]))
	}
}

// replayEach says that "make sim" runs one of so many worlds (simulated runs, each from one
// seed) twice, to compare the histories.
const replayEach = 64

// explore runs worlds (simulated runs, each from one seed) for the time and from the first
// seed that the environment names, and prints a report.
func (t *Trial) explore(tb *testing.T) {
	limit, err := time.ParseDuration(os.Getenv(EnvTime))
	if err != nil {
		tb.Fatalf("%s: %v", EnvTime, err)
	}
	from, ok := number(tb, EnvFrom)
	if !ok {
		from = 1
	}
	begin := time.Now()
	r := Report{Test: tb.Name(), From: from}
	var (
		next  atomic.Uint64
		mu    sync.Mutex // guards the variables r and found
		found *World
		wg    sync.WaitGroup
	)
	next.Store(from)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for time.Since(begin) < limit {
				seed := next.Add(1) - 1
				w := t.run(tb, seed, 0, false)
				twice, unlike := seed%replayEach == 0, false
				if twice {
					unlike = t.run(tb, seed, 0, false).History() != w.History()
				}
				mu.Lock()
				r.Histories = binary.LittleEndian.AppendUint64(r.Histories, w.History())
				r.Keys += int64(w.Keys())
				if twice {
					r.Replayed++
				}
				if unlike {
					r.Unlike++
				}
				if len(w.Broken()) > 0 && (found == nil || seed < found.Seed) {
					found = w
				}
				done := found != nil
				mu.Unlock()
				if done {
					return
				}
			}
		})
	}
	wg.Wait()
	r.To, r.Seconds = next.Load(), time.Since(begin).Seconds()
	if found != nil {
		r.Seed, r.Broken = found.Seed, found.Broken()
		report(tb, found)
	}
	r.print()
}

// Name returns the readable name of the test of a trial or of a mutant: "sequence on
// connection" for TestSequenceOnConnectionSimulation, and "sequence mutants/no floor" for
// TestSequenceMutants/no_floor.
func Name(test string) string {
	test, mutant, isMutant := strings.Cut(test, "/")
	test = strings.TrimSuffix(strings.TrimPrefix(test, "Test"), "Simulation")
	var b strings.Builder
	for i, r := range test {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if isMutant {
		b.WriteString("/" + strings.ReplaceAll(mutant, "_", " "))
	}
	return b.String()
}
