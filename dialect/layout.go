package dialect

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Layout is the order of a 16-byte key's bytes, and how they are sent to the database.
// A table must never change its layout: old and new keys would no longer sort together.
type Layout string

const (
	// SequentialAsString sends the 36 characters of the RFC 9562 text, lower
	// case, time first: PostgreSQL uuid, MySQL CHAR(36), MariaDB UUID, SQLite
	// TEXT.
	SequentialAsString Layout = "string"
	// SequentialAsBinary sends the 16 bytes in RFC order, time first: Oracle
	// RAW(16), BINARY(16), bytea, SQLite BLOB.
	SequentialAsBinary Layout = "binary"
	// SequentialAtEnd sends 36 characters, which SQL Server stores with the time in
	// bytes 10 to 15, the ones that it compares first: uniqueidentifier.
	SequentialAtEnd Layout = "sequential_at_end"
	// Swapped sends 16 bytes as UUID_TO_BIN(uuid, 1) of MySQL 8 makes them, for tables that
	// have such keys. It makes a version 1 sort by time, and a version 7 sort at random.
	Swapped Layout = "swapped"
)

// ParseLayout returns the layout that has this name in the policy file.
func ParseLayout(name string) (Layout, error) {
	switch l := Layout(name); l {
	case SequentialAsString, SequentialAsBinary, SequentialAtEnd, Swapped:
		return l, nil
	}
	return "", anchor.Lastf("policy", "dialect: unknown layout %q: write %s, %s, %s or %s", name,
		SequentialAsString, SequentialAsBinary, SequentialAtEnd, Swapped)
}

// Value returns key in the form that a driver takes: a string of 36 characters or a new
// slice of 16 bytes. The bytes of key are in RFC order, or in the one that sorts by the
// order of generation.
func (l Layout) Value(key [16]byte) driver.Value {
	switch l {
	case SequentialAsBinary:
		b := make([]byte, 16)
		copy(b, key[:])
		return b
	case SequentialAtEnd:
		return Text(AtEnd(key))
	case Swapped:
		b, s := make([]byte, 16), Swap(key)
		copy(b, s[:])
		return b
	}
	return Text(key)
}

// Bytes reports whether keys of the layout are sent as 16 bytes.
func (l Layout) Bytes() bool { return l == SequentialAsBinary || l == Swapped }

// Swap returns the bytes of a UUID in the order in which UUID_TO_BIN(uuid, 1) of MySQL 8
// stores them: the first group of the text, which is the low part of the time in a version
// 1, changes places with the third one ("Miscellaneous Functions", MySQL 8.4 Reference
// Manual).
//
//	text    00112233-4455-6677-8899-aabbccddeeff
//	stored  6677 4455 00112233 8899aabbccddeeff
func Swap(key [16]byte) [16]byte {
	var s [16]byte
	copy(s[0:2], key[6:8])
	copy(s[2:4], key[4:6])
	copy(s[4:8], key[0:4])
	copy(s[8:16], key[8:16])
	return s
}

// Unswap is the inverse of [Swap].
func Unswap(stored [16]byte) [16]byte {
	var key [16]byte
	copy(key[0:4], stored[4:8])
	copy(key[4:6], stored[2:4])
	copy(key[6:8], stored[0:2])
	copy(key[8:16], stored[8:16])
	return key
}

// AtEnd returns the bytes, in RFC order, of the text that SQL Server has to get so that
// it sorts as the bytes of key do.
//
//	storage   0 1 2 3   4 5    6 7    8 9   10 … 15
//	key      12 … 15   10 11   8 9    6 7    0 … 5
//
// A uniqueidentifier is compared by its stored bytes in the order 10–15, 8–9,
// 6–7, 4–5, 0–3 ("Comparing GUID and uniqueidentifier Values", Microsoft
// Learn); its text shows the first three groups byte-reversed.
func AtEnd(key [16]byte) [16]byte {
	var s [16]byte
	copy(s[10:16], key[0:6])
	copy(s[8:10], key[6:8])
	copy(s[6:8], key[8:10])
	copy(s[4:6], key[10:12])
	copy(s[0:4], key[12:16])
	return MixedEndian(s)
}

