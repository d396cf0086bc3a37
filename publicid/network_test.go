package publicid_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/publicid"
)

// secret is the secret of these tests: 32 bytes from 0 to 31.
func secret() []byte {
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// TestNetworkIsAPermutation tries all values of a network of 16 bits: each of them comes out
// once, and is restored.
func TestNetworkIsAPermutation(t *testing.T) {
	const half, all = 8, 1 << 16
	for _, key := range [][]byte{secret(), make([]byte, 16), bytes.Repeat([]byte{0xff}, 100)} {
		n, err := publicid.NewNetwork(half, key)
		if err != nil {
			t.Fatal(err)
		}
		seen, fixed := make([]bool, all), 0
		for value := range uint64(all) {
			left, right := n.Permute(value>>half, value&0xff)
			if left > 0xff || right > 0xff {
				t.Fatalf("%x is permuted to %x and %x", value, left, right)
			}
			out := left<<half | right
			if seen[out] {
				t.Fatalf("%x comes out twice", out)
			}
			seen[out] = true
			if out == value {
				fixed++
			}
			if l, r := n.Restore(left, right); l<<half|r != value {
				t.Fatalf("%x is restored to %x", value, l<<half|r)
			}
		}
		if fixed > 10 { // of a random permutation 1 on average
			t.Errorf("%d values stay as they are", fixed)
		}
	}
}

// pythonVectors are what testdata/vectors.py prints.
type pythonVectors struct {
	Masks []struct {
		Secret, Purpose string
		UUID, Masked    uuid.UUID
	}
	Numbers []struct {
		Secret, Purpose string
		Number          int64
		Text            string
	}
}

// TestVectorsOfPython: this package makes what a second implementation in Python has made.
func TestVectorsOfPython(t *testing.T) {
	file, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all pythonVectors
	if err := json.Unmarshal(file, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Masks) < 50 || len(all.Numbers) < 90 {
		t.Fatalf("%d masks and %d numbers", len(all.Masks), len(all.Numbers))
	}
	for _, v := range all.Masks {
		m, err := publicid.NewMask(v.Purpose, unhex(t, v.Secret))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Hide(v.UUID); err != nil || got != v.Masked {
			t.Errorf("Hide(%v) = %v, %v, want %v", v.UUID, got, err, v.Masked)
		}
		if got, err := m.Reveal(v.Masked); err != nil || got != v.UUID {
			t.Errorf("Reveal(%v) = %v, %v, want %v", v.Masked, got, err, v.UUID)
		}
	}
	for _, v := range all.Numbers {
		n, err := publicid.NewNumber(v.Purpose, unhex(t, v.Secret))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := n.Hide(v.Number); err != nil || got != v.Text {
			t.Errorf("Hide(%d) = %q, %v, want %q", v.Number, got, err, v.Text)
		}
		if got, err := n.Reveal(v.Text); err != nil || got != v.Number {
			t.Errorf("Reveal(%q) = %d, %v, want %d", v.Text, got, err, v.Number)
		}
	}
}

// TestPython: testdata/vectors.json is what the implementation in Python prints.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: testdata/vectors.json is compared with this package alone")
	}
	command := exec.Command(python, "vectors.py")
	command.Dir = "testdata"
	command.Env = append(os.Environ(), "PYTHONIOENCODING=utf-8")
	got, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("testdata/vectors.json is not what testdata/vectors.py prints")
	}
}

// TestNoSecretsInLogs: package fmt prints nothing of a mask or a number but its type.
func TestNoSecretsInLogs(t *testing.T) {
	mask, number := newMask(t, "", secret()), newNumber(t, "", secret())
	for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%x", "%s", "%q", "%g"} {
		for _, value := range []any{mask, *mask, number, *number} {
			if got := fmt.Sprintf(verb, value); got != "publicid.Mask" && got != "publicid.Number" {
				t.Errorf("%s of %T prints %.200s", verb, value, got)
			}
		}
	}
}

// TestSecrets: what cannot be a secret is an error, which does not repeat it.
func TestSecrets(t *testing.T) {
	short := []byte("fifteen bytes..")
	for name, make := range map[string]func() error{
		"mask":         func() error { _, err := publicid.NewMask("", short); return err },
		"mask, none":   func() error { _, err := publicid.NewMask("", nil); return err },
		"mask, older":  func() error { _, err := publicid.NewMask("", secret(), secret(), short); return err },
		"number":       func() error { _, err := publicid.NewNumber("", short); return err },
		"number older": func() error { _, err := publicid.NewNumber("", secret(), short); return err },
	} {
		err := make()
		if !errors.Is(err, publicid.ErrSecret) || strings.Contains(err.Error(), "fifteen") || !strings.HasSuffix(err.Error(), "[docs/errors.md#public-id]") {
			t.Errorf("%s: %v, want ErrSecret", name, err)
		}
	}
}
