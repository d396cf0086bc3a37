package storetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// processVariable is set for a test binary that is to draw keys: see startDrawing.
const processVariable = "KEYFILL_TEST_DRAW"

// Process returns at once, unless a test has started this program to draw keys: then it
// draws keys until it is killed. The TestMain of a driver with a [Server] calls it first.
func Process(d keysource.StoreDriver) {
	text := os.Getenv(processVariable)
	if text == "" {
		return
	}
	fmt.Println("error:", drawAll(d, text))
	os.Exit(1)
}

func drawAll(d keysource.StoreDriver, text string) error {
	var o SourceOptions
	var between, lease, dsn string
	_, err := fmt.Sscan(text, &o.Kind, &o.Name, &o.Owner, &lease, &between, &dsn)
	if err != nil {
		return err
	}
	if o.Lease, err = time.ParseDuration(lease); err != nil {
		return err
	}
	pause, err := time.ParseDuration(between)
	if err != nil {
		return err
	}
	s, err := d.OpenStore(dsn)
	if err != nil {
		return err
	}
	src, err := o.Open(s)
	if err != nil {
		return err
	}
	for {
		key, err := src.Reserve(context.Background(), 1)
		if err != nil {
			return err
		}
		if _, err := fmt.Println(key); err != nil {
			return err
		}
		time.Sleep(pause)
	}
}

// drawing is a process that draws keys and prints each of them.
type drawing struct {
	*exec.Cmd
	lines *bufio.Scanner
}

// startDrawing starts a process that draws keys from a source until it is killed. The
// process waits for the time between after each key.
func (s *Server) startDrawing(t *testing.T, o SourceOptions, between time.Duration) *drawing {
	t.Helper()
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &drawing{Cmd: exec.Command(command)}
	d.Env = append(os.Environ(), processVariable+"="+strings.Join([]string{
		o.Kind, o.Name, o.Owner, o.Lease.String(), between.String(), s.Scheme + s.Addr,
	}, " "))
	d.Stderr = os.Stderr
	endWithParent(d.Cmd)
	out, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.lines = bufio.NewScanner(out)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.Process.Kill() // Kill fails if the process has ended already
		_ = d.Wait()
	})
	return d
}

// next returns the next key that the process prints.
func (d *drawing) next() (int64, error) {
	if !d.lines.Scan() {
		return 0, fmt.Errorf("the process has ended (%v)", d.lines.Err())
	}
	return strconv.ParseInt(d.lines.Text(), 10, 64)
}

// take reads keys that the process has drawn.
func (d *drawing) take(t *testing.T, all *Seen, n int) {
	t.Helper()
	for range n {
		key, err := d.next()
		if err != nil {
			t.Fatal(err)
		}
		all.Add(t, key)
	}
}

// signal stops the process by SIGSTOP, as a pause of its machine does, or lets it go on.
func (d *drawing) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := d.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// testStopped checks that a process that is stopped for longer than its lease loses what it
// has leased to another process, and makes no key that the other process makes.
func testStopped(t *testing.T, o Options) {
	for _, kind := range []string{"series", "leased"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var all Seen
			shared := name("orders")
			of := func(owner string) SourceOptions {
				return SourceOptions{Kind: kind, Name: shared, Owner: owner, Lease: o.Lease}
			}
			one := o.Server.startDrawing(t, of("one"), 5*time.Millisecond)
			one.take(t, &all, 100)
			one.signal(t, syscall.SIGSTOP)
			rows := of("two").Series(o.open(t))
			taken := takeOver(t, rows, 1)
			if taken.Epoch != 2 {
				t.Errorf("what was taken over is %+v", taken)
			}
			if err := rows.GiveUp(t.Context(), taken, taken.Next); err != nil {
				t.Fatal(err)
			}
			two := o.Server.startDrawing(t, of("three"), 5*time.Millisecond)
			two.take(t, &all, 100)
			one.signal(t, syscall.SIGCONT)
			for range 5 {
				one.take(t, &all, 50)
				two.take(t, &all, 50)
			}
			if now, err := rows.Own(t.Context()); err != nil || now.First != 0 {
				t.Errorf("what was given up: %+v, %v", now, err)
			}
		})
	}
}

// testProcessesKilled checks that no key is made twice if processes are killed one after
// the other and new processes replace them.
func testProcessesKilled(t *testing.T, o Options) {
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var all Seen
			of := SourceOptions{Kind: kind, Name: name("orders"), Lease: o.Lease}
			for i := range 5 {
				of.Owner = fmt.Sprint("owner", i)
				d := o.Server.startDrawing(t, of, 0)
				d.take(t, &all, 30+i) // so many keys that the process is killed in the middle of a block of reserved integers
				if err := d.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				for key, err := d.next(); err == nil; key, err = d.next() {
					all.Add(t, key) // the keys that the process had printed before it was killed
				}
			}
		})
	}
}

// Drawers are processes that draw keys from one state (a stored counter). Each key is
// noted.
type Drawers struct {
	all   Seen
	drawn []*counter
}

// StartDrawers starts n processes, which end with the test.
func StartDrawers(t *testing.T, n int, s *Server, o SourceOptions) *Drawers {
	t.Helper()
	ds := &Drawers{}
	var readers sync.WaitGroup
	t.Cleanup(readers.Wait) // waits for the readers after the processes were killed
	for i := range n {
		o.Owner = fmt.Sprint("owner", i)
		d := s.startDrawing(t, o, 3*time.Millisecond)
		c := &counter{changed: make(chan struct{})}
		ds.drawn = append(ds.drawn, c)
		readers.Go(func() {
			for {
				key, err := d.next()
				if err != nil {
					c.end()
					return
				}
				ds.all.Add(t, key)
				c.one()
			}
		})
	}
	return ds
}

// GoOn waits until each process has drawn more keys than a block has, so that the store
// must have answered a request.
func (ds *Drawers) GoOn(t *testing.T, when string) {
	t.Helper()
	began := time.Now()
	for i, c := range ds.drawn {
		if !c.await(t, 60) {
			t.Fatalf("process %d has ended %s", i, when)
		}
	}
	t.Logf("%s all processes had 60 more keys after %v, %d keys", when, time.Since(began).Round(time.Millisecond), ds.all.Count())
}

// counter counts what a process has drawn.
type counter struct {
	mu      sync.Mutex
	n       int
	ended   bool
	changed chan struct{} // closed when n or ended changes next
}

func (c *counter) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *counter) one() { c.change(func() { c.n++ }) }
func (c *counter) end() { c.change(func() { c.ended = true }) }

// await waits until n more keys were drawn. It returns false if the process has ended.
func (c *counter) await(t *testing.T, n int) bool {
	t.Helper()
	c.mu.Lock()
	want := c.n + n
	c.mu.Unlock()
	for {
		c.mu.Lock()
		have, ended, changed := c.n, c.ended, c.changed
		c.mu.Unlock()
		if have >= want {
			return true
		}
		if ended {
			return false
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			return false
		}
	}
}
