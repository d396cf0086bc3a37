package bench

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// BenchmarkKeys measures key sources as a fill calls them, with room for the
// keys, beside google/uuid. ns/op is of a request; ns/key of one of its keys.
//
// A UUIDv7 has 4,096 keys a millisecond. A loop that does nothing else uses them
// up and would wait for the clock. So there is a new source after each million
// keys, which are a quarter of a second; and a loop of batches runs with a clock
// that is fast, which costs a few nanoseconds a request.
func BenchmarkKeys(b *testing.B) {
	for _, n := range []int{1, 100} {
		keysOfSources(b, n)
	}
	google := func(name string, call func() driver.Value) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				kept = call()
			}
		})
	}
	google("google v7/typed/1", func() driver.Value { keptUUID, _ = uuid.NewV7(); return nil })
	google("google v7/string/1", func() driver.Value { u, _ := uuid.NewV7(); return u.String() })
	uuid.EnableRandPool()
	defer uuid.DisableRandPool()
	google("google v7 with pool/typed/1", func() driver.Value { keptUUID, _ = uuid.NewV7(); return nil })
	google("google v7 with pool/string/1", func() driver.Value { u, _ := uuid.NewV7(); return u.String() })
}

// What the loops make is kept, so that none of it is left out.
var (
	kept     driver.Value
	keptUUID [16]byte
)

func keysOfSources(b *testing.B, n int) {
	ctx := context.Background()
	name := "/1"
	env := keysource.Env{}
	if n > 1 {
		name = "/100"
		start := time.Now()
		env.Now = func() time.Time { return start.Add(64 * time.Since(start)) }
	}
	run := func(of string, call func() error) {
		b.Run(of+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
		})
	}
	room, typed := make([]driver.Value, 0, n), make([][16]byte, 0, n)
	v7, drawn := keysource.NewUUIDv7(env), 0
	comb := keysource.NewCOMB(env, keysource.EpochDotNet)
	renewed := func() *keysource.UUIDv7 {
		if drawn++; drawn%1_000_000 == 0 {
			v7 = keysource.NewUUIDv7(env)
		}
		return v7
	}
	of := func(l dialect.Layout) keysource.Request { return keysource.Request{N: n, Layout: l} }
	boxed := func(name string, s keysource.Source, l dialect.Layout) {
		run(name, func() error { _, err := s.Append(ctx, room, of(l)); return err })
	}
	if n == 1 {
		run("v7/typed", func() (err error) { keptUUID, err = renewed().Key16(ctx, ""); return err })
	} else {
		run("v7/typed", func() error { _, err := renewed().Append16(ctx, typed, of("")); return err })
		run("comb/typed", func() error { _, err := comb.Append16(ctx, typed, of("")); return err })
	}
	for _, l := range []dialect.Layout{dialect.SequentialAsString, dialect.SequentialAsBinary} {
		run("v7/"+string(l), func() error {
			_, err := renewed().Append(ctx, room, of(l))
			return err
		})
	}
	boxed("comb/string", comb, dialect.SequentialAsString)
	boxed("comb/binary", comb, dialect.SequentialAsBinary)
	boxed("ulid/string", keysource.NewULID(env), dialect.SequentialAsString)
	boxed("v4/string", keysource.NewUUIDv4(env), dialect.SequentialAsString)

	worker := 1
	flake, err := keysource.NewSnowflake(keysource.SnowflakeOptions{
		Bits:   keysource.SnowflakeBits{Time: 41, Worker: 1, Sequence: 21},
		Worker: &worker,
		Marker: new(instantMarker),
	}, keysource.Env{})
	if err != nil {
		b.Fatal(err)
	}
	sequence := func(last int64) *keysource.Sequence {
		s, err := keysource.NewSequence(keysource.SequenceOptions{Reserver: new(instantStore), Max: last}, keysource.Env{})
		if err != nil {
			b.Fatal(err)
		}
		for range 2_000_000 { // its blocks grow
			if _, err := s.Reserve(ctx, 1); err != nil {
				b.Fatal(err)
			}
		}
		return s
	}
	coprime, err := keysource.NewCoprime(keysource.CoprimeOptions{Length: 6, Alphabet: keysource.AlphabetBase62})
	if err != nil {
		b.Fatal(err)
	}
	block, numbers := sequence(0), sequence(coprime.Last())
	boxed("snowflake", flake, "")
	boxed("block", block, "")
	run("coprime of 6", func() error {
		first, err := numbers.Reserve(ctx, int64(n))
		if err != nil {
			return err
		}
		_, err = keysource.AppendKeys(room, coprime, first, n, "")
		return err
	})
	for _, s := range []interface{ Close(context.Context) error }{flake, block, numbers} {
		if err := s.Close(ctx); err != nil {
			b.Error(err)
		}
	}
}

// instantStore is a store of a sequence that answers at once.
type instantStore struct{ next atomic.Int64 }

func (s *instantStore) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	return keysource.Reservation{First: s.next.Add(n) - n + 1}, nil
}

func (s *instantStore) Advance(context.Context, int64) error { return nil }

// instantMarker is a store of a snowflake that answers at once.
type instantMarker struct{ mark atomic.Int64 }

func (m *instantMarker) Mark(_ context.Context, until int64) (int64, error) {
	return m.mark.Swap(until), nil
}
