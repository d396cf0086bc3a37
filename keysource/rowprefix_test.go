package keysource_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// rowSources are the sources whose keys an engine counts up, with their layouts.
var rowSources = []struct {
	name    string
	make    func(keysource.Env) keysource.RowSource
	layouts []dialect.Layout
}{
	{"uuidv7", func(e keysource.Env) keysource.RowSource { return keysource.NewUUIDv7(e) }, []dialect.Layout{str, bin, dialect.SequentialAtEnd}},
	{"ulid", func(e keysource.Env) keysource.RowSource { return keysource.NewULID(e) }, []dialect.Layout{str, bin}},
	{"typeid", rowsTypeID, []dialect.Layout{str, bin, dialect.SequentialAtEnd}},
	{"comb", func(e keysource.Env) keysource.RowSource { return keysource.NewCOMB(e, keysource.EpochUnix) },
		[]dialect.Layout{str, bin, dialect.SequentialAtEnd}},
}

// rowKey returns the key that an engine makes of a prefix and the number of a row, as a
// driver would take it: see [dialect.Tails].
func rowKey(t *testing.T, name, prefix string, number int64, l dialect.Layout) any {
	t.Helper()
	var tail [8]byte
	binary.BigEndian.PutUint64(tail[:], uint64(number))
	if number < 1 || number >= 1<<48 {
		t.Fatalf("the number %d has no 48 bits", number)
	}
	if l == str {
		digits := fmt.Sprintf("%012x", number)
		if name == "ulid" {
			digits = strings.ToUpper(digits)
		}
		return prefix + digits
	}
	first, err := hex.DecodeString(prefix)
	if err != nil || len(first) != 10 {
		t.Fatalf("the prefix %q: %v", prefix, err)
	}
	if l == bin {
		return append(first, tail[2:]...)
	}
	// What SQL Server stores, and shows with the first groups reversed.
	stored := slices.Concat(tail[4:8], tail[2:4], first)
	return dialect.Text(dialect.MixedEndian([16]byte(stored)))
}

// sortable returns a key as text that sorts as an index of the layout does.
func sortable(t *testing.T, key any, l dialect.Layout) string {
	t.Helper()
	if b, ok := key.([]byte); ok {
		return hex.EncodeToString(b)
	}
	if l != dialect.SequentialAtEnd {
		return key.(string)
	}
	id, err := uuid.Parse(key.(string))
	if err != nil {
		t.Fatal(err)
	}
	sorted := dialect.FromAtEnd(id)
	return hex.EncodeToString(sorted[:])
}

// TestRowPrefix: the keys of a statement's rows ascend, also over the groups of a
// uniqueidentifier, and no other key of the source is among them, whether it was made
// before or after, all in one instant.
func TestRowPrefix(t *testing.T) {
	t.Parallel()
	for _, source := range rowSources {
		for _, l := range source.layouts {
			t.Run(source.name+"/"+string(l), func(t *testing.T) {
				t.Parallel()
				s := source.make(keysource.Env{Now: frozen(instant), Rand: newStream()})
				var all []string // in the order in which they were made
				for range 50 {
					all = append(all, sortable(t, next(t, s, l, 1)[0], l))
					prefix, before, err := s.RowPrefix(context.Background(), l)
					if err != nil {
						t.Fatal(err)
					}
					if before < 0 || before >= 1<<47 {
						t.Fatalf("it counts on from %d", before)
					}
					carry := 1<<32 - before&(1<<32-1) // the row from which on the upper 16 bits are greater
					rows := []int64{1, 2, 1000, carry - 1, carry, carry + 1, 1<<47 - 1}
					slices.Sort(rows)
					for _, row := range slices.Compact(rows) {
						if row > 0 {
							all = append(all, sortable(t, rowKey(t, source.name, prefix, before+row, l), l))
						}
					}
				}
				for i := range all[1:] {
					if all[i] >= all[i+1] {
						t.Fatalf("%s was made before %s", all[i], all[i+1])
					}
				}
			})
		}
	}
}

// TestRowPrefixOfProcesses: two processes in one instant count in other numbers.
func TestRowPrefixOfProcesses(t *testing.T) {
	t.Parallel()
	for _, source := range rowSources {
		one := source.make(keysource.Env{Now: frozen(instant)})
		other := source.make(keysource.Env{Now: frozen(instant)})
		for _, l := range source.layouts {
			prefix, before, err := one.RowPrefix(context.Background(), l)
			second, from, otherErr := other.RowPrefix(context.Background(), l)
			if err != nil || otherErr != nil {
				t.Fatal(err, otherErr)
			}
			// With equal leading random bits, the numbers are 2⁴⁷ by chance.
			if prefix == second && max(before, from)-min(before, from) < 10_000 {
				t.Errorf("%s, %s: both count on from %d behind %s", source.name, l, before, prefix)
			}
		}
	}
}

// TestRowPrefixFails: what ends a request for a key ends one for a prefix.
func TestRowPrefixFails(t *testing.T) {
	t.Parallel()
	for _, source := range rowSources {
		if _, _, err := source.make(keysource.Env{Rand: dry{}}).RowPrefix(context.Background(), str); !errors.Is(err, keysource.ErrEntropy) {
			t.Errorf("%s without entropy: %v", source.name, err)
		}
		early := frozen(time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC))
		if _, _, err := source.make(keysource.Env{Now: early}).RowPrefix(context.Background(), str); !errors.Is(err, keysource.ErrClock) {
			t.Errorf("%s before 1970: %v", source.name, err)
		}
	}
	if _, _, err := keysource.NewULID(keysource.Env{}).RowPrefix(context.Background(), dialect.SequentialAtEnd); !errors.Is(err, keysource.ErrLayout) {
		t.Errorf("a ulid at the end: %v", err)
	}
}
