package keysource_test

import (
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/snowflakebits"
	"github.com/keyfill/keyfill/keysource"
)

// bounded is a kind of keys with their bounds.
type bounded struct {
	name    string
	layouts []dialect.Layout
	since   time.Time
	cut     func(t time.Time) int64 // the time of a key
	unit    time.Duration           // a time in whole units is exact
	make    func(t *testing.T, at time.Time, l dialect.Layout) driver.Value
	bounds  func(from, to time.Time, l dialect.Layout) (low, high driver.Value, err error)
	before  func(t *testing.T, l dialect.Layout, a, b driver.Value) bool
}

// boundedKinds are all kinds whose keys hold a time.
func boundedKinds() []bounded {
	ticks := func(t time.Time) int64 { return t.UnixMilli()*4096 + int64(t.Nanosecond()%1e6)*4096/1e6 }
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []bounded{
		{name: "uuidv7", since: time.UnixMilli(0), cut: ticks, bounds: keysource.UUIDv7Bounds},
		{name: "ulid", since: time.UnixMilli(0), cut: time.Time.UnixMilli, bounds: keysource.ULIDBounds},
		{name: "comb dotnet", since: time.Time{}, cut: time.Time.UnixMilli, bounds: func(from, to time.Time, l dialect.Layout) (low, high driver.Value, err error) {
			return keysource.COMBBounds(from, to, keysource.EpochDotNet, l)
		}},
		{name: "comb unix", since: time.UnixMilli(0), cut: time.Time.UnixMilli, bounds: func(from, to time.Time, l dialect.Layout) (low, high driver.Value, err error) {
			return keysource.COMBBounds(from, to, keysource.EpochUnix, l)
		}},
	}
	entropy := newStream()
	for i := range kinds {
		k := &kinds[i]
		k.unit = time.Millisecond
		for _, l := range laws {
			if l.name == k.name {
				k.layouts = l.layouts
				k.make = func(t *testing.T, at time.Time, layout dialect.Layout) driver.Value {
					return next(t, l.make(keysource.Env{Now: frozen(at), Rand: entropy}), layout, 1)[0]
				}
			}
		}
		k.before = func(t *testing.T, l dialect.Layout, a, b driver.Value) bool {
			return indexed(t, l, a) < indexed(t, l, b)
		}
	}
	for name, bits := range map[string]keysource.SnowflakeBits{
		"snowflake":    {},
		"snowflake 53": keysource.SnowflakeBits53(),
		"snowflake 1s": {Time: 31, Worker: 16, Sequence: 16, Unit: time.Second, Epoch: time.UnixMilli(1_600_000_000_123)},
	} {
		b := bits.WithDefaults()
		f := snowflakebits.New(b.Time, b.Worker, b.Sequence, b.Unit, b.Epoch)
		cut := func(t time.Time) int64 { return (t.UnixMilli() - f.Epoch) / f.Unit }
		kinds = append(kinds, bounded{
			name: name, layouts: []dialect.Layout{""}, since: b.Epoch, cut: cut, unit: b.Unit,
			make: func(_ *testing.T, at time.Time, _ dialect.Layout) driver.Value {
				return f.Key(cut(at)<<f.SequenceBits|random.Int64N(1<<f.SequenceBits), random.Int64N(1<<f.WorkerBits))
			},
			bounds: func(from, to time.Time, l dialect.Layout) (low, high driver.Value, err error) {
				return keysource.SnowflakeBounds(from, to, bits, l)
			},
			before: func(_ *testing.T, _ dialect.Layout, a, b driver.Value) bool { return a.(int64) < b.(int64) },
		})
	}
	return kinds
}

