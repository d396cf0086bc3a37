package keyfillredis_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// lease is the lease of the owners in these tests.
const lease = 2 * time.Second

// drawVariable makes the test binary a process that draws keys: see startDrawing.
const drawVariable = "KEYFILLREDIS_TEST_DRAW"

func TestMain(m *testing.M) {
	if text := os.Getenv(drawVariable); text != "" {
		if err := drawAll(text); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// open opens a store on a server, or on the nodes of a cluster.
func open(t testing.TB, servers ...*testdb.RedisServer) keysource.Store {
	t.Helper()
	s, err := keyfillredis.Driver{}.OpenEndpoints(keysource.Endpoints{Addresses: addressesOf(servers)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened is open for a store that is closed with the test.
func opened(t testing.TB, servers ...*testdb.RedisServer) keysource.Store {
	t.Helper()
	s := open(t, servers...)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func addressesOf(servers []*testdb.RedisServer) []string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return all
}

// state is the state of a source, which begins at 1.
func state(name string) keysource.State {
	return keysource.State{
		Name: name, Parameters: "p", Max: 1 << 62,
		First: func(context.Context) (int64, error) { return 1, nil },
	}
}

// source is what tests draw from.
type source interface {
	Reserve(ctx context.Context, n int64) (int64, error)
	Close(ctx context.Context) error
}

// kinds are the sources that keep states in Redis.
var kinds = []string{"sequence", "recycled", "leased"}

// newSource opens a source of a kind on a store. All sources of one kind have one state.
func newSource(s keysource.Store, kind, owner string) (source, error) {
	env := keysource.Env{StoreWait: time.Minute}
	switch kind {
	case "sequence":
		return keysource.NewSequence(keysource.SequenceOptions{Reserver: s.Reserver(state(kind)), Block: 20}, env)
	case "recycled":
		rows := s.Series(state(kind), keysource.SeriesOwner{Size: 1000, Lease: lease, Owner: owner})
		return keysource.NewRecycled(keysource.RecycledOptions{Store: rows, Size: 1000, Lease: lease, Block: 20}, env)
	}
	numbers := state(kind)
	numbers.Max = 1024
	return keysource.NewLeased(keysource.LeasedOptions{
		Store: s.Series(numbers, keysource.SeriesOwner{Size: 1, Lease: lease, Owner: owner}), Lease: lease,
		Open: func(worker int) (*keysource.Snowflake, error) {
			return keysource.NewSnowflake(keysource.SnowflakeOptions{
				Worker: &worker, Marker: s.Marker(state(kind+" marks"), int64(worker), owner),
			}, env)
		},
	}, env)
}

// drawing is a process that draws keys, each of which it prints.
type drawing struct {
	*exec.Cmd
	lines *bufio.Scanner
}

// startDrawing starts a process that draws keys from a source of a kind, whose store is a
// DSN, until it is killed. It waits for the time between after each.
func startDrawing(t *testing.T, dsn, kind, owner string, between time.Duration) *drawing {
	t.Helper()
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &drawing{Cmd: exec.Command(command)}
	d.Env = append(os.Environ(), drawVariable+"="+strings.Join([]string{kind, owner, between.String(), dsn}, " "))
	d.Stderr = os.Stderr
	d.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.lines = bufio.NewScanner(out)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.Process.Kill() // it may have ended
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

// drawAll is the process of startDrawing.
func drawAll(text string) error {
	var kind, owner, between, dsn string
	if _, err := fmt.Sscan(text, &kind, &owner, &between, &dsn); err != nil {
		return err
	}
	pause, err := time.ParseDuration(between)
	if err != nil {
		return err
	}
	s, err := keyfillredis.Driver{}.OpenStore(dsn)
	if err != nil {
		return err
	}
	src, err := newSource(s, kind, owner)
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
