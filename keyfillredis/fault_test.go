package keyfillredis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// TestServerKilled: sources of three processes draw from a server that is killed and started
// again. No key comes twice, and each process goes on.
func TestServerKilled(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := testdb.StartRedis(t)
			drawers := storetest.StartDrawers(t, 3, serverOf(server), storetest.SourceOptions{Kind: kind, Name: kind, Lease: lease})
			drawers.GoOn(t, "at first")
			for range 3 {
				server.Kill(t)
				server.Restart(t)
				drawers.GoOn(t, "after the server was killed")
			}
		})
	}
}

// TestRestored: a server whose data is a copy from before stands lower, and is another one
// as each server that was started again is.
func TestRestored(t *testing.T) {
	t.Parallel()
	server := testdb.StartRedis(t)
	st := state("orders")
	saw, other := opened(t, server).Reserver(st), opened(t, server).Reserver(st)
	before := storetest.Await(t, saw, 10, 0)
	if same := storetest.Await(t, other, 10, 0); same.Server != before.Server {
		t.Errorf("one server is called %q and %q", before.Server, same.Server)
	}
	server.Kill(t)
	restore := server.Save(t)
	server.Restart(t)
	again := storetest.Await(t, saw, 10, 11)
	if again.First != 21 || again.Server == before.Server {
		t.Errorf("after a restart: %+v, and %+v before", again, before)
	}
	storetest.Await(t, other, 10, 0)
	server.Kill(t)
	restore()
	server.Restart(t)
	back := storetest.Await(t, saw, 10, 31)
	if back.First != 21 || back.Server == again.Server {
		t.Errorf("a restored server answers with %+v, and with %+v before: neither where it stands nor another server", back, again)
	}
}

// failOver makes a replica of a primary the primary, which lacks what was written to the old
// one in between.
func failOver(t *testing.T, primary, replica *testdb.RedisServer, lost func()) {
	t.Helper()
	replica.Follow(t, primary)
	replica.Reach(t, primary)
	replica.Kill(t)
	lost()
	primary.Kill(t)
	replica.Restart(t)
	replica.Follow(t, nil)
}

// atEither opens a store whose client asks the primary, and the replica from the failover on.
func atEither(t *testing.T, at *string) keysource.Store {
	t.Helper()
	client := newClientAt(at)
	t.Cleanup(func() { _ = client.Close() })
	name := "redis-" + t.Name() + *at
	if err := keyfillredis.Register(name, client); err != nil {
		t.Fatal(err)
	}
	return registered(t, name, "")
}

// TestFailover: a source notices that a replica has taken over that lacks the last writes,
// and makes no key, or raises the state, as its options say.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary, replica := testdb.StartRedis(t), testdb.StartRedis(t)
	at := primary.Addr()
	s := atEither(t, &at)
	sources := map[keysource.Remedy]*counting.Sequence{}
	last := map[*counting.Sequence]int64{}
	for _, remedy := range []keysource.Remedy{keysource.RemedyError, keysource.RemedyAdvance} {
		src, err := counting.NewSequence(counting.SequenceOptions{
			Reserver: s.Reserver(state("orders " + string(remedy))), Block: 1, OnStoreRollback: remedy,
		}, keysource.Env{StoreWait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close(t.Context())
		sources[remedy] = src
		last[src] = drawAbove(t, src, 0)
	}
	failOver(t, primary, replica, func() {
		for _, src := range sources {
			for range 5 {
				last[src] = drawAbove(t, src, last[src])
			}
		}
	})
	at = replica.Addr()
	if _, err := sources[keysource.RemedyError].Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrStoreBack) {
		t.Errorf("a store that has gone back: %v, want %v", err, keysource.ErrStoreBack)
	}
	src := sources[keysource.RemedyAdvance]
	drawAbove(t, src, last[src])
}

