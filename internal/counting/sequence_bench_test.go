package counting_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// counter is a store in memory whose answers take a while.
type counter struct {
	next  atomic.Int64
	takes time.Duration
}

func (c *counter) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	time.Sleep(c.takes)
	return keysource.Reservation{First: c.next.Add(n) - n + 1}, nil
}

func (c *counter) Advance(context.Context, int64) error { return nil }

// BenchmarkSequence draws keys; "reserve" is without the slice and the boxed
// integers of a Source. A store of 1 ms bounds the rate by the size of the
// block, which grows to its limit in the first second.
func BenchmarkSequence(b *testing.B) {
	for _, takes := range []time.Duration{0, time.Millisecond} {
		for _, n := range []int{1, 100} {
			name := fmt.Sprintf("store=%s/%d", takes, n)
			b.Run(name+"/reserve/serial", func(b *testing.B) {
				s, ctx := warmSequence(b, takes), context.Background()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Reserve(ctx, int64(n)); err != nil {
						b.Fatal(err)
					}
				}
				perKey(b, n)
			})
			b.Run(name+"/next/serial", func(b *testing.B) {
				s, ctx, r := warmSequence(b, takes), context.Background(), keysource.Request{N: n}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Next(ctx, r); err != nil {
						b.Fatal(err)
					}
				}
				perKey(b, n)
			})
			b.Run(name+"/next/parallel", func(b *testing.B) {
				s, ctx, r := warmSequence(b, takes), context.Background(), keysource.Request{N: n}
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := s.Next(ctx, r); err != nil {
							b.Error(err)
							return
						}
					}
				})
				perKey(b, n)
			})
		}
	}
}

// warmSequence returns a sequence whose blocks have grown to their limit.
func warmSequence(b *testing.B, takes time.Duration) *counting.Sequence {
	b.Helper()
	s, err := counting.NewSequence(counting.SequenceOptions{Reserver: &counter{takes: takes}}, keysource.Env{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	for range 2_000_000 {
		if _, err := s.Reserve(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
	return s
}
