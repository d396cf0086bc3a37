package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// TestGen makes keys of each kind in each layout and reads them back.
func TestGen(t *testing.T) {
	const (
		str   = dialect.SequentialAsString
		bin   = dialect.SequentialAsBinary
		atEnd = dialect.SequentialAtEnd
	)
	for _, tt := range []struct {
		args   string
		length int
		want   keysource.Reading // but for time and chance
	}{
		{"", 36, keysource.Reading{Kind: "uuidv7", Layout: str}},
		{"uuidv7", 36, keysource.Reading{Kind: "uuidv7", Layout: str}},
		{"uuidv7 --layout string", 36, keysource.Reading{Kind: "uuidv7", Layout: str}},
		{"uuidv7 --layout binary", 32, keysource.Reading{Kind: "uuidv7", Layout: bin}},
		{"uuidv7 --layout sequential_at_end", 36, keysource.Reading{Kind: "uuidv7", Layout: atEnd}},
		{"uuidv4", 36, keysource.Reading{Kind: "uuidv4", Layout: str}},
		{"uuidv4 --layout binary", 32, keysource.Reading{Kind: "uuidv4", Layout: bin}},
		{"uuidv4 --layout sequential_at_end", 36, keysource.Reading{Kind: "uuidv4", Layout: str}}, // nothing to sort by
		{"ulid", 26, keysource.Reading{Kind: "ulid", Layout: str}},
		{"ulid --layout binary", 32, keysource.Reading{Kind: "ulid", Layout: bin}},
		{"comb", 36, keysource.Reading{Kind: "comb", Layout: str, Epoch: keysource.EpochDotNet}},
		{"comb --epoch dotnet --layout binary", 32, keysource.Reading{Kind: "comb", Layout: bin, Epoch: keysource.EpochDotNet}},
		{"comb --epoch unix", 36, keysource.Reading{Kind: "comb", Layout: str, Epoch: keysource.EpochUnix}},
		{"comb --epoch unix --layout sequential_at_end", 36, keysource.Reading{Kind: "comb", Layout: atEnd, Epoch: keysource.EpochUnix}},
	} {
		t.Run(tt.args, func(t *testing.T) {
			// ULIDs of one millisecond share the bits in which a UUIDv7 has its marks, so
			// that one time in 64 all of them are read as such.
			read, first := 0, ""
			for try := 0; try < 5 && read == 0; try++ {
				begin := time.Now().Add(-time.Millisecond)
				out := keyfillOut(t, "", append([]string{"gen", "-n", "50"}, strings.Fields(tt.args)...)...)
				keys := strings.Fields(out)
				if len(keys) != 50 || strings.Count(out, "\n") != 50 {
					t.Fatalf("%d keys on %d lines, want 50", len(keys), strings.Count(out, "\n"))
				}
				first = keys[0]
				for _, key := range keys {
					if len(key) != tt.length {
						t.Errorf("key %q has %d characters, want %d", key, len(key), tt.length)
					}
					if reads(t, key, tt.want, begin) {
						read++
					}
				}
			}
			// By chance a comb has the marks of another kind, one in 64 has a UUIDv7's.
			if read < 40 {
				t.Errorf("%d of 50 keys like %q read as %+v", read, first, tt.want)
			}
		})
	}
}

// reads reports whether a key can be read as want, made since begin.
func reads(t *testing.T, key string, want keysource.Reading, begin time.Time) bool {
	t.Helper()
	readings, err := keysource.Inspect(key)
	if err != nil {
		t.Fatalf("Inspect(%q): %v", key, err)
	}
	return slices.ContainsFunc(readings, func(r keysource.Reading) bool {
		timely := r.Time.After(begin) && r.Time.Before(time.Now().Add(time.Second))
		return r.Kind == want.Kind && r.Layout == want.Layout && r.Epoch == want.Epoch &&
			(timely || want.Kind == "uuidv4" && r.Time.IsZero())
	})
}

// TestGenMany draws more than one batch.
func TestGenMany(t *testing.T) {
	keys := strings.Fields(keyfillOut(t, "", "gen", "-n", "2500"))
	if len(keys) != 2500 || !slices.IsSorted(keys) {
		t.Errorf("%d keys, in ascending order: %t", len(keys), slices.IsSorted(keys))
	}
	if slices.Sort(keys); len(slices.Compact(keys)) != 2500 {
		t.Error("a key came twice")
	}
	if keys := strings.Fields(keyfillOut(t, "", "gen")); len(keys) != 1 {
		t.Errorf("%d keys without -n, want 1", len(keys))
	}
}
