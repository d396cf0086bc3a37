package keyfillredis_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// TestStore: a store in Redis does what every store does.
func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Options{Server: serverOf(shared.Need(t)), Lease: lease})
}

// TestCluster: so does a store in a Redis Cluster, whose nodes share the states.
func TestCluster(t *testing.T) {
	nodes := testdb.StartRedisCluster(t, 3)
	storetest.Run(t, storetest.Options{
		Open: func(t testing.TB) keysource.Store {
			s, err := keyfillredis.Driver{}.OpenEndpoints(keysource.Endpoints{Addresses: addressesOf(nodes)})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Lease: lease,
		Draws: 200,
	})
}

// TestGreatIntegers: integers that a double cannot hold are exact, up to the greatest one.
func TestGreatIntegers(t *testing.T) {
	s := openedBelow(t, newPrefix(), shared.Need(t))
	for _, first := range []int64{
		999_999_998, 1<<53 - 2, 1<<53 + 1, 1<<62 - 3, 1 << 62, math.MaxInt64 - 4_000_000_000, math.MaxInt64 - 1_000_000_030, math.MaxInt64 - 70,
	} {
		st := state(fmt.Sprint("great ", first))
		st.Max = math.MaxInt64
		st.First = func(context.Context) (int64, error) { return first, nil }
		r := s.Reserver(st)
		for i := range int64(20) {
			if got, err := r.Reserve(t.Context(), 3, first+3*i); err != nil || got.First != first+3*i || got.N != 0 {
				t.Fatalf("from %d: the reservation %d is %+v, %v", first, i, got, err)
			}
		}
		if got, err := r.Reserve(t.Context(), 1, first+61); err != nil || got.First != first+60 {
			t.Errorf("below what was seen: %+v, %v, want %d", got, err, first+60)
		}
		if err := r.Advance(t.Context(), first+59); err != nil {
			t.Error(err)
		}
		rows := st
		rows.Name += " series"
		own := s.Series(rows, keysource.SeriesOwner{Size: 7, Lease: lease, Owner: "one"})
		for i := range int64(8) {
			one, err := own.Open(t.Context(), first+7*i)
			if want := (keysource.Series{First: first + 7*i, Last: first + 7*i + 6, Next: first + 7*i, Epoch: 1, Own: true}); err != nil || one != want {
				t.Fatalf("the series %d is %+v, %v, want %+v", i, one, err, want)
			}
			if now, moved, err := own.Move(t.Context(), one, one.Next+1); err != nil || !moved || now.Next != one.Next+1 {
				t.Errorf("Move: %+v, %v, %v", now, moved, err)
			}
			wrong := one
			wrong.Next = one.Next + 2 // as a double it may be the same
			if now, moved, err := own.Move(t.Context(), wrong, one.Next+3); err != nil || moved || now.Next != one.Next+1 {
				t.Errorf("Move from where the series does not stand: %+v, %v, %v", now, moved, err)
			}
		}
	}
	st := state("end")
	st.Max = math.MaxInt64
	st.First = func(context.Context) (int64, error) { return math.MaxInt64 - 1, nil }
	r := s.Reserver(st)
	if got, err := r.Reserve(t.Context(), math.MaxInt64, 0); err != nil || got.First != math.MaxInt64-1 || got.N != 1 {
		t.Errorf("the last one: %+v, %v", got, err)
	}
	if got, err := r.Reserve(t.Context(), 1, math.MaxInt64); !errors.Is(err, keysource.ErrExhausted) {
		t.Errorf("behind the last one: %+v, %v", got, err)
	}
	if err := r.Advance(t.Context(), math.MaxInt64); err != nil {
		t.Error(err)
	}
	m := s.Marker(state("marks"), 1, "one")
	for _, want := range []struct{ until, before int64 }{{1<<62 + 1, 0}, {1 << 62, 1<<62 + 1}, {1<<62 + 2, 1<<62 + 1}, {math.MaxInt64, 1<<62 + 2}, {-5, math.MaxInt64}} {
		if before, err := m.Mark(t.Context(), want.until); err != nil || before != want.before {
			t.Errorf("Mark(%d): %d, %v, want %d", want.until, before, err, want.before)
		}
	}
}

// TestForeign: what is in Redis under the names of a store and was not written by one is an
// error, and stays as it is.
func TestForeign(t *testing.T) {
	server, prefix := shared.Need(t), newPrefix()
	s := openedBelow(t, prefix, server)
	key := prefix + "states/orders"
	owner := keysource.SeriesOwner{Size: 10, Lease: lease, Owner: "one"}
	for name, made := range map[string][]string{
		"a text":       {"SET", key, "5"},
		"no fields":    {"HSET", key, "other", "5"},
		"no number":    {"HSET", key, "kind", "sequence", "parameters", "p", "next", "5x"},
		"zero":         {"HSET", key, "kind", "sequence", "parameters", "p", "next", "0"},
		"no next":      {"HSET", key, "kind", "sequence", "parameters", "p"},
		"too great":    {"HSET", key, "kind", "sequence", "parameters", "p", "next", "9223372036854775809"},
		"zeros":        {"HSET", key, "kind", "sequence", "parameters", "p", "next", "007"},
		"a bad series": {"HSET", key, "kind", "series", "parameters", "p", "next", "11", "series:1", "10 x 1 0 one"},
		"a low series": {"HSET", key, "kind", "series", "parameters", "p", "next", "11", "series:5", "10 4 1 0 one"},
		"a set back":   {"HSET", key, "kind", "series", "parameters", "p", "next", "10", "series:1", "10 4 1 0 one"},
	} {
		server.Command(t, "DEL", key)
		server.Command(t, made...)
		before := server.Command(t, "DUMP", key)
		st := state("orders")
		st.Max = math.MaxInt64
		_, err := s.Reserver(st).Reserve(t.Context(), 1, 0)
		if !errors.Is(err, keysource.ErrStoreState) && !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("%s: Reserve: %v", name, err)
		}
		if _, err := s.Series(st, owner).Open(t.Context(), 0); !errors.Is(err, keysource.ErrStoreState) {
			t.Errorf("%s: Open: %v", name, err)
		}
		if now := server.Command(t, "DUMP", key); now != before {
			t.Errorf("%s was changed", name)
		}
	}
}

// TestStateDeleted: a state that was deleted is not made again by a Move, and its series
// are gone with it.
func TestStateDeleted(t *testing.T) {
	server, prefix := shared.Need(t), newPrefix()
	s := openedBelow(t, prefix, server)
	own := s.Series(state("deleted"), keysource.SeriesOwner{Size: 1000, Lease: lease, Owner: "one"})
	one, err := own.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	server.Command(t, "DEL", prefix+"states/deleted")
	if now, moved, err := own.Move(t.Context(), one, 10); err != nil || moved || now.First != 0 {
		t.Errorf("Move: %+v, %v, %v", now, moved, err)
	}
	if now, err := own.TakeOver(t.Context(), 1); err != nil || now.First != 0 {
		t.Errorf("TakeOver: %+v, %v", now, err)
	}
	if err := own.GiveUp(t.Context(), one, one.Next); err != nil {
		t.Errorf("GiveUp: %v", err)
	}
	if n := server.Command(t, "EXISTS", prefix+"states/deleted"); n != "0" {
		t.Error("the state was made again")
	}
}
