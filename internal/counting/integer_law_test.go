package counting_test

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/mapping"
	"github.com/keyfill/keyfill/keysource"
)

// integerLaw is a source of integers, or of keys that a mapping makes of them.
type integerLaw struct {
	name  string
	open  func(t *testing.T) []statement // one in each process that shares the state
	sizes []int                          // of the statements
	width int                            // bits that an integer has at most; 0: 63
	clock bool                           // it waits for a clock, which is a bubble's
}

// statement draws n keys, checks their promises to each other, and returns the integer of
// the first one. The integers of the others follow it.
type statement func(ctx context.Context, n int) (first int64, err error)

// integerLaws are all sources of integers, each with the checks of its keys.
func integerLaws(t *testing.T) []integerLaw {
	small := []int{1, 1, 2, 7, 1, 40, 3}
	var laws []integerLaw
	for name, o := range map[string]counting.SequenceOptions{
		"sequence": {}, "block of 100": {Block: 100}, "block of 7": {Block: 7}, "block of 1": {Block: 1},
	} {
		laws = append(laws, integerLaw{name: name, sizes: small, open: func(t *testing.T) []statement {
			l := new(ledger)
			return []statement{consecutive(newSequence(t, l, o)), consecutive(newSequence(t, l, o))}
		}})
	}
	for name, m := range mappings(t) {
		laws = append(laws, integerLaw{name: name, sizes: small, open: func(t *testing.T) []statement {
			l, o := new(ledger), counting.SequenceOptions{Max: m.Last()}
			return []statement{foundAgain(newSequence(t, l, o), m), foundAgain(newSequence(t, l, o), m)}
		}})
	}
	for name, o := range map[string]keysource.SnowflakeOptions{
		"snowflake": {Marker: new(markStore)}, "snowflake without a mark": {},
		"snowflake of 53 bits": {Bits: keysource.SnowflakeBits53(), Marker: new(markStore)},
	} {
		laws = append(laws, integerLaw{
			name: name, sizes: []int{1, 7, 2, 500}, width: o.Bits.Width(), clock: true,
			open: func(t *testing.T) []statement {
				s := newSnowflake(t, o, newStepClock().env())
				return []statement{func(ctx context.Context, n int) (int64, error) { return s.Reserve(ctx, int64(n)) }}
			},
		})
	}
	return laws
}

// consecutive draws keys that are consecutive integers.
func consecutive(s *counting.Sequence) statement {
	return func(ctx context.Context, n int) (int64, error) {
		keys, err := s.Next(ctx, keysource.Request{N: n})
		if err != nil {
			return 0, err
		}
		first := keys[0].(int64)
		for k, key := range keys {
			if key.(int64) != first+int64(k) {
				return 0, fmt.Errorf("key %d of a statement from %d on is %d", k, first, key)
			}
		}
		if len(keys) != n {
			return 0, fmt.Errorf("%d keys, want %d", len(keys), n)
		}
		return first, nil
	}
}

// foundAgain draws keys of which each leads back to its number.
func foundAgain(s *counting.Sequence, m mapped) statement {
	return func(ctx context.Context, n int) (int64, error) {
		first, _, err := drawMapped(ctx, s, m, n)
		return first, err
	}
}

// drawMapped draws the keys of a statement, of which each leads back to its number. So
// keys of different numbers are different.
func drawMapped(ctx context.Context, s *counting.Sequence, m mapped, n int) (int64, []driver.Value, error) {
	first, err := s.Reserve(ctx, int64(n))
	if err != nil {
		return 0, nil, err
	}
	keys, err := mapping.Keys(m, first, n, "")
	if err != nil || len(keys) != n {
		return 0, nil, fmt.Errorf("%d of %d keys: %v", len(keys), n, err)
	}
	for k, key := range keys {
		if number, err := m.numberOf(key); err != nil || number != first+int64(k) {
			return 0, nil, fmt.Errorf("a key is of number %d, %v, want %d", number, err, first+int64(k))
		}
	}
	return first, keys, nil
}

// TestIntegerLaws: 16 goroutines draw for statements of several rows, in all processes. No
// key comes twice, the keys of a statement are consecutive, the keys of a goroutine
// ascend, and each key fits its width. The clock of a snowflake stands still but while all
// goroutines wait.
func TestIntegerLaws(t *testing.T) {
	for _, l := range integerLaws(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			if l.clock {
				synctest.Test(t, l.check)
				return
			}
			l.check(t)
		})
	}
}

func (l integerLaw) check(t *testing.T) {
	const goroutines = 16
	total := lawKeys(t)
	processes := l.open(t)
	made := make([]spans, goroutines)
	var wg sync.WaitGroup
	for g := range made {
		draw := processes[g%len(processes)]
		wg.Go(func() {
			last := int64(0)
			for i, drawn := 0, 0; drawn < total/goroutines; i++ {
				n := l.sizes[i%len(l.sizes)]
				first, err := draw(t.Context(), n)
				if err != nil || first <= last {
					t.Errorf("%d, %v follows %d", first, err, last)
					return
				}
				made[g] = append(made[g], span{first, int64(n)})
				drawn, last = drawn+n, first+int64(n)-1
			}
		})
	}
	wg.Wait()
	slices.Concat(made...).check(t, total, cmp.Or(l.width, 63))
}

// span is n integers from first on.
type span struct{ first, n int64 }

type spans []span

// check checks that no integer is in two spans, that there are as many as total or more,
// and that each is positive and of no more bits than width.
func (s spans) check(t *testing.T, total, width int) {
	t.Helper()
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	count, beyond := int64(0), int64(1)
	for _, one := range s {
		if one.first < beyond {
			t.Fatalf("the integers from %d on are there already, or none: what is below %d is", one.first, beyond)
		}
		beyond = one.first + one.n
		count += one.n
	}
	if last := beyond - 1; width < 63 && last >= 1<<width {
		t.Errorf("%d is not of %d bits", last, width)
	}
	if count < int64(total) {
		t.Errorf("%d keys, want %d or more", count, total)
	}
}
