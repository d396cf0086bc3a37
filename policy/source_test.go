package policy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

func TestSourceNew(t *testing.T) {
	const kinds = "uuidv7, uuidv4, uuidv5, ulid, comb, sequence, native, maxplusone, pseudorandom, scatter, coprime, composite, recycled, snowflake and identity"
	tests := []struct {
		source policy.Source
		want   string // the type, or how the error begins
	}{
		{policy.Source{Kind: policy.KindUUIDv7}, "*keysource.UUIDv7"},
		{policy.Source{Kind: policy.KindUUIDv4}, "*keysource.UUIDv4"},
		{policy.Source{Kind: policy.KindULID}, "*keysource.ULID"},
		{policy.Source{Kind: policy.KindCOMB}, "*keysource.COMB"},
		{policy.Source{Kind: "comb", Epoch: keysource.EpochUnix}, "*keysource.COMB"},
		{policy.Source{Kind: policy.KindSnowflake, Worker: new(3)}, "*counting.Snowflake"},
		{policy.Source{Kind: "snowflake", WorkerEnv: "KEYFILL_TEST_NO_WORKER"},
			`keysource: bad options: worker: the environment variable "KEYFILL_TEST_NO_WORKER" is not set`},
		{policy.Source{Kind: "snowflake", Worker: new(3), Epoch: "2039-12-31"},
			"keysource: the clock shows a time outside the range of the keys: "},
		{policy.Source{Kind: policy.KindSequence},
			"policy: a sequence needs a database: fill the table through one that is opened with it"},
		{policy.Source{Kind: policy.KindCoprime, Length: 6},
			"policy: a coprime needs a database: fill the table through one that is opened with it"},
		{policy.Source{Kind: policy.KindCoprime}, "policy: length is missing; "},
		{policy.Source{Kind: policy.KindIdentity}, `policy: kind "identity" makes no keys: the engine does`},
		{policy.Source{}, "policy: kind is missing; there are " + kinds},
		{policy.Source{Kind: "serial"}, `policy: unknown kind "serial"; there are ` + kinds},
		{policy.Source{Kind: "ulid", Epoch: keysource.EpochUnix}, "policy: epoch: ulid has none; leave it out, as it belongs to comb and snowflake"},
	}
	for _, tt := range tests {
		s, err := policy.NewSource(tt.source, keysource.Env{})
		got := fmt.Sprintf("%T", s)
		if err != nil {
			got = err.Error()
			if s != nil {
				t.Errorf("%+v.New gives %v and %v", tt.source, s, err)
			}
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%+v.New gives %s, want %s", tt.source, got, tt.want)
		}
	}
}

func TestSourceStateful(t *testing.T) {
	stateless := []string{"", "x", "uuidv7", "uuidv4", "ulid", "comb", "identity"}
	stateful := []string{
		"sequence", "native", "maxplusone", "pseudorandom", "scatter", "coprime", "composite", "recycled", "snowflake",
	}
	for _, kind := range slices.Concat(stateless, stateful) {
		want := slices.Contains(stateful, kind)
		if got := policy.Stateful(policy.Source{Kind: kind}); got != want {
			t.Errorf("Stateful of %q = %v, want %v", kind, got, want)
		}
	}
}

func TestSourceCreateRow(t *testing.T) {
	tests := []struct {
		source policy.Source
		want   bool
	}{
		{policy.Source{}, false},
		{policy.Source{EnsureSchema: true}, true},
		{policy.Source{EnsureSchema: true, Create: new(false)}, false},
		{policy.Source{Create: new(true)}, true},
	}
	for _, tt := range tests {
		if got := tt.source.CreateRow(); got != tt.want {
			t.Errorf("CreateRow of %+v = %v, want %v", tt.source, got, tt.want)
		}
	}
}

// idle is a store that is never asked.
type idle struct{}

func (idle) Reserve(context.Context, int64, int64) (keysource.Reservation, error) {
	return keysource.Reservation{}, errors.New("asked")
}

func (idle) Advance(context.Context, int64) error { return errors.New("asked") }

// sequenceOptions returns the options of a sequence as a policy gives them.
func sequenceOptions(s policy.Source) counting.SequenceOptions {
	return counting.SequenceOptions{
		Block: s.Block, MinBlock: s.MinBlock, MaxBlock: s.MaxBlock,
		OnBehind: s.OnBehind, OnStoreRollback: s.OnStoreRollback,
	}
}

// TestSequenceAgrees asks the policy and the source about the same options.
func TestSequenceAgrees(t *testing.T) {
	refused := 0
	sizes := []int64{-1, 0, 1, 5, 10, 11, 2_000_000}
	for _, block := range sizes {
		for _, least := range sizes {
			for _, most := range sizes {
				for _, r := range []keysource.Remedy{"", "error", "advance", "warn", "x"} {
					back := r
					if r == keysource.RemedyWarn {
						back = "" // which the policy allows to native alone
					}
					s := policy.Source{Kind: "sequence", Block: block, MinBlock: least, MaxBlock: most, OnBehind: r, OnStoreRollback: back}
					o := sequenceOptions(s)
					o.Reserver = idle{}
					_, want := counting.NewSequence(o, keysource.Env{})
					cfg := policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &s}}}
					_, err := cfg.Compile(dialect.MySQL())
					if (err == nil) != (want == nil) {
						t.Fatalf("%+v: Compile says %v, NewSequence %v", s, err, want)
					}
					if err != nil {
						refused++
					}
				}
			}
		}
	}
	if refused < 100 {
		t.Errorf("%d of the options are refused, want 100 at least", refused)
	}
}