// FromAtEnd is the inverse of [AtEnd].
func FromAtEnd(text [16]byte) [16]byte {
	s := MixedEndian(text)
	var key [16]byte
	copy(key[0:6], s[10:16])
	copy(key[6:8], s[8:10])
	copy(key[8:10], s[6:8])
	copy(key[10:12], s[4:6])
	copy(key[12:16], s[0:4])
	return key
}

// MixedEndian converts the bytes of a GUID from the order of its text to the order in
// which SQL Server and .NET store them, and back: the groups of 4, 2 and 2 bytes are
// reversed, the last 8 bytes stay.
func MixedEndian(b [16]byte) [16]byte {
	b[0], b[1], b[2], b[3] = b[3], b[2], b[1], b[0]
	b[4], b[5] = b[5], b[4]
	b[6], b[7] = b[7], b[6]
	return b
}

// AppendText appends the text of key that [Layout.Value] returns for a layout that is
// text. The bytes of key sort in the order of generation.
func (l Layout) AppendText(b []byte, key [16]byte) []byte {
	if l == SequentialAtEnd {
		key = AtEnd(key)
	}
	var t [textSize]byte
	putText(&t, &key)
	return append(b, t[:]...)
}

// Text returns the 36 characters of the RFC 9562 text of b, in lower case.
func Text(b [16]byte) string {
	var t [textSize]byte
	putText(&t, &b)
	return string(t[:])
}

// putText writes the text of b into its final memory: to move the text takes longer
// than to make it, since it is written in small pieces.
func putText(t *[textSize]byte, b *[16]byte) {
	be := binary.BigEndian
	first, second := hexadecimal(be.Uint32(b[0:])), hexadecimal(be.Uint32(b[4:]))
	third, fourth := hexadecimal(be.Uint32(b[8:])), hexadecimal(be.Uint32(b[12:]))
	be.PutUint64(t[0:], first)
	t[8] = '-'
	be.PutUint32(t[9:], uint32(second>>32))
	t[13] = '-'
	be.PutUint32(t[14:], uint32(second))
	t[18] = '-'
	be.PutUint32(t[19:], uint32(third>>32))
	t[23] = '-'
	be.PutUint32(t[24:], uint32(third))
	be.PutUint64(t[28:], fourth)
}

// hexadecimal returns the eight hexadecimal digits of n, in lower case, as the bytes of
// a number, the first digit highest. It spreads the half bytes over the bytes and turns
// all of them into digits at once.
func hexadecimal(n uint32) uint64 {
	const each = 0x0101010101010101
	d := uint64(n)
	d = (d | d<<16) & 0x0000ffff0000ffff
	d = (d | d<<8) & 0x00ff00ff00ff00ff
	d = (d | d<<4) & (0x0f * each)
	letters := (d + 6*each) >> 4 & each // 1 for each digit from a on
	return d + '0'*each + ('a'-'0'-10)*letters
}

// isPlain reports whether every setting of a session reads a byte of a text literal as it is,
// and no driver takes it for a placeholder or the end of a statement.
func isPlain(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("-_/. #+,=*(){}", c) >= 0
}

// appendText appends a text as a literal: see TextOpen.
func (d *Dialect) appendText(b []byte, text string) []byte {
	if strings.IndexByte(text, 0) >= 0 {
		panic(fmt.Sprintf("dialect: key %q holds a NUL", text))
	}
	b = append(b, d.TextOpen...)
	if strings.HasSuffix(d.TextOpen, "X'") {
		return append(hex.AppendEncode(b, []byte(text)), '\'')
	}
	if d.TextOpen == "E'" {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	b = append(b, strings.ReplaceAll(text, "'", "''")...)
	return append(b, '\'')
}

// textSize is how many characters the text of a UUID has.
const textSize = 36

// AppendLiteral appends key, a value that a source made, as a literal of the dialect. It
// panics on a text with a NUL and on a value of another type, which no source makes.
func (d *Dialect) AppendLiteral(b []byte, key driver.Value) []byte {
	switch k := key.(type) {
	case int64:
		return fmt.Appendf(b, "%d", k)
	case []byte:
		b = append(b, d.BinaryOpen...)
		b = hex.AppendEncode(b, k)
		return append(b, d.BinaryClose...)
	case string:
		for i := range len(k) {
			if !isPlain(k[i]) {
				return d.appendText(b, k)
			}
		}
		b = append(b, '\'')
		b = append(b, k...)
		return append(b, '\'')
	}
	panic(fmt.Sprintf("dialect: a key of type %T", key))
}