// TestFailoverOfOthers: a source whose own integers are all there asks the table after a
// failover, since others may have stored keys that the replica knows nothing of.
func TestFailoverOfOthers(t *testing.T) {
	t.Parallel()
	primary, replica := testdb.StartRedis(t), testdb.StartRedis(t)
	at := primary.Addr()
	s := atEither(t, &at)
	greatest := int64(0)
	src, err := counting.NewSequence(counting.SequenceOptions{
		Reserver: s.Reserver(state("orders")), Block: 1, OnStoreRollback: keysource.RemedyAdvance,
		MaxKey: func(context.Context) (int64, error) { return greatest, nil },
	}, keysource.Env{StoreWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close(t.Context())
	drawAbove(t, src, 0)
	failOver(t, primary, replica, func() {
		got := storetest.Await(t, opened(t, primary).Reserver(state("orders")), 7, 0)
		greatest = got.First + 6 // another process has stored them
	})
	at = replica.Addr()
	drawAbove(t, src, greatest)
}

// drawAbove draws a key above another one.
func drawAbove(t *testing.T, src *counting.Sequence, above int64) int64 {
	t.Helper()
	got, err := src.Reserve(t.Context(), 1)
	if err != nil || got <= above {
		t.Fatalf("the key %d, %v, want one above %d", got, err, above)
	}
	return got
}

// TestSentinel: a sentinel makes a replica the primary that has all writes, and the sources
// of processes go on there.
func TestSentinel(t *testing.T) {
	t.Parallel()
	primary, replica := testdb.StartRedis(t), testdb.StartRedis(t)
	replica.Follow(t, primary)
	sentinel := testdb.StartRedisSentinel(t, primary)
	sentinel.Await(t, "the sentinel", func() bool {
		return strings.Contains(sentinel.Command(t, "INFO", "sentinel"), "slaves=1")
	})
	s, err := keyfillredis.Driver{}.OpenStore("redis://" + sentinel.Addr() + "/0?master_name=main")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Reserver(state("orders"))
	before := storetest.Await(t, r, 10, 0)
	replica.Reach(t, primary)
	primary.Kill(t)
	sentinel.Command(t, "SENTINEL", "SET", "main", "down-after-milliseconds", "1000")
	after := storetest.Await(t, r, 10, 11)
	if after.First != 11 || after.Server == before.Server {
		t.Errorf("after a failover: %+v, and %+v before", after, before)
	}
}

// TestReplica: a replica gives nothing, even where it takes writes, which it would forget.
func TestReplica(t *testing.T) {
	t.Parallel()
	primary := testdb.StartRedis(t)
	for _, readOnly := range []string{"yes", "no"} {
		replica := testdb.StartRedis(t, "--replica-read-only", readOnly)
		replica.Follow(t, primary)
		s := opened(t, replica)
		if got, err := s.Reserver(state("orders")).Reserve(t.Context(), 1, 0); err == nil || !strings.Contains(err.Error(), "is a replica") {
			t.Errorf("replica-read-only %s: %+v, %v", readOnly, got, err)
		}
		if err := s.Bind(t.Context(), state("orders"), "orders.id"); err == nil || !strings.Contains(err.Error(), "is a replica") {
			t.Errorf("replica-read-only %s: Bind: %v", readOnly, err)
		}
	}
}

// TestPaused: a question ends with its context, while the server does not answer.
func TestPaused(t *testing.T) {
	t.Parallel()
	server := testdb.StartRedis(t)
	r := opened(t, server).Reserver(state("orders"))
	storetest.Await(t, r, 1, 0)
	server.Command(t, "CLIENT", "PAUSE", "600000", "WRITE")
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error)
	go func() {
		_, err := r.Reserve(ctx, 1, 0)
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a server that was paused: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("a question that was given up: %v", err)
	}
	server.Command(t, "CLIENT", "UNPAUSE")
	if got := storetest.Await(t, r, 1, 0); got.First < 2 {
		t.Errorf("after the pause: %+v", got)
	}
}

// TestScriptsForgotten: a server that was made to forget the scripts gets them again.
func TestScriptsForgotten(t *testing.T) {
	server := shared.Need(t)
	r := openedBelow(t, newPrefix(), server).Reserver(state("orders"))
	for want := range int64(3) {
		if got, err := r.Reserve(t.Context(), 1, 0); err != nil || got.First != want+1 {
			t.Errorf("%+v, %v, want %d", got, err, want+1)
		}
		server.Command(t, "SCRIPT", "FLUSH")
	}
}
