// The race detector drops what a sync.Pool keeps, so that more is allocated.

//go:build !race

package counting_test

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// TestAppendAllocates: if the caller has room for the values, one integer of a block
// allocates only its box (the interface value), and the integers of a request share few boxes.
func TestAppendAllocates(t *testing.T) {
	ctx := t.Context()
	sequence, err := counting.NewSequence(counting.SequenceOptions{Reserver: new(counter), Block: 1_000_000}, keysource.Env{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sequence.Close(ctx) })
	if _, err := sequence.Reserve(ctx, 1000); err != nil { // an integer below 256 needs no box
		t.Fatal(err)
	}
	room := make([]driver.Value, 0, 100)
	for _, tt := range []struct {
		name string
		want float64
		draw func() error
	}{
		{"integer of a block", 1, func() error { return appended(sequence, room, 1, "") }},
		{"100 integers of a block", 3, func() error { return appended(sequence, room, 100, "") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := testing.AllocsPerRun(1000, func() {
				if err := tt.draw(); err != nil {
					t.Fatal(err)
				}
			})
			if got > tt.want {
				t.Errorf("%v allocations, want %v", got, tt.want)
			}
		})
	}
}

func appended(s keysource.Source, room []driver.Value, n int, l dialect.Layout) error {
	_, err := s.Append(context.Background(), room, keysource.Request{N: n, Layout: l})
	return err
}
