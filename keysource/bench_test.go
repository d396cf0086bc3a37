package keysource_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// sprinter is a clock that runs 64 times as fast as the system's. A UUIDv7 has
// 4,096 keys a millisecond, which a loop that does nothing else uses up: with
// the true clock the benchmark would measure the wait for it.
func sprinter() func() time.Time {
	start := time.Now()
	return func() time.Time { return start.Add(64 * time.Since(start)) }
}

func BenchmarkSource(b *testing.B) {
	env := keysource.Env{Now: sprinter()}
	for _, bm := range []struct {
		name   string
		source keysource.Source
		layout dialect.Layout
	}{
		{"uuidv7/string", keysource.NewUUIDv7(env), dialect.SequentialAsString},
		{"uuidv7/binary", keysource.NewUUIDv7(env), dialect.SequentialAsBinary},
		{"uuidv7/at_end", keysource.NewUUIDv7(env), dialect.SequentialAtEnd},
		{"uuidv4/string", keysource.NewUUIDv4(env), dialect.SequentialAsString},
		{"ulid/string", keysource.NewULID(env), dialect.SequentialAsString},
		{"comb/string", keysource.NewCOMB(env, keysource.EpochDotNet), dialect.SequentialAsString},
	} {
		for _, n := range []int{1, 100} {
			r := keysource.Request{N: n, Layout: bm.layout}
			b.Run(fmt.Sprintf("%s/%d/serial", bm.name, n), func(b *testing.B) {
				b.ReportAllocs()
				ctx := context.Background()
				for b.Loop() {
					if _, err := bm.source.Next(ctx, r); err != nil {
						b.Fatal(err)
					}
				}
				perKey(b, n)
			})
			b.Run(fmt.Sprintf("%s/%d/parallel", bm.name, n), func(b *testing.B) {
				b.ReportAllocs()
				ctx := context.Background()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := bm.source.Next(ctx, r); err != nil {
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

func perKey(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
}

// BenchmarkGoogle is what an application would call without this package.
func BenchmarkGoogle(b *testing.B) {
	for _, bm := range []struct {
		name string
		make func() (uuid.UUID, error)
	}{
		{"uuidv7", uuid.NewV7},
		{"uuidv4", uuid.NewRandom},
	} {
		b.Run(bm.name+"/string/1/serial", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				u, err := bm.make()
				if err != nil {
					b.Fatal(err)
				}
				_ = u.String()
			}
		})
		b.Run(bm.name+"/string/1/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					u, err := bm.make()
					if err != nil {
						b.Error(err)
						return
					}
					_ = u.String()
				}
			})
		})
	}
}

func BenchmarkInspect(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keysource.Inspect("0137aa88-0c46-7ed5-8012-2e27653a9d13"); err != nil {
			b.Fatal(err)
		}
	}
}
