// The race detector drops what a sync.Pool keeps, so that more is allocated.

//go:build !race

package keysource_test

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// TestAppendAllocates: with room, a typed key needs no memory, and a boxed one the
// value and the box alone. Eight texts of a v7 share their characters. The keys of a request share
// a few of each.
func TestAppendAllocates(t *testing.T) {
	ctx := t.Context()
	v7 := keysource.NewUUIDv7(keysource.Env{})
	room, typed := make([]driver.Value, 0, 100), make([][16]byte, 0, 100)
	for _, tt := range []struct {
		name string
		want float64
		draw func() error
	}{
		{"uuidv7 typed", 0, func() error { _, err := v7.Key16(ctx, bin); return err }},
		{"100 uuidv7 typed", 0, func() error {
			_, err := v7.Append16(ctx, typed, keysource.Request{N: 100})
			return err
		}},
		{"uuidv7 text", 1, func() error { return appended(v7, room, 1, str) }},
		{"100 uuidv7 text", 5, func() error { return appended(v7, room, 100, str) }},
		{"100 uuidv7 binary", 4, func() error { return appended(v7, room, 100, bin) }},
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
