package dialect_test

import (
	"bytes"
	"database/sql/driver"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
)

// key returns the 16 bytes of 32 hexadecimal digits.
func key(t *testing.T, digits string) (k [16]byte) {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 16 {
		t.Fatalf("%q: %v", digits, err)
	}
	copy(k[:], b)
	return k
}

// A UUIDv7 of 2012-06-02T00:11:11.814Z in each layout; the text of the last is
// the one that SQL Server stores as 653a9d132e2780127ed50137aa880c46.
func TestLayoutValue(t *testing.T) {
	k := key(t, "0137aa880c467ed580122e27653a9d13")
	tests := []struct {
		layout dialect.Layout
		want   driver.Value
	}{
		{dialect.SequentialAsString, "0137aa88-0c46-7ed5-8012-2e27653a9d13"},
		{dialect.SequentialAtEnd, "139d3a65-272e-1280-7ed5-0137aa880c46"},
	}
	for _, tt := range tests {
		if got := tt.layout.Value(k); got != tt.want {
			t.Errorf("%s: Value(%x) = %v, want %v", tt.layout, k, got, tt.want)
		}
	}
	b, ok := dialect.SequentialAsBinary.Value(k).([]byte)
	if !ok || !bytes.Equal(b, k[:]) {
		t.Errorf("%s: Value(%x) = %x", dialect.SequentialAsBinary, k, b)
	}
	b[0]++
	if k[0] != 1 {
		t.Error("the binary value shares the key's bytes")
	}
}

func TestAtEnd(t *testing.T) {
	k := key(t, "0137aa880c467ed580122e27653a9d13")
	text := dialect.AtEnd(k)
	if want := key(t, "139d3a65272e12807ed50137aa880c46"); text != want {
		t.Errorf("AtEnd(%x) = %x, want %x", k, text, want)
	}
	if stored := dialect.MixedEndian(text); stored != key(t, "653a9d132e2780127ed50137aa880c46") {
		t.Errorf("AtEnd(%x) is stored as %x", k, stored)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var k [16]byte
		for i := range k {
			k[i] = byte(r.Uint32())
		}
		if got := dialect.FromAtEnd(dialect.AtEnd(k)); got != k {
			t.Fatalf("FromAtEnd(AtEnd(%x)) = %x", k, got)
		}
	}
}

// TestSwap: the example of UUID_TO_BIN in the manual of MySQL 8.4, and back.
func TestSwap(t *testing.T) {
	k := key(t, "6ccd780cbaba102695645b8c656024db")
	stored := key(t, "1026baba6ccd780c95645b8c656024db")
	if got := dialect.Swap(k); got != stored {
		t.Errorf("Swap(%x) = %x, want %x", k, got, stored)
	}
	b, ok := dialect.Swapped.Value(k).([]byte)
	if !ok || !bytes.Equal(b, stored[:]) {
		t.Errorf("%s: Value(%x) = %x", dialect.Swapped, k, b)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		for i := range k {
			k[i] = byte(r.Uint32())
		}
		if got := dialect.Unswap(dialect.Swap(k)); got != k {
			t.Fatalf("Unswap(Swap(%x)) = %x", k, got)
		}
	}
}

func TestMixedEndian(t *testing.T) {
	text := key(t, "33221100554477668899aabbccddeeff")
	stored := key(t, "00112233445566778899aabbccddeeff")
	if got := dialect.MixedEndian(text); got != stored {
		t.Errorf("MixedEndian(%x) = %x, want %x", text, got, stored)
	}
	if got := dialect.MixedEndian(stored); got != text {
		t.Errorf("MixedEndian(%x) = %x, want %x", stored, got, text)
	}
}

// SQL Server compares the stored bytes in this order: "Comparing GUID and
// uniqueidentifier Values", Microsoft Learn.
var storedOrder = []int{10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3}

