package figures

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/stats"
	"github.com/keyfill/keyfill/keysource"
)

// batch is how many keys one call asks for when it asks for several.
const batch = 100

// The measured loops store their results here, so that the compiler cannot optimize the
// calls away.
var (
	keptValue driver.Value
	kept16    [16]byte
)

// Keys measures the sources, called as for a fill, with memory for the keys, in comparison
// with the calls of a program without keyfill.
func Keys(r Run) ([]Figure, error) {
	counted, err := newCounted()
	if err != nil {
		return nil, err
	}
	variants := slicesOf(uuids(), counted.variants(), rivals())
	var samples map[string]*Samples
	err = singly(func() (err error) {
		samples, err = turns(r.Rounds, r.times(50_000), variants)
		return err
	})
	if err := errors.Join(err, counted.close()); err != nil {
		return nil, err
	}
	if keptValue == nil || kept16 == [16]byte{} {
		return nil, errors.New("figures: no key was kept")
	}
	var all []Figure
	for _, bar := range []struct {
		name        string
		nanoseconds Bar
		allocations Bar
	}{
		{"v7 typed", atMost(80), atMost(0)},
		{"v7 as boxed text", atMost(140), atMost(2)},
		{"v7, batch of 100 binary", atMost(30), Bar{}},
		{"comb, batch of 100 binary", atMost(30), Bar{}},
		{"block as a fill calls it", atMost(15), atMost(1)},
		{"snowflake", atMost(60), Bar{}},
		{"coprime of 6", atMost(60), Bar{}},
		{"google/uuid v7 typed", Bar{}, Bar{}},
		{"google/uuid v7 with its pool, typed", Bar{}, Bar{}},
		{"google/uuid v7 as boxed text", Bar{}, Bar{}},
		{"oklog/ulid typed", Bar{}, Bar{}},
	} {
		s := samples[bar.name]
		all = append(all, Figure{What: bar.name + ", a key", Unit: Nanoseconds, Value: stats.Of(s.CPU), Bar: bar.nanoseconds})
		allocations := absolute(bar.name+", a key: allocations", Allocations, Allocations.round(stats.Of(s.Allocs).Median), bar.allocations)
		all = append(all, allocations)
	}
	return append(all,
		ratio("v7 typed", samples, "v7 typed", "google/uuid v7 with its pool, typed", "google/uuid again", Bar{}),
		ratio("v7 typed", samples, "v7 typed", "oklog/ulid typed", "", Bar{}),
		ratio("v7 as boxed text", samples, "v7 as boxed text", "google/uuid v7 as boxed text", "", Bar{})), nil
}

func slicesOf(all ...[]Variant) (one []Variant) {
	for _, variants := range all {
		one = append(one, variants...)
	}
	return one
}

