package keyfilletcd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// cutter stands between clients and a member. When it is armed, the next answer of the
// member is lost with its connection: the member has done what it was asked for. So is one
// of every so many answers, where that is set.
type cutter struct {
	listener net.Listener
	member   string

	mu      sync.Mutex
	armed   bool
	every   int // 0: none but where it is armed
	answers int
	cuts    int
}

func startCutter(t *testing.T, m *testdb.EtcdMember) *cutter {
	t.Helper()
	u, err := url.Parse(m.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{member: u.Host}
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			in, err := c.listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { c.serve(in) })
		}
	})
	t.Cleanup(func() {
		_ = c.listener.Close()
		conns.Wait()
	})
	return c
}

// serve carries one connection until either side ends it.
func (c *cutter) serve(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", c.member)
	if err != nil {
		return
	}
	defer out.Close()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	})
	both.Go(func() {
		defer in.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := out.Read(buffer)
			if err != nil || n > 5 && c.cut(buffer[:n]) {
				_ = out.Close()
				return
			}
			if _, err := in.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	both.Wait()
}

// cut reports whether an answer is lost: one that holds a frame of headers or data of
// HTTP/2, and not only frames of the connection.
func (c *cutter) cut(bytes []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(bytes) >= 9 {
		length := int(bytes[0])<<16 | int(bytes[1])<<8 | int(bytes[2])
		if kind := bytes[3]; kind == 0 || kind == 1 {
			c.answers++
			if c.armed || c.every > 0 && c.answers%c.every == 0 {
				c.armed = false
				c.cuts++
				return true
			}
			return false
		}
		bytes = bytes[min(len(bytes), 9+length):]
	}
	return false
}

func (c *cutter) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = true
}

// lost returns how many answers were lost.
func (c *cutter) lost() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

