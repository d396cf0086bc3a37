package publicid

import (
	"encoding/binary"
	"math/bits"
)

// sipKey is a key of SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
// 2012), as the state with which the hashing of a message begins.
type sipKey struct{ v0, v1, v2, v3 uint64 }

// newSipKey returns the key of 16 bytes.
func newSipKey(key []byte) sipKey {
	k0, k1 := binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[8:])
	return sipKey{
		k0 ^ 0x736f6d6570736575,
		k1 ^ 0x646f72616e646f6d,
		k0 ^ 0x6c7967656e657261,
		k1 ^ 0x7465646279746573,
	}
}

// sum returns the hash of a message of 8 bytes, which are m with its lowest byte first.
// Messages of other lengths are not needed here.
func (k *sipKey) sum(m uint64) uint64 {
	const length = 8 << 56 // the last block has the message's length in its highest byte
	v0, v1, v2, v3 := k.v0, k.v1, k.v2, k.v3^m
	v0, v1, v2, v3 = sipRound(sipRound(v0, v1, v2, v3))
	v0, v3 = v0^m, v3^length
	v0, v1, v2, v3 = sipRound(sipRound(v0, v1, v2, v3))
	v0, v2 = v0^length, v2^0xff
	v0, v1, v2, v3 = sipRound(sipRound(sipRound(sipRound(v0, v1, v2, v3))))
	return v0 ^ v1 ^ v2 ^ v3
}

// sipRound is the function SipRound.
func sipRound(v0, v1, v2, v3 uint64) (_, _, _, _ uint64) {
	v0 += v1
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v3
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 += v3
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v2 = bits.RotateLeft64(v2, 32)
	return v0, v1, v2, v3
}
