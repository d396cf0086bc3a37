package stores_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// fleet is the processes of a test, which all have one policy.
type fleet struct {
	t      *testing.T
	like   pod // what they all are
	folder string
	all    []*process
}

// process is a pod that was started.
type process struct {
	t       *testing.T
	number  int // in the order of the starts, from 0
	journal string
	cmd     *osexec.Cmd
	stdin   io.Closer
	stderr  bytes.Buffer
	ended   bool
}

// newFleet returns a fleet without processes, whose keys are a source's with states st.
func newFleet(t *testing.T, st states, source string, mounts int, pause time.Duration) *fleet {
	t.Helper()
	f := &fleet{t: t, folder: t.TempDir(), like: pod{Policy: st.policy(source), Mounts: mounts, Pause: pause}}
	f.like.Driver, f.like.DSN = st.application()
	return f
}

// start starts a process, in a host of its own where the host is named. The process is
// killed if it is still there when the test ends.
func (f *fleet) start(host string) *process {
	f.t.Helper()
	p := &process{t: f.t, number: len(f.all)}
	p.journal = filepath.Join(f.folder, fmt.Sprint(p.number))
	one := f.like
	one.Journal, one.Host = p.journal, host
	text, err := json.Marshal(one)
	if err != nil {
		f.t.Fatal(err)
	}
	p.cmd = osexec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), podVariable+"="+string(text))
	p.cmd.Stderr = &p.stderr
	if host != "" {
		// Kubernetes gives each pod such a name space, too.
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		f.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if !p.ended {
			_ = p.cmd.Process.Kill() // the test has failed
			_ = p.cmd.Wait()
		}
	})
	f.all = append(f.all, p)
	return p
}

// startMany starts processes that do not wait for each other.
func (f *fleet) startMany(n int) (all []*process) {
	f.t.Helper()
	for range n {
		all = append(all, f.start(""))
	}
	return all
}

// startInWaves starts processes, so many at once: the next ones when each mount of those has
// drawn a key.
func (f *fleet) startInWaves(n, wave int) (all []*process) {
	f.t.Helper()
	for len(all) < n {
		some := f.startMany(min(wave, n-len(all)))
		f.awaitFirstKeys(some)
		all = append(all, some...)
	}
	return all
}

// draws returns the draws that the process has written so far.
func (p *process) draws() []draw {
	p.t.Helper()
	return slices.DeleteFunc(p.lines(), func(d draw) bool { return d.failed == closed })
}

// lines returns all that the process has written so far.
func (p *process) lines() []draw {
	p.t.Helper()
	all, err := readJournal(p.journal)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// await waits until each mount of each process has written a line that is wanted after
// the call, or at all where ever is set.
func await(t *testing.T, what string, all []*process, mounts int, ever bool, wanted func(draw) bool) {
	t.Helper()
	had := make([]int, len(all))
	for i, p := range all {
		if !ever {
			had[i] = len(p.draws())
		}
	}
	end := time.Now().Add(harness.Limit)
	for i, p := range all {
		for {
			seen := map[int]bool{}
			lines := p.draws()[had[i]:]
			for _, d := range lines {
				if wanted(d) {
					seen[d.mount] = true
				}
			}
			if len(seen) == mounts {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%d of %d mounts of process %d came to: %s; its errors: %v %s", len(seen), mounts, p.number, what, failures(lines), &p.stderr)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// failures counts errors by their texts.
func failures(lines []draw) map[string]int {
	counts := map[string]int{}
	for _, d := range lines {
		if d.failed != "" {
			counts[d.failed]++
		}
	}
	return counts
}

// awaitKeys waits until each mount of each process has drawn a key after the call.
func (f *fleet) awaitKeys(all []*process) {
	f.t.Helper()
	await(f.t, "a key", all, f.like.Mounts, false, func(d draw) bool { return d.failed == "" })
}

// awaitFirstKeys waits until each mount of each process has drawn a key.
func (f *fleet) awaitFirstKeys(all []*process) {
	f.t.Helper()
	await(f.t, "the first key", all, f.like.Mounts, true, func(d draw) bool { return d.failed == "" })
}

// signal sends a signal to processes.
func signalAll(t *testing.T, all []*process, s syscall.Signal) {
	t.Helper()
	for _, p := range all {
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatalf("process %d: %v: %s", p.number, err, &p.stderr)
		}
	}
}

// stop ends processes by SIGTERM, as Kubernetes does, and waits for them.
func (f *fleet) stop(all []*process) {
	f.t.Helper()
	signalAll(f.t, all, syscall.SIGTERM)
	var waiting sync.WaitGroup
	for _, p := range all {
		p.ended = true
		waiting.Go(func() {
			timer := time.AfterFunc(harness.Limit, func() { _ = p.cmd.Process.Kill() })
			defer timer.Stop()
			if err := p.cmd.Wait(); err != nil {
				f.t.Errorf("process %d: %v: %s", p.number, err, &p.stderr)
			}
		})
	}
	waiting.Wait()
}

// kill ends processes by SIGKILL.
func (f *fleet) kill(all []*process) {
	f.t.Helper()
	signalAll(f.t, all, syscall.SIGKILL)
	for _, p := range all {
		p.ended = true
		// The error is that it was killed.
		if exit := (*osexec.ExitError)(nil); !errors.As(p.cmd.Wait(), &exit) {
			f.t.Errorf("process %d has ended by itself: %s", p.number, &p.stderr)
		}
	}
}
