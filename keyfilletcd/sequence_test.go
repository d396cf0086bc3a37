package keyfilletcd_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
)

// etcdClient returns a client of the members.
func etcdClient(t *testing.T, members []*testdb.EtcdMember) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: urls(members)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// stored returns the keys below a prefix, without it, as key=value (version).
func stored(t *testing.T, client *clientv3.Client, prefix string) map[string]int64 {
	t.Helper()
	answer, err := client.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, kv := range answer.Kvs {
		all[string(kv.Key[len(prefix):])+"="+string(kv.Value)] = kv.Version
	}
	return all
}

// TestCounts: a reservation writes one key for each digit of it that is not 0, with where the
// sequence stood. The state's key changes where it has to name another count.
func TestCounts(t *testing.T) {
	p := newPlace(t)
	client := etcdClient(t, p.members)
	whole := state("counted")
	whole.Max = math.MaxInt64
	r := p.opened(t).Reserver(whole)
	next := int64(1)
	for _, n := range []int64{1000, 1000, 1, 1320, 5_000_000_000_000_000_000} {
		if got := storetest.Await(t, r, n, next); got.First != next {
			t.Errorf("Reserve(%d): %+v, want %d", n, got, next)
		}
		next += n
	}
	want := map[string]int64{"1000=2002": 3, "1=2001": 1, "300=2002": 1, "20=2002": 1, "5000000000000000000=3322": 1}
	got := stored(t, client, p.prefix+"counts/counted/")
	for key, version := range want {
		if got[key] != version {
			t.Errorf("%s has the version %d, want %d", key, got[key], version)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the counts are %v, want %v", got, want)
	}
	for key, version := range stored(t, client, p.prefix+"states/counted") {
		if version != 1+4 || !strings.Contains(key, `"base":1,"counts":"1000 1 20 300 5000000000000000000",`) {
			t.Errorf("the state is %s, written %d times", key, version)
		}
	}
}

// TestCountsOver: a process that does not know how much others have reserved, and asks
// for more than there is, gets nothing, and neither does any process after that.
func TestCountsOver(t *testing.T) {
	p := newPlace(t)
	whole := state("over")
	whole.Max = math.MaxInt64
	one, two := p.opened(t).Reserver(whole), p.opened(t).Reserver(whole)
	const third = 3_000_000_000_000_000_000
	storetest.Await(t, two, third, 0)
	for i := range int64(2) {
		if got := storetest.Await(t, one, third, 0); got.First != 1+(i+1)*third || got.N != third {
			t.Errorf("Reserve: %+v", got)
		}
	}
	for range 2 {
		for i, r := range []keysource.Reserver{two, one} {
			if got, err := r.Reserve(t.Context(), third, 0); !errors.Is(err, keysource.ErrExhausted) {
				t.Errorf("source %d: Reserve: %+v, %v, want %v", i, got, err, keysource.ErrExhausted)
			}
		}
	}
}

// TestDigitsOfAll: every size of a reservation is the sum of its counts.
func TestDigitsOfAll(t *testing.T) {
	p := newPlace(t)
	r := p.opened(t).Reserver(state("digits"))
	next := int64(1)
	for n := int64(1); n < 1<<58; n = n*7/2 + 1 {
		if got := storetest.Await(t, r, n, next); got.First != next {
			t.Errorf("Reserve(%d): %+v, want %d", n, got, next)
		}
		next += n
	}
}

// TestCopied: counts that were copied without their versions reserve nothing a second time. A
// state that is raised goes on.
func TestCopied(t *testing.T) {
	p := newPlace(t)
	client := etcdClient(t, p.members)
	counts := p.prefix + "counts/copied/"
	first := p.opened(t).Reserver(state("copied"))
	for range 5 {
		storetest.Await(t, first, 1000, 0)
	}
	before, err := client.Get(t.Context(), counts, clientv3.WithPrefix())
	if err != nil || len(before.Kvs) != 1 {
		t.Fatalf("%v, %v", before, err)
	}
	copied := func() {
		t.Helper()
		if _, err := client.Delete(t.Context(), counts, clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Put(t.Context(), string(before.Kvs[0].Key), string(before.Kvs[0].Value)); err != nil {
			t.Fatal(err)
		}
	}
	copied()
	other := p.opened(t).Reserver(state("copied"))
	for range 2 {
		if got, err := other.Reserve(t.Context(), 1000, 0); !errors.Is(err, keysource.ErrStoreState) {
			t.Errorf("Reserve: %+v, %v, want an error", got, err)
		}
	}
	if n := stored(t, client, counts)["1000=4001"]; n != 1 {
		t.Errorf("the count was written, its version is %d", n)
	}
	// A process that has seen more reports where the state stands, and raises it.
	if got, err := first.Reserve(t.Context(), 1000, 5001); err != nil || got.First >= 5001 {
		t.Errorf("Reserve: %+v, %v, want where the state stands", got, err)
	}
	if err := first.Advance(t.Context(), 5001); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Reserve(t.Context(), 1000, 0); err != nil || got.First < 5001 {
		t.Errorf("Reserve: %+v, %v, want it to begin at 5001 or above", got, err)
	}
	// By hand, as the error says.
	copied()
	change(t, client, p.prefix+"states/copied", func(fields map[string]any) { fields["base"] = 9000 })
	for _, r := range []keysource.Reserver{first, other, p.opened(t).Reserver(state("copied"))} {
		if got, err := r.Reserve(t.Context(), 1000, 0); err != nil || got.First < 9000 {
			t.Errorf("Reserve: %+v, %v, want it to begin at 9000 or above", got, err)
		}
	}
}

// TestCountDeleted: if counts were deleted, nothing is reserved until the state was
// raised and does not name them any more.
func TestCountDeleted(t *testing.T) {
	p := newPlace(t)
	client := etcdClient(t, p.members)
	knows := p.opened(t).Reserver(state("deleted"))
	for range 5 {
		storetest.Await(t, knows, 1000, 0)
	}
	storetest.Await(t, knows, 20, 0)
	for _, gone := range []string{"1000", "20"} {
		key := p.prefix + "counts/deleted/" + gone
		if _, err := client.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		for _, r := range []keysource.Reserver{knows, p.opened(t).Reserver(state("deleted"))} {
			for _, n := range []int64{1000, 20} {
				if got, err := r.Reserve(t.Context(), n, 0); !errors.Is(err, keysource.ErrStoreState) {
					t.Errorf("%s is gone: Reserve(%d): %+v, %v, want an error", gone, n, got, err)
				}
			}
			if err := r.Advance(t.Context(), 100_000); !errors.Is(err, keysource.ErrStoreState) {
				t.Errorf("%s is gone: Advance: %v, want an error", gone, err)
			}
		}
		if answer, err := client.Get(t.Context(), key); err != nil || len(answer.Kvs) > 0 {
			t.Errorf("%s is gone: it was written again, or %v", gone, err)
		}
		change(t, client, p.prefix+"states/deleted", func(fields map[string]any) {
			fields["base"] = 50_000
			fields["counts"] = ""
		})
		for _, r := range []keysource.Reserver{knows, p.opened(t).Reserver(state("deleted"))} {
			for _, n := range []int64{1000, 20} {
				if got, err := r.Reserve(t.Context(), n, 0); err != nil || got.First < 50_000 {
					t.Errorf("Reserve(%d): %+v, %v, want it to begin at 50000 or above", n, got, err)
				}
			}
		}
	}
}

// change changes fields of the value of a key.
func change(t *testing.T, client *clientv3.Client, key string, do func(fields map[string]any)) {
	t.Helper()
	answer, err := client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(answer.Kvs[0].Value, &fields); err != nil {
		t.Fatal(err)
	}
	do(fields)
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(t.Context(), key, string(text)); err != nil {
		t.Fatal(err)
	}
}

// TestCountsOfOthers: what is no count below the counts of a state is an error, and so is a
// state that was changed for another kind of source while this one knows it. Nothing is
// reserved then.
func TestCountsOfOthers(t *testing.T) {
	p := newPlace(t)
	client := etcdClient(t, p.members)
	r := p.opened(t).Reserver(state("others"))
	storetest.Await(t, r, 10, 0)
	for _, one := range []struct{ key, value string }{
		{p.prefix + "counts/others/ten", "1"}, {p.prefix + "counts/others/-10", "1"}, {p.prefix + "counts/others/0", "1"},
		{p.prefix + "counts/others/20", "many"}, {p.prefix + "states/others", `{"kind":"series","base":1}`},
		{p.prefix + "states/others", `{"kind":"sequence","parameters":"others","base":1}`},
		{p.prefix + "states/others", `{"kind":"sequence","base":0}`}, {p.prefix + "states/others", "1"},
	} {
		before, err := client.Get(t.Context(), one.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Put(t.Context(), one.key, one.value); err != nil {
			t.Fatal(err)
		}
		counted := stored(t, client, p.prefix+"counts/others/10=")
		for _, r := range []keysource.Reserver{r, p.opened(t).Reserver(state("others"))} {
			if got, err := r.Reserve(t.Context(), 10, 0); !errors.Is(err, keysource.ErrStoreState) {
				t.Errorf("%s=%s: Reserve: %+v, %v, want an error", one.key, one.value, got, err)
			}
			if err := r.Advance(t.Context(), 1_000_000); !errors.Is(err, keysource.ErrStoreState) {
				t.Errorf("%s=%s: Advance: %v, want an error", one.key, one.value, err)
			}
		}
		if now := stored(t, client, p.prefix+"counts/others/10="); len(before.Kvs) > 0 && !maps.Equal(now, counted) {
			t.Errorf("%s=%s: the counts are %v, want %v", one.key, one.value, now, counted)
		}
		if len(before.Kvs) > 0 {
			_, err = client.Put(t.Context(), one.key, string(before.Kvs[0].Value))
		} else {
			_, err = client.Delete(t.Context(), one.key)
		}
		if err != nil {
			t.Fatal(err)
		}
		storetest.Await(t, r, 10, 0)
	}
}

// TestAdvanceAtOnce: what is reserved while the state is raised comes once, below or above.
func TestAdvanceAtOnce(t *testing.T) {
	p := newPlace(t)
	var all storetest.Seen
	done := make(chan struct{})
	for range 4 {
		r := p.opened(t).Reserver(state("raised"))
		go func() {
			defer func() { done <- struct{}{} }()
			for range 200 {
				got, err := r.Reserve(t.Context(), 3, 0)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range int64(3) {
					all.Add(t, got.First+i)
				}
			}
		}()
	}
	raiser := p.opened(t).Reserver(state("raised"))
	for to := int64(100); to <= 2000; to += 100 {
		if err := raiser.Advance(context.WithoutCancel(t.Context()), to); err != nil {
			t.Error(err)
		}
		if got := storetest.Await(t, raiser, 1, to); got.First < to {
			t.Errorf("after an advance to %d: %+v", to, got)
		} else {
			all.Add(t, got.First)
		}
	}
	for range 4 {
		<-done
	}
	if n := all.Count(); n != 4*200*3+20 {
		t.Errorf("%d keys", n)
	}
}
