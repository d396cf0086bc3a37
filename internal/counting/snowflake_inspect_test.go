package counting_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// TestInspectSnowflake: what is made of the bits of this package is read back,
// and a counter's integer is not taken for it.
func TestInspectSnowflake(t *testing.T) {
	integer := keysource.Reading{Kind: "integer"}
	for _, tt := range []struct {
		name   string
		bits   keysource.SnowflakeBits
		worker int
		now    time.Time
	}{
		{"default", keysource.SnowflakeBits{}, 1023, present.Add(123 * time.Millisecond)},
		{"default, worker 0", keysource.SnowflakeBits{}, 0, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"default, in 2079", keysource.SnowflakeBits{}, 1, time.Date(2079, 12, 31, 23, 59, 59, 0, time.UTC)},
		{"53", keysource.SnowflakeBits53(), 127, present.Add(300 * time.Millisecond)},
		{"53, worker 0", keysource.SnowflakeBits53(), 0, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"53, in 2074", keysource.SnowflakeBits53(), 1, time.Date(2074, 6, 1, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSnowflake(t, keysource.SnowflakeOptions{
				Bits: tt.bits, Worker: &tt.worker, Marker: new(markStore),
			}, keysource.Env{Now: frozen(tt.now)})
			first := one(t, s, 4096)
			for _, sequence := range []int64{0, 1, 4095} {
				got, err := keysource.Inspect(strconv.FormatInt(first+sequence, 10))
				want := []keysource.Reading{{
					Kind: "snowflake", Time: tt.now, Width: tt.bits.Width(), Worker: int64(tt.worker), Sequence: sequence,
				}, integer}
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("Inspect(%d)\n got %+v, %v\nwant %+v", first+sequence, got, err, want)
				}
			}
		})
	}
	for _, text := range []string{
		"0", "1", "2147483647", "4294967296",
		"99999999999999",       // 53 bits of 2020
		"100000000000000000",   // default bits of 2020
		"9007199254740992",     // 2⁵³
		"8799999999999999999",  // default bits of 2086
		"-849618346956582913",  // a negative snowflake
		"-1",                   //
		"-9223372036854775808", //
	} {
		got, err := keysource.Inspect(text)
		if err != nil || !slices.Equal(got, []keysource.Reading{integer}) {
			t.Errorf("Inspect(%s) = %+v, %v, want an integer alone", text, got, err)
		}
	}
}
