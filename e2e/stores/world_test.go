package stores_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// world is processes that use one store, and what they say about it.
type world struct {
	t      *testing.T
	store  *store
	job    job // of each process but for what its place decides
	folder string

	places []*member // the living ones
	all    []*member
	probes int64
	kills  int
	took   []recovery
}

// member is a process.
type member struct {
	place  int
	since  time.Time // when it was started
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	reader
}

// recovery is how long it took after a fault until each process had keys of each source
// that it can only have from the store, and had stored rows with them. A process that was
// started after the fault counts from when it runs: until then it waits for a processor.
type recovery struct {
	fault string
	took  map[int]time.Duration // by source
	free  bool                  // it was no fault, and has no bound
}

// longest returns the longest of all sources, and a text with each.
func (r recovery) longest() (longest time.Duration, text string) {
	var each []string
	for k, one := range kinds {
		if took, there := r.took[k]; there {
			longest = max(longest, took)
			each = append(each, fmt.Sprintf("%s %.1fs", one.name, took.Seconds()))
		}
	}
	return longest, fmt.Sprintf("%.1fs (%s)", longest.Seconds(), strings.Join(each, ", "))
}

// newWorld makes the tables in the application's database.
func newWorld(t *testing.T, s *store, j job) *world {
	t.Helper()
	w := &world{t: t, store: s, job: j, folder: t.TempDir()}
	w.job.Driver, w.job.Dialect, w.job.Kinds = s.engine.Driver, s.engine.Dialect.Name, s.kinds
	if j.Plain == 0 {
		for _, query := range schema(s.kinds) {
			harness.Exec(t, s.raw, query)
		}
		if s.settle != nil {
			s.settle(t)
		}
	}
	t.Cleanup(func() {
		for _, m := range w.all {
			_ = m.cmd.Process.Kill() // mostly gone
		}
	})
	return w
}

// start starts a process in a place.
func (w *world) start(place int) *member {
	w.t.Helper()
	j := w.job
	j.Number = int64(len(w.all) + 1)
	j.Journal = filepath.Join(w.folder, fmt.Sprint(j.Number))
	if j.Policy == nil {
		j.DSN, j.Stores = w.store.of(place)
		j.Kinds = w.kindsOf(place)
	}
	text, err := json.Marshal(j)
	if err != nil {
		w.t.Fatal(err)
	}
	m := &member{place: place, cmd: exec.Command(os.Args[0]), reader: reader{path: j.Journal}}
	processors := "GOMAXPROCS=2"
	if harness.Soaking() {
		processors = "GOMAXPROCS=1"
	}
	m.cmd.Env = append(os.Environ(), jobVariable+"="+string(text), processors)
	m.cmd.Stderr = &m.stderr
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	m.since = time.Now()
	w.all = append(w.all, m)
	for len(w.places) <= place {
		w.places = append(w.places, nil)
	}
	w.places[place] = m
	return m
}

// kill ends a process by SIGKILL.
func (w *world) kill(m *member) {
	w.t.Helper()
	if err := m.cmd.Process.Kill(); err != nil {
		w.t.Errorf("the process has ended by itself: %v: %s", err, &m.stderr)
	}
	// Drivers print connections that were cut.
	if err := m.cmd.Wait(); err == nil {
		w.t.Errorf("the process has ended by itself: %v: %s", err, &m.stderr)
	}
	w.kills++
}

// end lets processes end what they are about, and close their databases.
func (w *world) end(all []*member) {
	w.t.Helper()
	for _, m := range all {
		_ = m.stdin.Close() // an error is that it has ended
	}
	for _, m := range all {
		timer := time.AfterFunc(harness.Limit, func() { _ = m.cmd.Process.Kill() })
		if err := m.cmd.Wait(); err != nil {
			w.t.Errorf("process: %v: %s", err, &m.stderr)
		}
		timer.Stop()
	}
}

// some returns a share of the processes: at least one.
func (w *world) some(share int) []*member {
	all := slices.Clone(w.places)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:max(1, len(all)/share)]
}

// replace starts a new process instead of each.
func (w *world) replace(gone []*member) {
	w.t.Helper()
	for _, m := range gone {
		w.start(m.place)
	}
}

// signal sends a signal to processes.
func (w *world) signal(all []*member, s syscall.Signal) {
	w.t.Helper()
	for _, m := range all {
		if err := m.cmd.Process.Signal(s); err != nil {
			w.t.Fatalf("%v: %v: %s", s, err, &m.stderr)
		}
	}
}

// tell writes a line to processes.
func (w *world) tell(all []*member, line string) {
	w.t.Helper()
	for _, m := range all {
		if _, err := io.WriteString(m.stdin, line+"\n"); err != nil {
			w.t.Fatalf("%v: %s", err, &m.stderr)
		}
	}
}