// open opens a store through the cutter.
func (c *cutter) open(t *testing.T) keysource.Store {
	t.Helper()
	s, err := keyfilletcd.Driver{}.OpenStore(c.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestAnswerLost: the integers of a reservation whose answer was lost are nobody's, and a
// store that is asked again gives others.
func TestAnswerLost(t *testing.T) {
	members := testdb.StartEtcd(t, 1)
	c := startCutter(t, members[0])
	r := c.open(t).Reserver(state("orders"))
	seen := int64(0)
	gaps := 0
	for range 20 {
		c.arm()
		if got, err := r.Reserve(t.Context(), 10, seen); err == nil {
			t.Fatalf("a reservation whose answer was lost: %+v", got)
		} else if errors.Is(err, keysource.ErrStoreState) {
			t.Fatalf("a lost answer is taken for a state of no use: %v", err)
		}
		got := reserve(t, r, 10, seen)
		switch {
		case got.First < seen:
			t.Fatalf("after %d came %+v", seen, got)
		case seen > 0 && got.First == seen+10:
			gaps++ // what the lost answer had
		case seen > 0 && got.First != seen:
			t.Errorf("after %d came %+v", seen, got)
		}
		seen = got.First + 10
	}
	if n := c.lost(); n != 20 || gaps < 10 {
		t.Errorf("%d answers were lost, which has left %d gaps", n, gaps)
	}
}

// sharing returns one state in several stores, each of which has reserved n integers of it.
func sharing(t *testing.T, members []*testdb.EtcdMember, stores int, n int64) (all []keysource.Reserver) {
	t.Helper()
	for range stores {
		r := opened(t, members).Reserver(state("shared"))
		reserve(t, r, n, 0)
		all = append(all, r)
	}
	return all
}

// reserve reserves as soon as the store answers.
func reserve(t *testing.T, r keysource.Reserver, n, seen int64) keysource.Reservation {
	t.Helper()
	for {
		got, err := r.Reserve(t.Context(), n, seen)
		if err == nil {
			return got
		}
		if errors.Is(err, keysource.ErrStoreState) || t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSourcesAnswersLost: while one of nine answers is lost, to whatever it was, no source
// makes a key twice, and each goes on.
func TestSourcesAnswersLost(t *testing.T) {
	members := testdb.StartEtcd(t, 1)
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := startCutter(t, members[0])
			c.every = 9
			var all seen
			for i := range 2 {
				src, err := newSource(c.open(t), kind, fmt.Sprint("owner", i))
				if err != nil {
					t.Fatal(err)
				}
				for range 400 {
					key, err := src.Reserve(t.Context(), 1)
					if err != nil {
						t.Fatalf("after %d keys: %v", all.count(), err)
					}
					all.add(t, key)
				}
				_ = src.Close(t.Context()) // its answer may be lost, too
			}
			if c.lost() == 0 {
				t.Error("no answer was lost")
			}
		})
	}
}

// TestRestored: a cluster whose data is a copy from before stands lower, which those find
// out who have seen more of it.
func TestRestored(t *testing.T) {
	members := testdb.StartEtcd(t, 1)
	st := state("orders")
	saw, other := opened(t, members).Reserver(st), opened(t, members).Reserver(st)
	before := reserve(t, saw, 10, 0)
	members[0].Kill(t)
	restore := members[0].Save(t)
	members[0].Restart(t)
	same := reserve(t, saw, 10, 11)
	if same.First != 11 || same.Server != before.Server {
		t.Errorf("after a restart: %+v, and %+v before", same, before)
	}
	reserve(t, other, 10, 0)
	members[0].Kill(t)
	restore()
	members[0].Restart(t)
	back := reserve(t, saw, 10, 21)
	if back.First != 11 || back.Server == before.Server {
		t.Errorf("a restored cluster answers with %+v, and with %+v before: neither where it stands nor another server", back, before)
	}
	src, err := keysource.NewSequence(keysource.SequenceOptions{Reserver: saw}, keysource.Env{StoreWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close(t.Context())
	if _, err := src.Reserve(t.Context(), 1); err != nil {
		t.Errorf("a source that has seen nothing: %v", err)
	}
}

// TestRestoredUnderSource: a source whose store has gone back makes no key, or raises the
// state, as its options say.
func TestRestoredUnderSource(t *testing.T) {
	members := testdb.StartEtcd(t, 1)
	sources := map[keysource.Remedy]*keysource.Sequence{}
	for _, remedy := range []keysource.Remedy{keysource.RemedyError, keysource.RemedyAdvance} {
		src, err := keysource.NewSequence(keysource.SequenceOptions{
			Reserver: opened(t, members).Reserver(state("orders " + string(remedy))), Block: 1, OnStoreRollback: remedy,
		}, keysource.Env{StoreWait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close(t.Context())
		sources[remedy] = src
		draw(t, src, 1)
	}
	members[0].Kill(t)
	restore := members[0].Save(t)
	members[0].Restart(t)
	for _, src := range sources {
		for want := range int64(5) {
			draw(t, src, want+2)
		}
	}
	members[0].Kill(t)
	restore()
	members[0].Restart(t)
	if _, err := sources[keysource.RemedyError].Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrStoreBack) {
		t.Errorf("a store that has gone back: %v, want %v", err, keysource.ErrStoreBack)
	}
	draw(t, sources[keysource.RemedyAdvance], 7)
}

func draw(t *testing.T, src *keysource.Sequence, want int64) {
	t.Helper()
	if got, err := src.Reserve(t.Context(), 1); err != nil || got != want {
		t.Fatalf("the key %d, %v, want %d", got, err, want)
	}
}

// TestMemberSilent: where a member stops answering, as one does that has lost its network, a
// store waits for it once, and asks another one from then on. It comes back to the silent
// one where two others have been too slow.
func TestMemberSilent(t *testing.T) {
	const stores, answers = 24, 5
	members := testdb.StartEtcd(t, 3)
	var all []keysource.Store
	for range stores {
		s := opened(t, members)
		reserve(t, s.Reserver(state("shared")), 1, 0)
		all = append(all, s)
	}
	silent := 0
	if metric(t, members[silent], "etcd_server_is_leader") == 1 { // without an election it is its own answers alone that are missed
		silent = 1
	}
	members[silent].Pause(t)
	defer members[silent].Resume(t)
	waited := 0
	var mu sync.Mutex
	var group sync.WaitGroup
	for i, s := range all {
		group.Go(func() {
			r := s.Reserver(state("shared"))
			missed, slow := 0, 0
			for answered := 0; answered < answers && t.Context().Err() == nil; {
				asked := keyfilletcd.Asked(s)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				_, err := r.Reserve(ctx, 1, 0)
				cancel()
				switch {
				case err == nil:
					answered++
				case asked == silent:
					missed++
				default:
					slow++
				}
				if err == nil && asked == silent {
					t.Errorf("store %d has an answer of the silent member", i)
				}
			}
			if missed > 1+slow/2 {
				t.Errorf("store %d asked the silent member %d times, and another one too slow %d times", i, missed, slow)
			}
			mu.Lock()
			defer mu.Unlock()
			waited += missed
		})
	}
	group.Wait()
	if waited == 0 {
		t.Error("no store has asked the silent member, so this test shows nothing")
	}
}
