package keyfilletcd_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// TestRestored: a cluster whose data is an older copy stands lower, which processes find
// out that have seen more of it.
func TestRestored(t *testing.T) {
	members := testdb.StartEtcd(t, 1)
	st := state("orders")
	saw, other := opened(t, members).Reserver(st), opened(t, members).Reserver(st)
	before := storetest.Await(t, saw, 10, 0)
	members[0].Kill(t)
	restore := members[0].Save(t)
	members[0].Restart(t)
	same := storetest.Await(t, saw, 10, 11)
	if same.First != 11 || same.Server != before.Server {
		t.Errorf("after a restart: %+v, and %+v before", same, before)
	}
	storetest.Await(t, other, 10, 0)
	members[0].Kill(t)
	restore()
	members[0].Restart(t)
	back := storetest.Await(t, saw, 10, 21)
	if back.First != 11 || back.Server == before.Server {
		t.Errorf("a restored cluster answers with %+v, and with %+v before: neither where it stands nor another server", back, before)
	}
	src, err := counting.NewSequence(counting.SequenceOptions{Reserver: saw}, keysource.Env{StoreWait: time.Hour})
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
	sources := map[keysource.Remedy]*counting.Sequence{}
	for _, remedy := range []keysource.Remedy{keysource.RemedyError, keysource.RemedyAdvance} {
		src, err := counting.NewSequence(counting.SequenceOptions{
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

func draw(t *testing.T, src *counting.Sequence, want int64) {
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
		storetest.Await(t, s.Reserver(state("shared")), 1, 0)
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