// TestBounds: a key that is made at a time is in a range, in the order of the layout's
// index, if the range of the times that keys have holds its time. With bounds in whole
// units that is the range of the times themselves.
func TestBounds(t *testing.T) {
	for _, k := range boundedKinds() {
		for _, l := range k.layouts {
			t.Run(k.name+"/"+string(l), func(t *testing.T) {
				random := rand.New(rand.NewPCG(3, 4))
				offset := k.since.Sub(k.since.Truncate(k.unit))
				whole := func(t time.Time) time.Time { return t.Add(-offset).Truncate(k.unit).Add(offset) }
				inside := 0
				for i := range 5000 {
					later := time.Duration(random.Int64N(int64(45 * 365 * 24 * time.Hour)))
					around := whole(k.since.Add(later))
					// Times near one another meet the ends of ranges often.
					near := func() time.Time { return around.Add(time.Duration(random.Int64N(int64(5 * k.unit)))) }
					from, to, at := near(), near(), near()
					if to.Before(from) {
						from, to = to, from
					}
					want := k.cut(from) <= k.cut(at) && k.cut(at) < k.cut(to)
					if i%2 == 0 {
						from, to = whole(from), whole(to)
						want = !at.Before(from) && at.Before(to)
					}
					low, high, err := k.bounds(from, to, l)
					if err != nil {
						t.Fatal(err)
					}
					key := k.make(t, at, l)
					if got := !k.before(t, l, key, low) && k.before(t, l, key, high); got != want {
						t.Fatalf("the key of %v is in [%v, %v): %t, want %t", at, from, to, got, want)
					}
					if want {
						inside++
					}
				}
				if inside < 200 || inside > 4800 {
					t.Errorf("%d of 5000 keys were in their range: the test shows little", inside)
				}
			})
		}
	}
}

// TestBoundsEnds: at the ends of what keys can hold.
func TestBoundsEnds(t *testing.T) {
	for _, k := range boundedKinds() {
		for _, l := range k.layouts {
			low, high, err := k.bounds(time.Time{}, k.since, l)
			if err != nil || text16(t, low) != text16(t, high) {
				t.Errorf("%s: the range before the first key is [%v, %v), error %v, want an empty one", k.name, low, high, err)
			}
			if _, _, err := k.bounds(instant.Add(1), instant, l); !errors.Is(err, keysource.ErrRange) {
				t.Errorf("%s: a range that ends before it begins: %v, want ErrRange", k.name, err)
			}
			for _, late := range []time.Time{time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<62, 0)} {
				if _, _, err := k.bounds(instant, late, l); !errors.Is(err, keysource.ErrClock) {
					t.Errorf("%s: a range until %d: %v, want ErrClock", k.name, late.Year(), err)
				}
			}
		}
	}
	if _, _, err := keysource.ULIDBounds(instant, instant, atEnd); !errors.Is(err, keysource.ErrLayout) {
		t.Errorf("ULIDBounds at the end: %v, want ErrLayout", err)
	}
	if _, _, err := keysource.SnowflakeBounds(instant, instant, keysource.SnowflakeBits{}, str); !errors.Is(err, keysource.ErrLayout) {
		t.Errorf("SnowflakeBounds of text: %v, want ErrLayout", err)
	}
	if _, _, err := keysource.SnowflakeBounds(instant, instant, keysource.SnowflakeBits{Time: 70}, ""); !errors.Is(err, keysource.ErrOptions) {
		t.Errorf("SnowflakeBounds of 70 bits: %v, want ErrOptions", err)
	}
}

// TestBoundsMarks: the bounds of UUIDs of version 7 have its version and variant, by which
// MariaDB compares.
func TestBoundsMarks(t *testing.T) {
	low, high, err := keysource.UUIDv7Bounds(time.UnixMilli(0), instant, str)
	if err != nil || low != "00000000-0000-7000-8000-000000000000" || high != "0137aa88-0c46-7000-8000-000000000000" {
		t.Errorf("UUIDv7Bounds = %v, %v, %v", low, high, err)
	}
}

// text16 returns a bound as one compares it with ==.
func text16(t *testing.T, bound driver.Value) any {
	if n, ok := bound.(int64); ok {
		return n
	}
	return text(t, bound)
}
