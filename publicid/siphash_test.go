package publicid_test

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/publicid"
)

// sipVectors are the hashes of the messages 00, 00 01, and so on under the key 00 01 … 0f,
// the first one that of the empty message: vectors_sip64 of the reference implementation,
// https://github.com/veorq/SipHash/blob/1a7d041a/vectors.h (CC0).
const sipVectors = `
310e0edd47db6f72 fd67dc93c539f874 5a4fa9d909806c0d 2d7efbd796666785
b7877127e09427cf 8da699cd64557618 cee3fe586e46c9cb 37d1018bf50002ab
6224939a79f5f593 b0e4a90bdf82009e f3b9dd94c5bb5d7a a7ad6b22462fb3f4
fbe50e86bc8f1e75 903d84c02756ea14 eef27a8e90ca23f7 e545be4961ca29a1
db9bc2577fcc2a3f 9447be2cf5e99a69 9cd38d96f0b3c14b bd6179a71dc96dbb
98eea21af25cd6be c7673b2eb0cbf2d0 883ea3e395675393 c8ce5ccd8c030ca8
94af49f6c650adb8 eab8858ade92e1bc f315bb5bb835d817 adcf6b0763612e2f
a5c91da7acaa4dde 716595876650a2a6 28ef495c53a387ad 42c341d8fa92d832
ce7cf2722f512771 e37859f94623f3a7 381205bb1ab0e012 ae97a10fd434e015
b4a31508beff4d31 81396229f0907902 4d0cf49ee5d4dcca 5c73336a76d8bf9a
`

// sip24 is SipHash-2-4 of messages of any length, from the paper.
func sip24(key [16]byte, message []byte) uint64 {
	k0, k1 := binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])
	v := [4]uint64{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573}
	rounds := func(n int) {
		for range n {
			v[0] += v[1]
			v[2] += v[3]
			v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
			v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
			v[0] = bits.RotateLeft64(v[0], 32)
			v[2] += v[1]
			v[0] += v[3]
			v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
			v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
			v[2] = bits.RotateLeft64(v[2], 32)
		}
	}
	padded := append(make([]byte, 0, len(message)+8), message...)
	for len(padded)%8 != 7 {
		padded = append(padded, 0)
	}
	padded = append(padded, byte(len(message)))
	for ; len(padded) > 0; padded = padded[8:] {
		block := binary.LittleEndian.Uint64(padded)
		v[3] ^= block
		rounds(2)
		v[0] ^= block
	}
	v[2] ^= 0xff
	rounds(4)
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

// TestSipHash: the general function of this file has the published vectors, and the function
// for messages of 8 bytes equals it.
func TestSipHash(t *testing.T) {
	var key [16]byte
	for i := range key {
		key[i] = byte(i)
	}
	digits := strings.Join(strings.Fields(sipVectors), "")
	if len(digits) != 16*40 {
		t.Fatalf("%d digits of vectors", len(digits))
	}
	var message []byte
	for i := range len(digits) / 16 {
		var sum [8]byte
		binary.LittleEndian.PutUint64(sum[:], sip24(key, message))
		if got, want := hex.EncodeToString(sum[:]), digits[16*i:][:16]; got != want {
			t.Errorf("the hash of %d bytes is %s, want %s", i, got, want)
		}
		message = append(message, byte(i))
	}
	// The message of appendix A, of 15 bytes, and the one of 8 bytes.
	if got := sip24(key, message[:15]); got != 0xa129ca6149be45e5 {
		t.Errorf("the hash of appendix A is %x", got)
	}
	if got := publicid.SipHash(key, 0x0706050403020100); got != 0x93f5f5799a932462 {
		t.Errorf("SipHash of 8 bytes is %x", got)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		for i := range key {
			key[i] = byte(random.Uint32())
		}
		m := random.Uint64()
		if got, want := publicid.SipHash(key, m), sip24(key, binary.LittleEndian.AppendUint64(nil, m)); got != want {
			t.Fatalf("SipHash(%x, %x) = %x, want %x", key, m, got, want)
		}
	}
}
