package keysource_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

func TestUUIDv4Vectors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		random string
		layout dialect.Layout
		want   string
	}{
		{"string", "919108f752d133205bacf847db4148a8", str, "919108f7-52d1-4320-9bac-f847db4148a8"},
		{"binary", "919108f752d133205bacf847db4148a8", bin, "919108f752d143209bacf847db4148a8"},
		{"at end is plain text", "919108f752d133205bacf847db4148a8", atEnd, "919108f7-52d1-4320-9bac-f847db4148a8"},
		{"all zeros", "00000000000000000000000000000000", str, "00000000-0000-4000-8000-000000000000"},
		{"all ones", "ffffffffffffffffffffffffffffffff", str, "ffffffff-ffff-4fff-bfff-ffffffffffff"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := keysource.NewUUIDv4(keysource.Env{Rand: bytesOf(t, tt.random)})
			if got := text(t, next(t, s, tt.layout, 1)[0]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestUUIDv4Marks(t *testing.T) {
	s := keysource.NewUUIDv4(keysource.Env{Rand: newStream()})
	for _, layout := range []dialect.Layout{str, atEnd} {
		for _, key := range next(t, s, layout, 10_000) {
			u, err := uuid.Parse(key.(string))
			if err != nil {
				t.Fatal(err)
			}
			if u.Version() != 4 || u.Variant() != uuid.RFC4122 {
				t.Fatalf("%s has version %d and variant %v", u, u.Version(), u.Variant())
			}
		}
	}
}
