package counting_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// readyMarker answers at once.
type readyMarker struct{ mark atomic.Int64 }

func (m *readyMarker) Mark(_ context.Context, until int64) (int64, error) {
	return m.mark.Swap(until), nil
}

// BenchmarkSnowflake measures "reserve", which is the source itself, and "next",
// which makes the slice and the values that a driver takes. With the default
// bits there are 4,096 keys a millisecond, which a loop that does nothing else
// uses up, and it would measure the wait for the clock; these have 2,097,152.
func BenchmarkSnowflake(b *testing.B) {
	ctx := context.Background()
	worker := 1
	for _, n := range []int64{1, 100} {
		for _, bm := range []struct {
			name string
			call func(*counting.Snowflake) error
		}{
			{"reserve", func(s *counting.Snowflake) error {
				_, err := s.Reserve(ctx, n)
				return err
			}},
			{"next", func(s *counting.Snowflake) error {
				_, err := s.Next(ctx, keysource.Request{N: int(n)})
				return err
			}},
		} {
			open := func(b *testing.B) *counting.Snowflake {
				s, err := counting.NewSnowflake(nil, keysource.SnowflakeOptions{
					Bits:   keysource.SnowflakeBits{Time: 41, Worker: 1, Sequence: 21},
					Worker: &worker,
					Marker: new(readyMarker),
				}, keysource.Env{})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = s.Close(context.Background()) })
				return s
			}
			b.Run(fmt.Sprintf("%s/%d/serial", bm.name, n), func(b *testing.B) {
				s := open(b)
				b.ReportAllocs()
				for b.Loop() {
					if err := bm.call(s); err != nil {
						b.Fatal(err)
					}
				}
				perKey(b, int(n))
			})
			b.Run(fmt.Sprintf("%s/%d/parallel", bm.name, n), func(b *testing.B) {
				s := open(b)
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := bm.call(s); err != nil {
							b.Error(err)
							return
						}
					}
				})
				perKey(b, int(n))
			})
		}
	}
}

// BenchmarkFloor is what no snowflake can be faster than, and what would be
// called without one.
func BenchmarkFloor(b *testing.B) {
	var counter atomic.Int64
	for _, bm := range []struct {
		name string
		call func()
	}{
		{"atomic add", func() { counter.Add(1) }},
		{"clock", func() { counter.Store(time.Now().UnixMilli()) }},
		{"google uuidv7", func() { _, _ = uuid.NewV7() }},
	} {
		b.Run(bm.name+"/serial", func(b *testing.B) {
			for b.Loop() {
				bm.call()
			}
		})
		b.Run(bm.name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					bm.call()
				}
			})
		})
	}
}
