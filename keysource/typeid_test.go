package keysource_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/typeid"
	"github.com/keyfill/keyfill/keysource"
)

// TestTypeIDPrefix: a source has the prefixes of the specification's vectors, and no other.
func TestTypeIDPrefix(t *testing.T) {
	for _, prefix := range []string{"a", "cus", "pre_fix", "a__b", strings.Repeat("z", 63)} {
		s, err := keysource.NewTypeID(keysource.Env{}, prefix)
		if err != nil {
			t.Fatalf("%q: %v", prefix, err)
		}
		if key := next(t, s, str, 1)[0].(string); !strings.HasPrefix(key, prefix+"_") || len(key) != len(prefix)+27 {
			t.Errorf("%q makes %s", prefix, key)
		}
	}
	for _, prefix := range []string{"", "_", "_a", "a_", "A", "a1", "a-b", "a b", "\u00e4", strings.Repeat("z", 64)} {
		if s, err := keysource.NewTypeID(keysource.Env{}, prefix); !errors.Is(err, keysource.ErrPrefix) || s != nil {
			t.Errorf("%q: %v, want ErrPrefix", prefix, err)
		}
	}
	file, err := os.ReadFile("../internal/typeid/testdata/valid.json")
	var vectors []struct{ Prefix string }
	if err := errors.Join(err, json.Unmarshal(file, &vectors)); err != nil || len(vectors) == 0 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		if _, err := keysource.NewTypeID(keysource.Env{}, v.Prefix); (err == nil) != (v.Prefix != "") {
			t.Errorf("%q: %v", v.Prefix, err)
		}
	}
}

// TestTypeIDIsUUIDv7: the keys are those of a UUIDv7 with the same clock and random numbers,
// one at a time and together.
func TestTypeIDIsUUIDv7(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 65, 200} {
		env := func() keysource.Env { return keysource.Env{Now: frozen(instant), Rand: newStream()} }
		uuids := next(t, keysource.NewUUIDv7(env()), str, n)
		for i, key := range next(t, newTypeID(env()), str, n) {
			prefix, id, err := typeid.Parse(key.(string))
			if err != nil || prefix != "shop_cus" || uuid.UUID(id).String() != uuids[i] {
				t.Fatalf("key %d of %d is %v (%v, %v), want the UUID %v", i, n, key, uuid.UUID(id), err, uuids[i])
			}
		}
	}
}

// TestTypeIDRowPrefix: what an engine makes of a prefix is a TypeID of a UUID of version 7.
func TestTypeIDRowPrefix(t *testing.T) {
	s := rowsTypeID(keysource.Env{})
	for range 1000 {
		prefix, before, err := s.RowPrefix(t.Context(), str)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []int64{1, 2, 1<<47 - 1} {
			key := rowKey(t, "typeid", prefix, before+row, str).(string)
			_, id, err := typeid.Parse(key)
			if u := uuid.UUID(id); err != nil || u.Version() != 7 || u.Variant() != uuid.RFC4122 {
				t.Fatalf("%s is %v of version %v, %v", key, u, u.Version(), err)
			}
		}
	}
}