// uuids returns the sources without a stored counter. A source of UUIDv7 makes at most
// 4,096 keys for each millisecond, and may be a second ahead of the clock. A turn makes
// fewer keys than fit into that second, from its own source, so the source never waits. A
// turn of batches would make more, so its clock runs 64 times as fast, which costs some
// nanoseconds a request.
func uuids() []Variant {
	ctx := context.Background()
	start := time.Now()
	fast := keysource.Env{Now: func() time.Time { return start.Add(64 * time.Since(start)) }}
	text := keysource.Request{N: 1, Layout: dialect.SequentialAsString}
	binary := keysource.Request{N: batch, Layout: dialect.SequentialAsBinary}
	room, v7 := make([]driver.Value, 0, batch), keysource.NewUUIDv7(keysource.Env{})
	renew := func(int) error { v7 = keysource.NewUUIDv7(keysource.Env{}); return nil }
	inBatches := func(s keysource.Source) func(int) error {
		return func(n int) error {
			for made := 0; made < n; made += batch {
				if _, err := s.Append(ctx, room, binary); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return []Variant{
		{Name: "v7 typed", Setup: renew, Run: func(n int) (err error) {
			for range n {
				if kept16, err = v7.Key16(ctx, ""); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "v7 as boxed text", Setup: renew, Run: func(n int) error {
			for range n {
				if _, err := v7.Append(ctx, room, text); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "v7, batch of 100 binary", Run: inBatches(keysource.NewUUIDv7(fast))},
		{Name: "comb, batch of 100 binary", Run: inBatches(keysource.NewCOMB(fast, keysource.EpochDotNet))},
	}
}

// counted holds sources with a state (a stored counter), which a store in memory keeps.
type counted struct {
	block, numbers *counting.Sequence
	coprime        *keysource.Coprime
	flakes         *counting.Snowflake
}

// newCounted makes the sources. The snowflakes have enough bits for a loop that does
// nothing else; with the default bits the loop would have to wait for the clock.
func newCounted() (*counted, error) {
	var c counted
	var err error
	if c.coprime, err = keysource.NewCoprime(keysource.CoprimeOptions{Length: 6, Alphabet: keysource.AlphabetBase62}); err != nil {
		return nil, err
	}
	if c.block, err = newSequence(0); err != nil {
		return nil, err
	}
	if c.numbers, err = newSequence(c.coprime.Last()); err != nil {
		return nil, err
	}
	worker := 1
	c.flakes, err = counting.NewSnowflake(nil, keysource.SnowflakeOptions{
		Bits:   keysource.SnowflakeBits{Time: 41, Worker: 1, Sequence: 21},
		Worker: &worker,
		Marker: new(instantMarker),
	}, keysource.Env{})
	return &c, err
}

// newSequence returns a sequence whose blocks are a fixed size that is rarely used up.
func newSequence(last int64) (*counting.Sequence, error) {
	return counting.NewSequence(counting.SequenceOptions{Reserver: new(instantStore), Block: 100_000, Max: last}, keysource.Env{})
}

func (c *counted) variants() []Variant {
	ctx := context.Background()
	room := make([]driver.Value, 0, 1)
	appended := func(s keysource.Source) func(int) error {
		return func(n int) error {
			for range n {
				if _, err := s.Append(ctx, room, keysource.Request{N: 1}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return []Variant{
		{Name: "block as a fill calls it", Run: appended(c.block)},
		{Name: "snowflake", Run: appended(c.flakes)},
		{Name: "coprime of 6", Run: func(n int) error {
			for range n {
				number, err := c.numbers.Reserve(ctx, 1)
				if err != nil {
					return err
				}
				keptValue = c.coprime.Key(number, "")
			}
			return nil
		}},
	}
}

func (c *counted) close() error {
	ctx := context.Background()
	return errors.Join(c.block.Close(ctx), c.numbers.Close(ctx), c.flakes.Close(ctx))
}

// instantMarker keeps the mark (the time up to which a worker may make keys) of a snowflake
// in memory.
type instantMarker struct{ mark atomic.Int64 }

// Mark sets the mark and returns the previous mark.
func (m *instantMarker) Mark(_ context.Context, until int64) (int64, error) {
	return m.mark.Swap(until), nil
}

// rivals returns the calls of a program without keyfill. The random pool of google/uuid can
// only be switched on for the whole package.
func rivals() []Variant {
	typed := func(n int) (err error) {
		for range n {
			var id uuid.UUID
			if id, err = uuid.NewV7(); err != nil {
				return err
			}
			kept16 = id
		}
		return nil
	}
	pooled := func(n int) error {
		uuid.EnableRandPool()
		defer uuid.DisableRandPool()
		return typed(n)
	}
	return []Variant{
		{Name: "google/uuid v7 typed", Run: typed},
		{Name: "google/uuid v7 with its pool, typed", Run: pooled},
		{Name: "google/uuid again", Run: pooled},
		{Name: "google/uuid v7 as boxed text", Run: func(n int) error {
			for range n {
				id, err := uuid.NewV7()
				if err != nil {
					return err
				}
				keptValue = id.String()
			}
			return nil
		}},
		{Name: "oklog/ulid typed", Run: func(n int) error {
			for range n {
				kept16 = ulid.Make()
			}
			return nil
		}},
	}
}
