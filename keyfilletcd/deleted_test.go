package keyfilletcd_test

import (
	"context"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// TestStateDeleted: if the key of a state was deleted, and the state is made again in the
// middle of a series, or less than a series below one, no series is opened that has
// integers of another one.
func TestStateDeleted(t *testing.T) {
	p := newPlace(t)
	client := etcdClient(t, p.members)
	s := p.opened(t)
	st := state("deleted")
	from := func(first int64, owner string) keysource.SeriesStore {
		st := st
		st.First = func(context.Context) (int64, error) { return first, nil }
		return s.Series(st, keysource.SeriesOwner{Size: 1000, Lease: lease, Owner: owner})
	}
	one := from(5000, "one")
	own, err := one.Open(t.Context(), 0)
	if err != nil || own.First != 5000 {
		t.Fatalf("Open: %+v, %v", own, err)
	}
	forget := func() {
		t.Helper()
		if _, err := client.Delete(t.Context(), p.prefix+"states/deleted"); err != nil {
			t.Fatal(err)
		}
	}
	for _, first := range []int64{4001, 4500, 5000, 5001, 5999} {
		forget()
		if got, err := from(first, "two").Open(t.Context(), 0); !errors.Is(err, keysource.ErrStoreState) {
			t.Errorf("from %d: Open: %+v, %v, want an error; another owner has %d to %d", first, got, err, own.First, own.Last)
		}
	}
	forget()
	if got, err := from(6000, "two").Open(t.Context(), 0); err != nil || got.First != 6000 {
		t.Errorf("from 6000: Open: %+v, %v", got, err)
	}
	if now, moved, err := one.Move(t.Context(), own, own.Next+10); err != nil || !moved {
		t.Errorf("Move: %+v, %v, %v", now, moved, err)
	}
}
