package publicid_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/publicid"
)

func unhex(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newMask(t testing.TB, purpose string, current []byte, older ...[]byte) *publicid.Mask {
	t.Helper()
	m, err := publicid.NewMask(purpose, current, older...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hide returns the masked form of a UUID.
func hide(t testing.TB, m *publicid.Mask, id uuid.UUID) uuid.UUID {
	t.Helper()
	masked, err := m.Hide(id)
	if err != nil {
		t.Fatal(err)
	}
	return masked
}

// randomUUID returns a UUID of a version whose other bits are random.
func randomUUID(random *rand.Rand, version byte) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], random.Uint64())
	binary.BigEndian.PutUint64(id[8:], random.Uint64())
	id[6] = id[6]&0x0f | version<<4
	id[8] = id[8]&0x3f | 0x80
	return id
}

// TestMaskInverse: what is masked looks like a UUIDv4 and is restored, and the other way
// round.
func TestMaskInverse(t *testing.T) {
	m := newMask(t, "", secret())
	random := rand.New(rand.NewPCG(1, 2))
	for range testturn.Share(t, 1_000_000, 50_000) {
		id := randomUUID(random, 7)
		masked := hide(t, m, id)
		if masked.Version() != 4 || masked.Variant() != uuid.RFC4122 {
			t.Fatalf("the masked form of %v is %v", id, masked)
		}
		if back, err := m.Reveal(masked); err != nil || back != id {
			t.Fatalf("%v is masked as %v, and restored as %v, error %v", id, masked, back, err)
		}
		other := randomUUID(random, 4)
		back, err := m.Reveal(other)
		if err != nil || back.Version() != 7 || back.Variant() != uuid.RFC4122 || hide(t, m, back) != other {
			t.Fatalf("%v is restored as %v, error %v, and masked otherwise", other, back, err)
		}
	}
}

// flippable are the bits of a UUID that are not version or variant.
func flippable() (all []int) {
	for bit := range 128 {
		if bit/4 != 12 && bit/2 != 32 {
			all = append(all, bit)
		}
	}
	return all
}

func flip(id uuid.UUID, bit int) uuid.UUID {
	id[bit/8] ^= 0x80 >> (bit % 8)
	return id
}

// distance is in how many bits two UUIDs differ.
func distance(a, b uuid.UUID) int {
	return bits.OnesCount64(binary.BigEndian.Uint64(a[:8])^binary.BigEndian.Uint64(b[:8])) +
		bits.OnesCount64(binary.BigEndian.Uint64(a[8:])^binary.BigEndian.Uint64(b[8:]))
}

// TestMaskAvalanche: where one bit of 122 changes, whichever it is, 61 change of what comes
// out, of both directions; and each bit changes as often as it does not.
func TestMaskAvalanche(t *testing.T) {
	m := newMask(t, "", secret())
	random := rand.New(rand.NewPCG(3, 4))
	hidden := func(id uuid.UUID) uuid.UUID { return hide(t, m, id) }
	revealed := func(id uuid.UUID) uuid.UUID {
		back, err := m.Reveal(id)
		if err != nil {
			t.Fatal(err)
		}
		return back
	}
	const samples = 1000 // the mean of an input bit has a standard deviation of 0.17
	for _, way := range []struct {
		name    string
		version byte
		of      func(uuid.UUID) uuid.UUID
	}{{"hide", 7, hidden}, {"reveal", 4, revealed}} {
		var changed [128]int
		for _, bit := range flippable() {
			sum := 0
			for range samples {
				id := randomUUID(random, way.version)
				a, b := way.of(id), way.of(flip(id, bit))
				sum += distance(a, b)
				for i := range changed {
					changed[i] += int((a[i/8] ^ b[i/8]) >> (7 - i%8) & 1)
				}
			}
			if mean := float64(sum) / samples; math.Abs(mean-61) > 1 {
				t.Errorf("%s: bit %d changes %.2f bits on average, want 61 ± 1", way.name, bit, mean)
			}
		}
		for _, bit := range flippable() {
			if share := float64(changed[bit]) / (122 * samples); math.Abs(share-0.5) > 0.01 {
				t.Errorf("%s: bit %d changes in %.3f of all cases, want half", way.name, bit, share)
			}
		}
	}
}

