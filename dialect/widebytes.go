package dialect

// WideBytes describes the characters of two bytes in a client's character set. For each
// byte, bit 0 is set if it may be the first of two, and bit 1 if it may be the second.
type WideBytes [256]uint8

// Is reports whether two bytes can be one character.
func (w *WideBytes) Is(first, second byte) bool { return w[first]&1 != 0 && w[second]&2 != 0 }

// The bytes are in strings/ctype-gbk.c, ctype-big5.c, ctype-sjis.c and ctype-cp932.c of
// MySQL and MariaDB. gb18030 is read as gbk: its characters of four bytes have a digit
// second and fourth, so a pair of bytes never begins in such a character and ends after
// it.
var (
	gbkBytes  = wideBytes([][2]byte{{0x81, 0xFE}}, [][2]byte{{0x40, 0x7E}, {0x80, 0xFE}})
	big5Bytes = wideBytes([][2]byte{{0xA1, 0xF9}}, [][2]byte{{0x40, 0x7E}, {0xA1, 0xFE}})
	sjisBytes = wideBytes([][2]byte{{0x81, 0x9F}, {0xE0, 0xFC}}, [][2]byte{{0x40, 0x7E}, {0x80, 0xFC}})
)

func wideBytes(first, second [][2]byte) (w WideBytes) {
	for bit, ranges := range [][][2]byte{first, second} {
		for _, r := range ranges {
			for c := int(r[0]); c <= int(r[1]); c++ {
				w[c] |= 1 << bit
			}
		}
	}
	return w
}
