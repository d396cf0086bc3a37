package counting_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// day returns the beginning of a day.
func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// snowflakeBits are bits that are right, or what is wrong with them.
var snowflakeBits = []struct {
	name string
	bits keysource.SnowflakeBits
	want string // of the error; empty: none
}{
	{"default", keysource.SnowflakeBits{}, ""},
	{"53", keysource.SnowflakeBits53(), ""},
	{"53 in seconds", keysource.SnowflakeBits{Time: 32, Worker: 8, Sequence: 13, Unit: time.Second}, ""},
	{"53 in 10 ms", keysource.SnowflakeBits{Time: 37, Worker: 6, Sequence: 10, Unit: 10 * time.Millisecond}, ""},
	{"sonyflake", keysource.SnowflakeBits{
		Time: 39, Worker: 16, Sequence: 8, Unit: 10 * time.Millisecond, Epoch: day(2014, 9, 1),
	}, ""},
	{"Twitter", keysource.SnowflakeBits{
		Time: 41, Worker: 10, Sequence: 12, Epoch: time.UnixMilli(1_288_834_974_657),
	}, ""},
	{"few", keysource.SnowflakeBits{Time: 40, Worker: 2, Sequence: 3}, ""},
	{"no worker", keysource.SnowflakeBits{Time: 42, Sequence: 20}, ""},
	{"no sequence", keysource.SnowflakeBits{Time: 41, Worker: 22}, ""},
	{"more time than years", keysource.SnowflakeBits{Time: 62, Worker: 1}, ""},
	{"64", keysource.SnowflakeBits{Time: 41, Worker: 10, Sequence: 13}, "41 of time, 10 of worker and 13 of sequence are more than 63"},
	{"a huge sum", keysource.SnowflakeBits{Time: 1 << 62, Worker: 1 << 62, Sequence: 41}, "are more than 63"},
	{"63 without a worker", keysource.SnowflakeBits{Time: 43, Sequence: 20}, "43 of time and 20 of sequence are more than 62"},
	{"fewer workers", keysource.SnowflakeBits{Time: 41, Worker: 10, Sequence: 12, Workers: 1000}, ""},
	{"all workers", keysource.SnowflakeBits{Time: 41, Worker: 10, Sequence: 12, Workers: 1024}, ""},
	{"too many workers", keysource.SnowflakeBits{Time: 41, Worker: 10, Sequence: 12, Workers: 1025}, "10 of worker do not hold 1025 numbers"},
	{"negative workers", keysource.SnowflakeBits{Time: 41, Worker: 10, Sequence: 12, Workers: -1}, "10 of worker do not hold -1 numbers"},
	{"negative", keysource.SnowflakeBits{Time: 41, Worker: -1, Sequence: 12}, "41 of time, -1 of worker and 12 of sequence"},
	{"no time", keysource.SnowflakeBits{Worker: 10, Sequence: 12}, "0 of time, 10 of worker and 12 of sequence"},
	{"uid-generator", keysource.SnowflakeBits{
		Time: 28, Worker: 22, Sequence: 13, Unit: time.Second, Epoch: day(2016, 5, 20),
	}, "28 of time, counting 1s since 2016-05-20, end on 2024-11-20, before 2040"},
	{"ends before 2040", keysource.SnowflakeBits{Time: 39, Worker: 10, Sequence: 12},
		"39 of time, counting 1ms since 2020-01-01, end on 2037-06-02, before 2040"},
	{"ends at 2040", keysource.SnowflakeBits{
		Time: 39, Sequence: 1, Epoch: day(2040, 1, 1).Add(-1 << 39 * time.Millisecond),
	}, ""},
	{"ends a millisecond before", keysource.SnowflakeBits{
		Time: 39, Sequence: 1, Epoch: day(2040, 1, 1).Add(-1<<39*time.Millisecond - time.Millisecond),
	}, "end on 2039-12-31, before 2040"},
	{"unit of less than a millisecond", keysource.SnowflakeBits{Time: 50, Unit: time.Microsecond}, "the unit of time is 1µs"},
	{"unit of half milliseconds", keysource.SnowflakeBits{Time: 50, Unit: 1500 * time.Microsecond}, "the unit of time is 1.5ms"},
	{"unit of more than a second", keysource.SnowflakeBits{Time: 40, Unit: 2 * time.Second}, "the unit of time is 2s"},
	{"negative unit", keysource.SnowflakeBits{Time: 40, Unit: -time.Millisecond}, "the unit of time is -1ms"},
	{"epoch before 1970", keysource.SnowflakeBits{Epoch: day(1969, 12, 31)}, "the epoch is in the year 1969"},
	{"epoch far away", keysource.SnowflakeBits{Epoch: time.Unix(1<<62, 0)}, "the epoch is in the year"},
	{"epoch in microseconds", keysource.SnowflakeBits{Epoch: day(2020, 1, 1).Add(time.Microsecond)}, "the epoch is not a whole millisecond"},
}

