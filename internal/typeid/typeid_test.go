package typeid_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/typeid"
)

// vector is a vector of the specification; an invalid one has no prefix and no UUID.
type vector struct {
	Name, TypeID, Prefix string
	UUID                 uuid.UUID
}

func vectors(t *testing.T, name string, want int) (all []vector) {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &all); err != nil || len(all) != want {
		t.Fatalf("%s has %d vectors, error %v, want %d", name, len(all), err, want)
	}
	return all
}

// TestValid: the valid vectors are written and read.
func TestValid(t *testing.T) {
	for _, v := range vectors(t, "valid.json", 9) {
		if got := string(typeid.Append(nil, v.Prefix, v.UUID)); got != v.TypeID {
			t.Errorf("%s: Append = %q, want %q", v.Name, got, v.TypeID)
		}
		prefix, key, err := typeid.Parse(v.TypeID)
		if err != nil || prefix != v.Prefix || key != v.UUID {
			t.Errorf("%s: Parse = %q, %v, %v, want %q, %v", v.Name, prefix, uuid.UUID(key), err, v.Prefix, v.UUID)
		}
	}
}

// TestInvalid: the invalid vectors are errors, each with the error that says why.
func TestInvalid(t *testing.T) {
	causes := map[string]error{
		"separator-empty-prefix": typeid.ErrSeparator, "separator-empty": typeid.ErrSeparator,
		"prefix-uppercase": typeid.ErrPrefix, "prefix-numeric": typeid.ErrPrefix, "prefix-period": typeid.ErrPrefix,
		"prefix-non-ascii": typeid.ErrPrefix, "prefix-spaces": typeid.ErrPrefix, "prefix-64-chars": typeid.ErrPrefix,
		"prefix-underscore-start": typeid.ErrPrefix, "prefix-underscore-end": typeid.ErrPrefix,
		"suffix-short": typeid.ErrSize, "suffix-long": typeid.ErrSize, "empty": typeid.ErrSize, "prefix-empty": typeid.ErrSize,
		"suffix-hyphens-crockford": typeid.ErrSize,
		"suffix-spaces":            typeid.ErrDigit, "suffix-uppercase": typeid.ErrDigit, "suffix-hyphens": typeid.ErrDigit,
		"suffix-wrong-alphabet": typeid.ErrDigit, "suffix-ambiguous-crockford": typeid.ErrDigit,
		"suffix-overflow": typeid.ErrRange,
	}
	for _, v := range vectors(t, "invalid.json", 21) {
		prefix, key, err := typeid.Parse(v.TypeID)
		if want := causes[v.Name]; want == nil || !errors.Is(err, want) || prefix != "" || key != [16]byte{} {
			t.Errorf("%s: Parse = %q, %x, %v, want %v", v.Name, prefix, key, err, want)
		}
	}
}

// TestCheckPrefix: the longest prefix, and those at the edges of the alphabet.
func TestCheckPrefix(t *testing.T) {
	for prefix, want := range map[string]error{
		"": nil, "a": nil, "z": nil, "a_b": nil, "a__b": nil, strings.Repeat("a", 63): nil,
		"_": typeid.ErrPrefix, "a_": typeid.ErrPrefix, "_a": typeid.ErrPrefix, "a`": typeid.ErrPrefix, "{a": typeid.ErrPrefix,
		"a b": typeid.ErrPrefix, strings.Repeat("a", 64): typeid.ErrPrefix, strings.Repeat("a_", 32): typeid.ErrPrefix,
	} {
		if err := typeid.CheckPrefix(prefix); !errors.Is(err, want) {
			t.Errorf("CheckPrefix(%q) = %v, want %v", prefix, err, want)
		}
	}
}

// FuzzParse: a text that is read is the one text of its prefix and its key.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"cus_01h455vb4pex5vsknk084sn02q", "7zzzzzzzzzzzzzzzzzzzzzzzzz", "a_b_00000000000000000000000000", "__"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		prefix, key, err := typeid.Parse(text)
		if err == nil && (string(typeid.Append(nil, prefix, key)) != text || typeid.CheckPrefix(prefix) != nil || len(text) > typeid.MaxSize) {
			t.Errorf("Parse(%q) = %q, %x", text, prefix, key)
		}
	})
}