// Keys that rise by their bytes rise in the index of every engine in its
// default layout.
func TestLayoutOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	keys := make([][16]byte, 2000)
	for i := range keys {
		for j := range keys[i] {
			keys[i][j] = byte(r.Uint32())
		}
	}
	slices.SortFunc(keys, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	for i := 1; i < len(keys); i++ {
		a, b := keys[i-1], keys[i]
		if dialect.Text(a) >= dialect.Text(b) {
			t.Fatalf("the texts of %x and %x do not rise", a, b)
		}
		sa, sb := dialect.MixedEndian(dialect.AtEnd(a)), dialect.MixedEndian(dialect.AtEnd(b))
		at := slices.IndexFunc(storedOrder, func(j int) bool { return sa[j] != sb[j] })
		if j := storedOrder[at]; sa[j] > sb[j] {
			t.Fatalf("SQL Server sorts %x before %x", sb, sa)
		}
	}
}

func TestText(t *testing.T) {
	for range 100 {
		u := uuid.New()
		if got := dialect.Text(u); got != u.String() {
			t.Errorf("Text(%x) = %s, want %s", u[:], got, u)
		}
	}
}

func TestParseLayout(t *testing.T) {
	for _, l := range []dialect.Layout{dialect.SequentialAsString, dialect.SequentialAsBinary, dialect.SequentialAtEnd, dialect.Swapped} {
		if got, err := dialect.ParseLayout(string(l)); got != l || err != nil {
			t.Errorf("ParseLayout(%q) = %q, %v", l, got, err)
		}
	}
	if _, err := dialect.ParseLayout("text"); err == nil || !strings.Contains(err.Error(), `unknown layout "text": write string, binary, sequential_at_end or swapped [docs/errors.md#policy]`) {
		t.Errorf("ParseLayout of an unknown name: %v", err)
	}
}

func TestAppendLiteral(t *testing.T) {
	tests := []struct {
		d    *dialect.Dialect
		key  driver.Value
		want string
	}{
		{dialect.MySQL(), int64(7), "7"},
		{dialect.MySQL(), "0137aa88-0c46-7ed5-8012-2e27653a9d13", "'0137aa88-0c46-7ed5-8012-2e27653a9d13'"},
		{dialect.MySQL(), []byte{0, 0xab}, "X'00ab'"},
		{dialect.PostgreSQL(), []byte{0, 0xab}, "decode('00ab','hex')"},
		{dialect.SQLite(), []byte{0, 0xab}, "X'00ab'"},
		{dialect.SQLServer(), []byte{0, 0xab}, "0x00ab"},
		{dialect.Oracle(), []byte{0, 0xab}, "HEXTORAW('00ab')"},
		{dialect.Oracle(), "aZ_9-", "'aZ_9-'"},
		{dialect.MySQL(), "INV/2026.7 #8", "'INV/2026.7 #8'"},
		{dialect.MySQL(), `a'b\c`, "_utf8mb4 X'6127625c63'"},
		{dialect.MariaDB(), "№?", "_utf8mb4 X'e284963f'"},
		{dialect.PostgreSQL(), `a'b\c$1`, `E'a''b\\c$1'`},
		{dialect.SQLite(), `a'b\c?`, `'a''b\c?'`},
		{dialect.SQLServer(), "№", "N'№'"},
		{dialect.Oracle(), "a:b'c", "'a:b''c'"},
	}
	for _, tt := range tests {
		if got := string(tt.d.AppendLiteral([]byte("VALUES ("), tt.key)); got != "VALUES ("+tt.want {
			t.Errorf("%s: AppendLiteral(%v) = %q, want %q", tt.d.Name, tt.key, got, tt.want)
		}
	}
}

// A key that no source makes is an error of this module.
func TestAppendLiteralPanics(t *testing.T) {
	for _, k := range []driver.Value{"a\x00", 7, nil, 1.5} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("AppendLiteral(%v) did not panic", k)
				}
			}()
			dialect.PostgreSQL().AppendLiteral(nil, k)
		}()
	}
}

// TestTextOfEachByte: a byte has the same two digits wherever it stands.
func TestTextOfEachByte(t *testing.T) {
	for n := range 256 {
		for at := range 16 {
			u := uuid.UUID{}
			u[at] = byte(n)
			if got := dialect.Text(u); got != u.String() {
				t.Fatalf("Text(%x) = %s, want %s", u[:], got, u)
			}
		}
	}
}
