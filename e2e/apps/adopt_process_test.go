package apps_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// deployment is processes that insert into the table t of one database, and what they
// say about it.
type deployment struct {
	t   *testing.T
	raw *sql.DB // by the plain driver

	rolling rolling

	// expected is in the errors of INSERTs that docs/adopting.md says may fail, of which
	// there are expectedMost at most; empty if none may.
	expected     string
	expectedMost int

	// ways are how processes reach the database: one after the other takes the next.
	ways []way

	folder string
	all    []*process
}

// way is a driver's way to the database.
type way struct {
	driver, dsn string
	step        int64 // of the engine's own counter, 0 for 1
}

// process is a process of a deployment.
type process struct {
	writer
	t      *testing.T
	cmd    *osexec.Cmd
	stdin  io.Closer
	stderr bytes.Buffer
	killed bool
	ended  bool
}

// deploy makes an empty database of an engine, whose processes use two drivers, or one
// in two modes.
func deploy(t *testing.T, e harness.Engine) *deployment {
	t.Helper()
	d := &deployment{t: t, folder: t.TempDir(), ways: []way{{driver: e.Driver, dsn: e.DSN(t)}}}
	d.raw = harness.Open(t, e.Driver, d.ways[0].dsn)
	switch e.Dialect.Family {
	case dialect.FamilyMySQL:
		d.ways = append(d.ways, way{driver: "mysql", dsn: harness.WithParams(d.ways[0].dsn, "interpolateParams=true")})
	case dialect.FamilyPostgreSQL:
		d.ways = append(d.ways, way{driver: "postgres", dsn: strings.TrimSuffix(d.ways[0].dsn, "&"+e.Params)})
	}
	return d
}

// start starts a process of a kind, which fills ids by the entry of the policy, or
// without keyfill where there is none.
func (d *deployment) start(kind, entry string) *process {
	d.t.Helper()
	p := d.newProcess(kind, entry)
	d.run(p)
	return p
}

// startHolding starts a process without keyfill that has inserted three rows in an open
// transaction, and commits when it is stopped.
func (d *deployment) startHolding() *process {
	d.t.Helper()
	p := d.newProcess("holding", "")
	p.Holds = true
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	d.run(p)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		d.t.Fatalf("the process that holds a transaction wrote %q: %v: %s", line, err, &p.stderr)
	}
	return p
}

// newProcess returns a process that is not started.
func (d *deployment) newProcess(kind, entry string) *process {
	w := d.ways[len(d.all)%len(d.ways)]
	p := &process{t: d.t, writer: writer{
		Driver: w.driver, DSN: w.dsn, Entry: entry, Kind: kind, Number: len(d.all) + 1, Step: max(w.step, 1),
		Last: w.driver == "sqlite", Returning: w.driver == "pgx" || w.driver == "postgres",
		Pause: d.rolling.pause,
	}}
	if entry != "" {
		p.Step = 1
	}
	if kind == outside {
		p.First = outsideFirst + int64(p.Number)*outsideEach
	}
	p.Journal = filepath.Join(d.folder, fmt.Sprint(p.Number))
	p.cmd = osexec.Command(os.Args[0])
	p.cmd.Stderr = &p.stderr
	return p
}

// run starts a process, which is killed if it is still there when the test ends.
func (d *deployment) run(p *process) {
	d.t.Helper()
	text, err := json.Marshal(p.writer)
	if err != nil {
		d.t.Fatal(err)
	}
	p.cmd.Env = append(os.Environ(), writerVariable+"="+string(text))
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		d.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if !p.ended {
			_ = p.cmd.Process.Kill() // the test has failed
			_ = p.cmd.Wait()
		}
	})
	d.all = append(d.all, p)
}

// startAll starts processes of a kind, each when the one before has inserted.
func (d *deployment) startAll(n int, kind, entry string) (all []*process) {
	d.t.Helper()
	for range n {
		p := d.start(kind, entry)
		p.await()
		all = append(all, p)
	}
	return all
}