// idleSeries are series that are never asked.
type idleSeries struct{ keysource.SeriesStore }

// TestRecycledAgrees asks the policy and the source about the same options.
func TestRecycledAgrees(t *testing.T) {
	refused := 0
	sizes := []int64{-1, 0, 1, 9, 10, 11, 2_000_000}
	for _, series := range sizes {
		for _, block := range sizes {
			for _, least := range sizes {
				for _, most := range sizes {
					for _, r := range []keysource.Remedy{"", "advance", "warn", "x"} {
						s := policy.Source{
							Kind: "recycled", Series: series, Block: block, MinBlock: least, MaxBlock: most,
							OnBehind: r, OnStoreRollback: r, Lease: time.Second,
						}
						_, want := counting.NewRecycled(counting.RecycledOptions{
							Store: idleSeries{}, Size: series, Lease: s.Lease, Block: block, MinBlock: least, MaxBlock: most,
							OnBehind: r, OnStoreRollback: r,
						}, keysource.Env{})
						cfg := policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &s}}}
						_, err := cfg.Compile(dialect.MySQL())
						if (err == nil) != (want == nil) {
							t.Fatalf("%+v: Compile says %v, NewRecycled %v", s, err, want)
						}
						if err != nil {
							refused++
						}
					}
				}
			}
		}
	}
	if refused < 100 {
		t.Errorf("%d of the options are refused, want 100 at least", refused)
	}
}

// TestSnowflakeAgrees asks the policy and the source about the same bits.
func TestSnowflakeAgrees(t *testing.T) {
	refused, made := 0, 0
	for _, time1 := range []int{1, 38, 39, 41, 50, 62, 63, 64} {
		for _, worker := range []int{-1, 0, 10, 13} {
			for _, sequence := range []int{-1, 0, 12, 40} {
				for _, unit := range []time.Duration{0, time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, time.Minute} {
					for _, epoch := range []keysource.Epoch{"", "1970-01-01", "2015-01-01"} {
						s := policy.Source{
							Kind: "snowflake", Worker: new(0), Epoch: epoch,
							TimeBits: time1, WorkerBits: worker, SequenceBits: sequence, Unit: unit,
						}
						source, want := counting.NewSnowflake(nil, s.SnowflakeOptions(), keysource.Env{})
						cfg := policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &s}}}
						_, err := cfg.Compile(dialect.MySQL())
						if (err == nil) != (want == nil) {
							t.Fatalf("%+v: Compile says %v, NewSnowflake %v", s, err, want)
						}
						if want != nil {
							refused++
							continue
						}
						made++
						if err := source.Close(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
			}
		}
	}
	if refused < 100 || made < 20 {
		t.Errorf("%d are refused and %d made, want 100 and 20 at least", refused, made)
	}
}

func TestSnowflakeOptions(t *testing.T) {
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	narrow := keysource.SnowflakeBits53()
	narrow.Epoch = day
	tests := []struct {
		source policy.Source
		want   keysource.SnowflakeBits
	}{
		{policy.Source{}, keysource.SnowflakeBits{}},
		{policy.Source{Bits: 63, Epoch: "2024-02-29"}, keysource.SnowflakeBits{Epoch: day}},
		{policy.Source{Bits: 53, Epoch: "2024-02-29"}, narrow},
		{policy.Source{TimeBits: 40, WorkerBits: 3, SequenceBits: 9, Unit: time.Second},
			keysource.SnowflakeBits{Time: 40, Worker: 3, Sequence: 9, Unit: time.Second}},
	}
	for _, tt := range tests {
		if got := tt.source.SnowflakeOptions().Bits; got != tt.want {
			t.Errorf("SnowflakeOptions of %+v has the bits %+v, want %+v", tt.source, got, tt.want)
		}
	}
	s := policy.Source{Worker: new(4), WorkerEnv: "W", WorkerOrdinal: true}
	o := s.SnowflakeOptions()
	if o.Worker == s.Worker || *o.Worker != 4 || o.WorkerEnv != "W" || !o.Ordinal || o.Marker != nil {
		t.Errorf("SnowflakeOptions of %+v = %+v", s, o)
	}
}

// TestLeaseDefault: a policy that says nothing of a lease gets the default of the
// package that makes the keys.
func TestLeaseDefault(t *testing.T) {
	cfg := policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &policy.Source{Kind: policy.KindRecycled}}}}
	rules, err := cfg.Compile(dialect.MySQL())
	if err != nil {
		t.Fatal(err)
	}
	if got := rules.Rules()[0].Keys[0].Source.Lease; got != counting.DefaultLease {
		t.Errorf("the policy's default lease is %v, the key source's is %v", got, counting.DefaultLease)
	}
}
