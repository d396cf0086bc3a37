package stores_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	osexec "os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// memberVariable is the environment variable that holds a member as JSON.
const memberVariable = "KEYFILL_E2E_MEMBER"

// crowdMember is a process of a crowd. Each line of its standard input is an [crowdOrder], and is
// answered with the [crowdCounts] so far. It ends with its standard input.
type crowdMember struct{ Driver, DSN, Policy string }

// crowdOrder says what a member does until the next order: with a rate it stores rows, without
// one it draws keys alone, as many as it gets.
type crowdOrder struct {
	Table     string // empty: nothing
	PerSecond float64
	Skip      int // keys that are drawn before
}

// crowdCounts are a member's since its start.
type crowdCounts struct {
	Rows         int64 // rows, or keys where none are stored
	Errors       int64
	Reservations int64  // of blocks
	Upstream     int64  // fetches from the store of upstream
	Err          string // one of the errors
}

// runMember does what a member does, and returns the exit code of the process.
func runMember(text string) int {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	var m crowdMember
	err := json.Unmarshal([]byte(text), &m)
	if err == nil {
		err = m.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (m *crowdMember) run() error {
	cfg, err := policy.Parse([]byte(m.Policy))
	if err != nil {
		return err
	}
	connector, err := harness.NewConnector(m.Driver, m.DSN)
	if err != nil {
		return err
	}
	db, err := keyfill.OpenDB(connector, keyfill.Options{Policy: cfg})
	if err != nil {
		return err
	}
	defer db.Close()
	mount, err := keyfill.From(db)
	if err != nil {
		return err
	}
	var rows, errors atomic.Int64
	var last atomic.Value
	obey := func(ctx context.Context, o crowdOrder) {
		insert := "INSERT INTO " + o.Table + " (note) VALUES ('a row')"
		if o.Skip > 0 {
			if _, err := mount.Reserve(ctx, o.Table, o.Skip); err != nil {
				errors.Add(1)
				last.Store(err.Error())
			}
		}
		for due := time.Now(); ctx.Err() == nil; {
			var err error
			if o.PerSecond == 0 {
				_, err = mount.Reserve(ctx, o.Table, 1)
			} else {
				time.Sleep(time.Until(due)) // a process that was late stores its next rows at once
				due = due.Add(time.Duration(float64(time.Second) / o.PerSecond))
				_, err = db.ExecContext(context.WithoutCancel(ctx), insert)
			}
			switch {
			case ctx.Err() != nil && err != nil:
			case err != nil:
				errors.Add(1)
				last.Store(err.Error())
			default:
				rows.Add(1)
			}
		}
	}
	begin := func(o crowdOrder) (end func()) {
		ctx, cancel := context.WithCancel(context.Background())
		var busy sync.WaitGroup
		if o.Table != "" {
			busy.Go(func() { obey(ctx, o) })
		}
		return func() { cancel(); busy.Wait() }
	}
	end := func() {}
	orders := json.NewDecoder(bufio.NewReader(os.Stdin))
	answers := json.NewEncoder(os.Stdout)
	for {
		var o crowdOrder
		if err := orders.Decode(&o); err == io.EOF {
			end()
			return nil
		} else if err != nil {
			return err
		}
		if o != (crowdOrder{Table: countsOnly}) {
			end()
			end = begin(o)
		}
		now := crowdCounts{Rows: rows.Load(), Errors: errors.Load()}
		now.Err, _ = last.Load().(string)
		for _, s := range mount.Sources() {
			now.Reservations += int64(s.Fetches)
			now.Upstream += int64(s.UpstreamFetches)
		}
		if err := answers.Encode(now); err != nil {
			return err
		}
	}
}

// countsOnly is the table of an order that changes nothing.
const countsOnly = "?"

// crowdMembers are the processes of a crowd.
type crowdMembers []*crowdMembership

// crowdMembership is a process of a crowd, and its two ends.
type crowdMembership struct {
	orders  *json.Encoder
	answers *json.Decoder
}

// startMembers starts processes, which end with the test.
func startMembers(t *testing.T, m crowdMember, n int) (all crowdMembers) {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		cmd := osexec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), memberVariable+"="+string(text), "GOMAXPROCS=1")
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("a process of a crowd: %v", err)
			}
		})
		all = append(all, &crowdMembership{json.NewEncoder(in), json.NewDecoder(out)})
	}
	return all
}

// tell gives all members an order, and returns the sum of their counts.
func (all crowdMembers) tell(t *testing.T, o crowdOrder) (sum crowdCounts) {
	t.Helper()
	for _, m := range all {
		if err := m.orders.Encode(o); err != nil {
			t.Fatalf("a process of a crowd does not listen: %v", err)
		}
	}
	for _, m := range all {
		var one crowdCounts
		if err := m.answers.Decode(&one); err != nil {
			t.Fatalf("a process of a crowd does not answer: %v", err)
		}
		sum.Rows += one.Rows
		sum.Errors += one.Errors
		sum.Reservations += one.Reservations
		sum.Upstream += one.Upstream
		if one.Err != "" {
			sum.Err = one.Err
		}
	}
	return sum
}