// probe asks each process for a probe of each of its sources, waits until all have
// succeeded, and notes how long that took since the fault.
func (w *world) probe(fault string, since time.Time) {
	w.t.Helper()
	w.probes++
	w.tell(w.places, fmt.Sprint("probe ", w.probes))
	found := w.awaitProbe(fault, since)
	w.took = append(w.took, found)
	if harness.Soaking() {
		_, text := found.longest()
		w.t.Logf("%s: %s: recovered after %s", w.store.name, fault, text)
	}
}

// awaitProbe waits until each process has succeeded in the last probe.
func (w *world) awaitProbe(fault string, since time.Time) recovery {
	w.t.Helper()
	found := recovery{fault: fault, took: map[int]time.Duration{}}
	deadline := time.Now().Add(harness.Limit)
	for _, m := range w.places {
		for {
			if err := m.read(); err != nil {
				w.t.Fatal(err)
			}
			ended := m.probed(w.probes)
			if len(ended) == len(w.kindsOf(m.place)) {
				for k, r := range ended {
					from := since
					if m.since.After(since) {
						from = time.Unix(0, r.Began)
					}
					found.took[k] = max(found.took[k], time.Unix(0, r.Ended).Sub(from))
				}
				break
			}
			if time.Now().After(deadline) {
				w.t.Fatalf("%s: process %s has not recovered for %v; its errors:%s", fault, filepath.Base(m.path), harness.Limit, indent(tally(w.failures([]*member{m}))))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return found
}

// probed returns the probes in which the sources of a process have succeeded.
func (m *member) probed(number int64) map[int]record {
	ended := map[int]record{}
	for _, r := range m.records {
		if r.What == probed && r.Draw == number {
			ended[int(r.Kind)] = r
		}
	}
	return ended
}

// kindsOf returns the sources that the process in a place uses. A numbering without gaps
// is one transaction at a time, so that few processes wait for it.
func (w *world) kindsOf(place int) []int {
	if place%joinedShare == 0 {
		return w.job.Kinds
	}
	return slices.DeleteFunc(slices.Clone(w.job.Kinds), func(k int) bool { return k == joined })
}

// rest lets the processes work.
func (w *world) rest(d time.Duration) { time.Sleep(d) }

// await waits until processes have drawn and stored as much as is wanted.
func (w *world) await(keys, rows int64) {
	w.t.Helper()
	deadline := time.Now().Add(10 * harness.Limit)
	for {
		d, s := w.counts()
		if d >= keys && s >= rows {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d keys were drawn and %d rows stored, want %d and %d; errors:%s", d, s, keys, rows, indent(tally(w.failures(w.all))))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// counts returns how many keys the journals say were drawn, and how many rows stored.
func (w *world) counts() (keys, rows int64) {
	w.t.Helper()
	for _, m := range w.all {
		if err := m.read(); err != nil {
			w.t.Fatal(err)
		}
		for _, r := range m.records {
			switch {
			case r.What == stored:
				rows += int64(r.Keys)
			case r.What == drawn:
				keys += int64(r.Keys)
			}
		}
	}
	return keys, rows
}

// failures returns the errors of processes.
func (w *world) failures(all []*member) (lines []string) {
	w.t.Helper()
	for _, m := range all {
		some, err := m.reader.failures()
		if err != nil {
			w.t.Fatal(err)
		}
		lines = append(lines, some...)
	}
	return lines
}

// unexplained are errors that no fault of a test explains: the store says something else
// than that it cannot be reached, or a key was there already.
func unexplained(lines []string) (all []string) {
	for _, line := range lines {
		for _, part := range []string{
			law, plain(keysource.ErrStoreBack), plain(keysource.ErrStoreBehind), plain(keysource.ErrStoreState),
			plain(keysource.ErrExhausted), plain(keysource.ErrWorkerTaken),
		} {
			if strings.Contains(anchor.Plain(line), part) {
				all = append(all, line)
				break
			}
		}
	}
	return all
}

func plain(err error) string { return anchor.Plain(err.Error()) }

// tally counts errors by their texts, the most frequent first.
func tally(all []string) (lines []string) {
	counts := map[string]int{}
	for _, line := range all {
		_, text, _ := strings.Cut(line, " ") // the time of day
		counts[text]++
	}
	for text, n := range counts {
		lines = append(lines, fmt.Sprintf("%7d × %.300s", n, text))
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(b, a) })
	return lines[:min(len(lines), 20)]
}

// indent puts lines below a message.
func indent(lines []string) string { return "\n\t" + strings.Join(lines, "\n\t") }