// TestMaskOfOneStatement: the keys of one INSERT … SELECT share their time, or their random
// bits, and differ by a count. Their masked forms share no more than chance does.
func TestMaskOfOneStatement(t *testing.T) {
	m := newMask(t, "", secret())
	first := uuid.MustParse("0137aa88-0c46-7000-8012-2e27653a9d13")
	for name, at := range map[string]int{"rand_a": 6, "rand_b": 14, "time": 4} {
		sum, n := 0, 0
		last := hide(t, m, first)
		for i := range 1000 {
			id := first
			binary.BigEndian.PutUint16(id[at:], binary.BigEndian.Uint16(id[at:])+uint16(i)+1)
			masked := hide(t, m, id)
			sum, n, last = sum+distance(last, masked), n+1, masked
		}
		if mean := float64(sum) / float64(n); math.Abs(mean-61) > 1 {
			t.Errorf("keys that count in %s differ in %.2f bits when masked, want 61 ± 1", name, mean)
		}
	}
}

// TestMaskKeys: another secret and another purpose are another permutation, and a masked id has
// one candidate for each secret, in the order of the secrets.
func TestMaskKeys(t *testing.T) {
	old, older := append([]byte{1}, secret()...), append([]byte{2}, secret()...)
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	ring := newMask(t, "customers", secret(), old, older)
	for place, one := range [][]byte{secret(), old, older} {
		masked := hide(t, newMask(t, "customers", one), id)
		all, err := ring.Candidates(masked)
		if err != nil || len(all) != 3 {
			t.Fatalf("Candidates = %v, %v", all, err)
		}
		for i, candidate := range all {
			if (candidate == id) != (i == place) || candidate.Version() != 7 {
				t.Errorf("secret %d: candidate %d is %v", place, i, candidate)
			}
		}
		if back, err := ring.Reveal(masked); err != nil || back != all[0] {
			t.Errorf("Reveal = %v, %v, want the first candidate %v", back, err, all[0])
		}
	}
	if hide(t, ring, id) != hide(t, newMask(t, "customers", secret()), id) {
		t.Error("the older secrets change what the current one makes")
	}
	if hide(t, ring, id) == hide(t, newMask(t, "orders", secret()), id) {
		t.Error("two purposes have one mask")
	}
}

// TestMaskVersions: UUIDs of other versions and variants are refused, without being
// repeated.
func TestMaskVersions(t *testing.T) {
	m := newMask(t, "", secret())
	for _, text := range []string{
		"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"2ed6657d-e927-568b-95e1-2665a8aea6a2", "01890a5d-ac96-774b-3cce-b302099a8057",
		"919108f7-52d1-4320-dbac-f847db4148a8",
	} {
		id := uuid.MustParse(text)
		if got, err := m.Hide(id); !errors.Is(err, publicid.ErrVersion) || got != (uuid.UUID{}) {
			t.Errorf("Hide(%s) = %v, %v, want ErrVersion", text, got, err)
		}
		if got, err := m.Reveal(id); !errors.Is(err, publicid.ErrVersion) || got != (uuid.UUID{}) {
			t.Errorf("Reveal(%s) = %v, %v, want ErrVersion", text, got, err)
		}
		if got, err := m.Candidates(id); !errors.Is(err, publicid.ErrVersion) || got != nil {
			t.Errorf("Candidates(%s) = %v, %v, want ErrVersion", text, got, err)
		}
	}
	random := rand.New(rand.NewPCG(5, 6))
	if _, err := m.Hide(randomUUID(random, 4)); !errors.Is(err, publicid.ErrVersion) {
		t.Errorf("Hide of a UUIDv4: %v, want ErrVersion", err)
	}
	if _, err := m.Reveal(randomUUID(random, 7)); !errors.Is(err, publicid.ErrVersion) {
		t.Errorf("Reveal of a UUIDv7: %v, want ErrVersion", err)
	}
}