func TestSnowflakeBits(t *testing.T) {
	for _, tt := range snowflakeBits {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.bits.Check()
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, keysource.ErrOptions) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("Check() = %v, want ErrOptions: … %s …", err, tt.want)
			}
			if _, made := counting.NewSnowflake(nil, keysource.SnowflakeOptions{Bits: tt.bits, Worker: new(0)},
				keysource.Env{}); fmt.Sprint(made) != fmt.Sprint(err) {
				t.Errorf("NewSnowflake: %v, want what Check says: %v", made, err)
			}
		})
	}
}

func TestSnowflakeEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bits  keysource.SnowflakeBits
		width int
		want  time.Time
	}{
		{"default", keysource.SnowflakeBits{}, 63, time.Date(2089, 9, 6, 15, 47, 35, 552_000_000, time.UTC)},
		{"53", keysource.SnowflakeBits53(), 53, time.Date(2074, 6, 10, 2, 35, 18, 400_000_000, time.UTC)},
		{"sonyflake", keysource.SnowflakeBits{
			Time: 39, Worker: 16, Sequence: 8, Unit: 10 * time.Millisecond,
			Epoch: time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC),
		}, 63, time.Date(2188, 11, 16, 3, 28, 58, 880_000_000, time.UTC)},
		{"more time than years", keysource.SnowflakeBits{Time: 62, Worker: 1}, 63,
			time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.bits.End(); !got.Equal(tt.want) || got.Location() != time.UTC {
				t.Errorf("End() = %v, want %v", got, tt.want)
			}
			if got := tt.bits.Width(); got != tt.width {
				t.Errorf("Width() = %d, want %d", got, tt.width)
			}
		})
	}
}

// TestSnowflakeEnd: the last tick is not followed by the first, and at the end
// no source is made.
func TestSnowflakeEnd(t *testing.T) {
	end := keysource.SnowflakeBits{}.End()
	for _, marker := range []keysource.Marker{new(markStore), nil} {
		clock := newSetClock(end.Add(-2500 * time.Millisecond))
		s := newSnowflake(t, keysource.SnowflakeOptions{Worker: new(1023), Marker: marker}, clock.env())
		clock.set(end.Add(-time.Millisecond))
		if got, want := one(t, s, 4095), int64(1<<63-1-4095); got != want {
			t.Errorf("the last but 4095 is %d, want %d", got, want)
		}
		if _, err := s.Reserve(t.Context(), 2); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("two keys where one is left: %v, want ErrExhausted", err)
		}
		if got, want := one(t, s, 1), int64(1<<63-1); got != want {
			t.Errorf("the last is %d, want %d", got, want)
		}
		for _, at := range []time.Duration{-time.Millisecond, 0, time.Hour, 1 << 62} {
			clock.set(end.Add(at))
			if _, err := s.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrExhausted) {
				t.Errorf("%v after the end: %v, want ErrExhausted", at, err)
			}
		}
		if store, ok := marker.(*markStore); ok && store.now().After(end) {
			t.Errorf("the mark is %v", store.now())
		}
	}
	o := keysource.SnowflakeOptions{Worker: new(0)}
	if _, err := counting.NewSnowflake(nil, o, keysource.Env{Now: frozen(end)}); !errors.Is(err, keysource.ErrExhausted) {
		t.Errorf("NewSnowflake at the end: %v, want ErrExhausted", err)
	}
	for _, at := range []time.Time{time.UnixMilli(epochMilli - 1), {}, time.Unix(-1<<62, 0)} {
		if _, err := counting.NewSnowflake(nil, o, keysource.Env{Now: frozen(at)}); !errors.Is(err, keysource.ErrClock) {
			t.Errorf("NewSnowflake at %v, before the epoch: %v, want ErrClock", at, err)
		}
	}
	if _, err := counting.NewSnowflake(nil, o, keysource.Env{Now: frozen(time.Unix(1<<62, 0))}); !errors.Is(err, keysource.ErrExhausted) {
		t.Errorf("NewSnowflake in the far future: %v, want ErrExhausted", err)
	}
}
