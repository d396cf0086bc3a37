package faults_test

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// swarm is processes that insert into one table, and what they say about it.
type swarm struct {
	t   *testing.T
	e   harness.Engine
	raw *sql.DB // to look at what is stored; not through a proxy

	table string // that they insert into

	job job // of each process but for Log and Number

	// vary changes the job of the process in a place, counted from 0, before
	// it is started; nil: no.
	vary func(place int, j *job)

	// drawnOnce says that keys of a transaction that was rolled back are not
	// given out again either: the source is autonomous.
	drawnOnce bool

	// tolerable says of an error that a step of a process ended with whether
	// the fault of the test explains it; nil: none does.
	tolerable func(text string) bool

	folder string
	mu     sync.Mutex
	count  int64 // of processes so far
	kills  int
}

// otherDriver returns what every second process of an engine's swarm uses.
func otherDriver(e harness.Engine) (other harness.Engine, ok bool) {
	switch {
	case e.Is(harness.MySQLDefault):
		return harness.MySQLInterp, true
	case e.Is(harness.PgxDefault):
		return harness.PQDefault, true
	}
	return harness.Engine{}, false
}

// newSwarm makes an empty database with the table.
func newSwarm(t *testing.T, e harness.Engine, table []string) *swarm {
	t.Helper()
	w := &swarm{t: t, e: e, table: "t", folder: t.TempDir()}
	w.job = job{Engine: e.Name, DSN: e.DSN(t), Hands: 4}
	w.raw = harness.Open(t, e.Driver, w.job.DSN)
	for _, query := range table {
		harness.Exec(t, w.raw, query)
	}
	return w
}

// faultSequence and faultSnowflake are the sources of the tests of faults; the
// number of the snowflake's worker is missing.
var (
	faultSequence  = policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	faultSnowflake = policy.Source{Kind: policy.KindSnowflake, EnsureSchema: true}
)

// leisurely lets processes have leisure, but for a long run.
func (w *swarm) leisurely() *swarm {
	if !harness.Soaking() {
		w.job.Pause = leisure
	}
	return w
}

// use makes the keys come from a source. Of one with a worker's number each place
// has its own, which the next process in that place has again, and on a server a
// clock of its own.
func (w *swarm) use(source policy.Source) {
	w.job.Source = source
	flake := source.Kind == policy.KindSnowflake || source.Kind == policy.KindComposite
	w.drawnOnce = w.e.Server != nil || flake
	if flake && source.Spread == "" && source.Worker == nil && source.WorkerLease == 0 {
		w.vary = func(place int, j *job) {
			j.Source.Worker = new(place + 1)
			if w.e.Server != nil {
				j.Ahead = time.Duration(place-4) * time.Minute
			}
		}
	}
}

// member is a process of a swarm.
type member struct {
	cmd    *osexec.Cmd
	stdin  io.Closer
	stderr bytes.Buffer
	log    string // path of its journal

	ended chan struct{} // closed when it has ended, with err
	err   error
}

// wait returns when the process has ended.
func (p *member) wait() error {
	<-p.ended
	return p.err
}

