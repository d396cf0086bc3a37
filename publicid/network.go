package publicid

//row:changes | how ids are masked | `publicid/network.go` permutes, `mask.go` and `number.go` write; vectors: `publicid/testdata/vectors.py`

import (
	"crypto/hkdf"
	"crypto/sha256"

	"github.com/keyfill/keyfill/internal/anchor"
)

// rounds is how many rounds a network has. Six random functions make a permutation that
// cannot be distinguished from a random one before almost as many values are known as a
// half can have (Patarin, "Security of balanced and unbalanced Feistel schemes with linear
// non equalities", 2010); two more are for safety.
const rounds = 8

// minSecret is how many bytes a secret has at least: the bytes of a key of SipHash.
const minSecret = 16

// network is a balanced Feistel network: it permutes the values that consist of two halves.
// The values of halfBits are 61 for a [Mask], 32 for a [Number], and less in tests.
type network struct {
	keys [rounds]sipKey
	mask uint64 // the bits of a half
}

// newNetwork returns the network of a secret for one purpose. The kind distinguishes the
// networks of masks and of numbers. Its error wraps [ErrSecret].
func newNetwork(kind string, halfBits int, secret []byte, purpose string) (network, error) {
	n := network{mask: 1<<halfBits - 1}
	if len(secret) < minSecret {
		return n, anchor.Endf("%w: it has %d bytes: give %d random bytes or more", ErrSecret, len(secret), minSecret)
	}
	schedule, err := hkdf.Key(sha256.New, secret, nil, "keyfill publicid "+kind+" 1:"+purpose, rounds*minSecret)
	if err != nil { // in FIPS mode alone, whose rules may become stricter
		return n, anchor.Endf("%w: give one that HKDF takes: %w", ErrSecret, err)
	}
	for i := range n.keys {
		n.keys[i] = newSipKey(schedule[i*minSecret:])
	}
	return n, nil
}

// permute applies the rounds to two halves.
func (n *network) permute(left, right uint64) (_, _ uint64) {
	for i := range n.keys {
		left, right = right, left^n.keys[i].sum(right)&n.mask
	}
	return left, right
}

// restore is the inverse of permute.
func (n *network) restore(left, right uint64) (_, _ uint64) {
	for i := rounds - 1; i >= 0; i-- {
		left, right = right^n.keys[i].sum(left)&n.mask, left
	}
	return left, right
}

// newNetworks returns the networks of a current secret and of older ones, in this order.
func newNetworks(kind string, halfBits int, purpose string, current []byte, older [][]byte) ([]network, error) {
	all := make([]network, 0, 1+len(older))
	for _, secret := range append([][]byte{current}, older...) {
		n, err := newNetwork(kind, halfBits, secret, purpose)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