// await waits until the process has ended ten INSERTs after the call. A process whose
// INSERTs fail is awaited too: the comparison in the end reports the failures.
func (p *process) await() {
	p.t.Helper()
	before, _ := os.Stat(p.Journal) // there is none before the first INSERT
	var from int64
	if before != nil {
		from = before.Size()
	}
	for end := time.Now().Add(harness.Limit); ; time.Sleep(10 * time.Millisecond) {
		text, err := journalFrom(p.Journal, from)
		if err != nil {
			p.t.Fatal(err)
		}
		if bytes.Count(text, []byte("\n")) >= 10 {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("the process %s %d does not insert: %s", p.Kind, p.Number, &p.stderr)
		}
	}
}

// journalFrom returns what a journal holds from an offset on, 4,096 bytes at most.
func journalFrom(path string, offset int64) ([]byte, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.NewSectionReader(file, offset, 4096))
}

// stop lets the process end what it is about, and close its database.
func (p *process) stop() {
	p.t.Helper()
	p.ended = true
	_ = p.stdin.Close() // an error is that it has ended
	timer := time.AfterFunc(harness.Limit, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the process %s %d: %v: %s", p.Kind, p.Number, err, &p.stderr)
	}
}

// kill ends the process by SIGKILL.
func (p *process) kill() {
	p.t.Helper()
	p.ended, p.killed = true, true
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Errorf("the process %s %d has ended by itself: %v: %s", p.Kind, p.Number, err, &p.stderr)
	}
	_ = p.cmd.Wait() // its error is that the process was killed
}

// replace starts a process instead of another one, which is stopped.
func (d *deployment) replace(p *process, kind, entry string) *process {
	d.t.Helper()
	other := d.startAll(1, kind, entry)[0]
	p.stop()
	return other
}

// during lets processes insert for a time. Meanwhile one after the other is replaced by
// one of its kind, by turns in good order and after a SIGKILL, as a crash is.
func (d *deployment) during(spell time.Duration, all []*process) {
	d.t.Helper()
	pause := min(spell/12, d.rolling.calm)
	for n, end := 0, time.Now().Add(spell); time.Now().Before(end); n++ {
		time.Sleep(pause)
		p := all[n%len(all)]
		if n%3 == 1 {
			p.kill()
			all[n%len(all)] = d.startAll(1, p.Kind, p.Entry)[0]
			continue
		}
		all[n%len(all)] = d.replace(p, p.Kind, p.Entry)
	}
	for _, p := range all {
		p.await()
	}
}

// end stops the processes that still run, and compares the table with their reports. No
// INSERT of any process may have failed, and each of the kinds has inserted.
func (d *deployment) end(kinds ...string) {
	d.t.Helper()
	told := &told{rows: map[int64]mark{}, count: map[string]int{}, open: map[mark]bool{}}
	for _, p := range d.all {
		if !p.ended {
			p.stop()
		}
		if err := told.read(p); err != nil {
			d.t.Fatal(err)
		}
	}
	for _, kind := range kinds {
		if told.count[kind] < 10 {
			d.t.Errorf("%d INSERTs of %s, want at least 10", told.count[kind], kind)
		}
	}
	told.failed = d.unexpected(told.failed)
	told.compare(d.t, d.raw)
	d.t.Logf("%d processes", len(d.all))
}

// unexpected returns the failures of which docs/adopting.md does not speak.
func (d *deployment) unexpected(failed []string) []string {
	d.t.Helper()
	if d.expected == "" {
		return failed
	}
	others := slices.DeleteFunc(slices.Clone(failed), func(text string) bool { return strings.Contains(text, d.expected) })
	n := len(failed) - len(others)
	d.t.Logf("%d INSERTs failed with %q", n, d.expected)
	if n > d.expectedMost {
		d.t.Errorf("%d INSERTs failed with %q, want at most %d", n, d.expected, d.expectedMost)
	}
	return others
}