// hasEnded reports whether the process has ended.
func (p *member) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// start starts the process in a place.
func (w *swarm) start(place int) (*member, error) {
	w.mu.Lock()
	w.count++
	j := w.job
	j.Number = w.count
	w.mu.Unlock()
	j.Log = filepath.Join(w.folder, fmt.Sprint(j.Number))
	if other, ok := otherDriver(w.e); ok && place%2 == 1 {
		j.Engine, j.DSN = other.Name, strings.TrimSuffix(j.DSN, "&"+w.e.Params)
		if other.Params != "" {
			j.DSN += "?" + other.Params
		}
	}
	if w.vary != nil {
		w.vary(place, &j)
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	p := &member{cmd: osexec.Command(os.Args[0]), log: j.Log, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	p.cmd.Stderr = &p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // it ends with the process, which the test kills at the latest
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// mustStart starts processes in the places from 0, which are killed when the
// test ends.
func (w *swarm) mustStart(places int) []*member {
	w.t.Helper()
	var all []*member
	for place := range places {
		p, err := w.start(place)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // mostly gone
		all = append(all, p)
	}
	return all
}

// kill ends a process by SIGKILL.
func (p *member) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("the process has ended by itself: %w: %s", p.wait(), &p.stderr)
	}
	// The error is that it was killed, unless it had ended before.
	if err := p.wait(); err == nil || p.stderr.Len() > 0 {
		return fmt.Errorf("the process has ended by itself: %s", &p.stderr)
	}
	return nil
}

// stop lets processes end what they are about, and close their databases.
func (w *swarm) stop(all []*member) {
	w.t.Helper()
	for _, p := range all {
		_ = p.stdin.Close() // an error is that it has ended
	}
	for _, p := range all {
		timer := time.AfterFunc(time.Until(w.end()), func() { _ = p.cmd.Process.Kill() })
		if err := p.wait(); err != nil {
			w.t.Errorf("process: %v: %s", err, &p.stderr)
		}
		timer.Stop()
	}
}

// rage starts a process in each of the places and kills it when it has lived for life,
// again and again, but twice at least. In the end there is one more in each place, which
// ends in good order.
func (w *swarm) rage(places int, d time.Duration, life func() time.Duration) {
	w.t.Helper()
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for place := range places {
		wg.Go(func() {
			for n := 0; n < 2 || time.Now().Before(end); n++ {
				p, err := w.start(place)
				if err != nil {
					w.t.Error(err)
					return
				}
				time.Sleep(life())
				if err := p.kill(); err != nil {
					w.t.Error(err)
					return
				}
				w.mu.Lock()
				w.kills++
				w.mu.Unlock()
			}
		})
	}
	wg.Wait()
	last := w.mustStart(places)
	w.awaitCommit(last)
	w.stop(last)
}

// between returns a function that gives durations of a range.
func between(least, most time.Duration) func() time.Duration {
	return func() time.Duration { return least + rand.N(most-least) }
}

// end returns when a wait for the processes ends in vain: ten minutes from now, and a
// moment before the test program's own time is up. A busy machine may leave a process
// without its turn for minutes; a process that does nothing any more should be reported
// while the test still waits.
func (w *swarm) end() time.Time {
	most := 2 * harness.Limit
	if harness.Soaking() {
		most = time.Hour
	}
	if end, ok := w.t.Deadline(); ok {
		most = min(most, time.Until(end)-10*time.Second)
	}
	return time.Now().Add(most)
}

// await waits until each of the processes has noted something that is wanted
// after the call.
func (w *swarm) await(all []*member, what string, wanted func(entry) bool) {
	w.t.Helper()
	end := w.end()
	had := make([]int, len(all))
	for i, p := range all {
		had[i] = len(w.journal(p.log))
	}
	for i, p := range all {
		// A journal is read as a whole: the longer it gets, the more seldom.
		for pause := 5 * time.Millisecond; !slices.ContainsFunc(w.journal(p.log)[had[i]:], wanted); pause = min(2*pause, 200*time.Millisecond) {
			if p.hasEnded() && !slices.ContainsFunc(w.journal(p.log)[had[i]:], wanted) {
				w.t.Fatalf("a process has ended before: %s: %v: %s", what, p.err, &p.stderr)
			}
			if time.Now().After(end) {
				w.t.Fatalf("a process did not come to: %s; its errors:%s", what, indent(tally(w.journal(p.log)[had[i]:])))
			}
			time.Sleep(pause)
		}
	}
}

// awaitKeys waits until each of the processes has committed a statement whose
// keys are above a key.
func (w *swarm) awaitKeys(all []*member, above int64) {
	w.t.Helper()
	w.await(all, "commit", func(e entry) bool { return e.what == committed && e.first > above })
}

// awaitCommit waits until each of the processes has committed a statement.
func (w *swarm) awaitCommit(all []*member) {
	w.t.Helper()
	w.await(all, "commit", func(e entry) bool { return e.what == committed })
}

// awaitError waits until each of the processes has had an error.
func (w *swarm) awaitError(all []*member, part string) {
	w.t.Helper()
	w.await(all, part, func(e entry) bool { return e.what == failed && tells(e.text, part) })
}

func (w *swarm) journal(path string) []entry {
	w.t.Helper()
	all, err := readJournal(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// entries returns the entries of all processes.
func (w *swarm) entries() []entry {
	w.t.Helper()
	var all []entry
	for n := range w.count {
		all = append(all, w.journal(filepath.Join(w.folder, fmt.Sprint(n+1)))...)
	}
	return all
}

// tally counts errors by their texts, the most frequent first.
func tally(all []entry) []string {
	counts := map[string]int{}
	for _, e := range all {
		if e.what == failed {
			counts[e.text]++
		}
	}
	var lines []string
	for text, n := range counts {
		lines = append(lines, fmt.Sprintf("%7d × %s", n, text))
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(b, a) })
	return lines[:min(len(lines), 20)]
}

// indent puts lines below a message.
func indent(lines []string) string { return "\n\t" + strings.Join(lines, "\n\t") }
