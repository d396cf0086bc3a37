package publicid_test

import (
	"encoding/hex"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/publicid"
)

// The benchmarks of one run are compared: Mask and Number take at most 6 times as long as
// Hex.

func BenchmarkHex(b *testing.B) {
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	b.ReportAllocs()
	for b.Loop() {
		kept = hex.EncodeToString(id[:])
	}
}

// kept keeps the result of Hex, which otherwise would need no memory.
var kept string

func BenchmarkMaskHide(b *testing.B) {
	m := newMask(b, "", secret())
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Hide(id); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMaskReveal(b *testing.B) {
	m := newMask(b, "", secret())
	masked := hide(b, m, uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Reveal(masked); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNumberHide(b *testing.B) {
	n := newNumber(b, "", secret())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Hide(836134789539880960); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNumberReveal(b *testing.B) {
	n := newNumber(b, "", secret())
	text := textOf(b, n, 836134789539880960)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Reveal(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIDString(b *testing.B) {
	id := publicid.FromUUID[customer](uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"))
	b.ReportAllocs()
	for b.Loop() {
		_ = id.String()
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := publicid.Parse[customer]("cus_01h455vb4pex5vsknk084sn02q"); err != nil {
			b.Fatal(err)
		}
	}
}
