package publicid_test

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/publicid"
)

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

func newNumber(t testing.TB, purpose string, current []byte, older ...[]byte) *publicid.Number {
	t.Helper()
	n, err := publicid.NewNumber(purpose, current, older...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// textOf returns the text of an integer.
func textOf(t testing.TB, n *publicid.Number, number int64) string {
	t.Helper()
	text, err := n.Hide(number)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestNumberInverse: each integer has a text of 12 characters that restores it.
func TestNumberInverse(t *testing.T) {
	n := newNumber(t, "", secret())
	random := rand.New(rand.NewPCG(1, 2))
	check := func(number int64) {
		text := textOf(t, n, number)
		if len(text) != publicid.NumberSize || strings.Trim(text, base58) != "" {
			t.Fatalf("Hide(%d) = %q", number, text)
		}
		if back, err := n.Reveal(text); err != nil || back != number {
			t.Fatalf("%d has the text %q, which is restored as %d, error %v", number, text, back, err)
		}
	}
	for number := range int64(1000) {
		check(number)
		check(math.MaxInt64 - number)
	}
	for range testturn.Share(t, 1_000_000, 50_000) {
		check(random.Int64())
	}
	for _, negative := range []int64{-1, math.MinInt64} {
		if text, err := n.Hide(negative); err != publicid.ErrNegative || text != "" {
			t.Errorf("Hide(%d) = %q, %v, want ErrNegative", negative, text, err)
		}
	}
}

// valueOf returns the 64 bits of a text.
func valueOf(text string) (value uint64) {
	for i := range len(text) - 1 {
		value = value*58 + uint64(strings.IndexByte(base58, text[i]))
	}
	return value
}

// TestNumberAvalanche: neighbours differ in half of the 64 bits, as do integers of which one
// bit differs.
func TestNumberAvalanche(t *testing.T) {
	n := newNumber(t, "", secret())
	random := rand.New(rand.NewPCG(3, 4))
	const samples = 1000
	mean := func(other func(int64) int64) float64 {
		sum := 0
		for range samples {
			number := random.Int64N(math.MaxInt64)
			sum += bits.OnesCount64(valueOf(textOf(t, n, number)) ^ valueOf(textOf(t, n, other(number))))
		}
		return float64(sum) / samples
	}
	if got := mean(func(number int64) int64 { return number + 1 }); math.Abs(got-32) > 1 {
		t.Errorf("neighbours differ in %.2f bits, want 32 ± 1", got)
	}
	for bit := range 63 {
		if got := mean(func(number int64) int64 { return number ^ 1<<bit }); math.Abs(got-32) > 1 {
			t.Errorf("bit %d changes %.2f bits, want 32 ± 1", bit, got)
		}
	}
}

// TestNumberMistakes: one wrong character is always found, and two neighbours exchanged
// nearly always.
func TestNumberMistakes(t *testing.T) {
	n := newNumber(t, "", secret())
	random := rand.New(rand.NewPCG(5, 6))
	exchanged, missed := 0, 0
	for range 300 {
		text := textOf(t, n, random.Int64())
		for i := range len(text) {
			for _, c := range []byte(base58) {
				if wrong := text[:i] + string(c) + text[i+1:]; c != text[i] {
					if got, err := n.Reveal(wrong); !errors.Is(err, publicid.ErrText) || strings.Contains(err.Error(), wrong) {
						t.Fatalf("Reveal(%q) = %d, %v, want ErrText: the text is %q", wrong, got, err, text)
					}
				}
			}
			if i > 0 && text[i] != text[i-1] {
				exchanged++
				if _, err := n.Reveal(text[:i-1] + text[i:i+1] + text[i-1:i] + text[i+1:]); err == nil {
					missed++
				}
			}
		}
	}
	if missed*1000 > exchanged {
		t.Errorf("%d of %d exchanged neighbours are not found, want one in a thousand at most", missed, exchanged)
	}
}

// TestNumberTexts: other texts are refused, and of made-up ones nearly all.
func TestNumberTexts(t *testing.T) {
	n := newNumber(t, "", secret())
	for _, text := range []string{
		"", "1", strings.Repeat("1", 11), strings.Repeat("1", 13), strings.Repeat("z", 12), strings.Repeat("0", 12),
		"11111111111é", "11111111111 ", "1111111111l1", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		if got, err := n.Reveal(text); !errors.Is(err, publicid.ErrText) || got != 0 || !strings.HasSuffix(err.Error(), "[docs/errors.md#public-id]") {
			t.Errorf("Reveal(%q) = %d, %v, want ErrText", text, got, err)
		}
		if got, err := n.Candidates(text); !errors.Is(err, publicid.ErrText) || got != nil {
			t.Errorf("Candidates(%q) = %v, %v, want ErrText", text, got, err)
		}
	}
	random := rand.New(rand.NewPCG(7, 8))
	const all = 200_000
	right := 0
	for range all {
		var text [publicid.NumberSize]byte
		for i := range text {
			text[i] = base58[random.IntN(len(base58))]
		}
		if _, err := n.Reveal(string(text[:])); err == nil {
			right++
		}
	}
	if right*100 > all {
		t.Errorf("%d of %d made-up texts are texts of integers, want one in a hundred at most", right, all)
	}
}

// TestNumberKeys: another secret and another purpose make other texts, and a text has at most
// one candidate for each secret, in the order of the secrets.
func TestNumberKeys(t *testing.T) {
	old := append([]byte{1}, secret()...)
	ring := newNumber(t, "orders", secret(), old)
	alone := 0
	for number := range int64(200) {
		text := textOf(t, newNumber(t, "orders", old), number)
		all, err := ring.Candidates(text)
		if err != nil || all[len(all)-1] != number || len(all) > 2 {
			t.Fatalf("Candidates(%q) = %v, %v, want %d as the last one", text, all, err, number)
		}
		if len(all) == 1 { // half of the texts have no integer under the current secret
			alone++
			if _, err := ring.Reveal(text); !errors.Is(err, publicid.ErrText) {
				t.Errorf("Reveal(%q): %v, want ErrText", text, err)
			}
		}
		if all, err := ring.Candidates(textOf(t, ring, number)); err != nil || all[0] != number {
			t.Errorf("the candidates of the current text of %d are %v, error %v", number, all, err)
		}
		if textOf(t, newNumber(t, "customers", secret()), number) == textOf(t, ring, number) {
			t.Errorf("two purposes have one text of %d", number)
		}
	}
	if alone < 50 || alone > 150 {
		t.Errorf("%d of 200 texts have one candidate, want about half", alone)
	}
}
