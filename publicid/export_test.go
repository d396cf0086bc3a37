package publicid

// Network is a network with halves of fewer bits, for a test that tries all values.
type Network struct{ n network }

// NewNetwork returns such a network.
func NewNetwork(halfBits int, secret []byte) (*Network, error) {
	n, err := newNetwork("test", halfBits, secret, "")
	return &Network{n}, err
}

// Permute permutes two halves.
func (n *Network) Permute(left, right uint64) (_, _ uint64) { return n.n.permute(left, right) }

// Restore is the inverse of Permute.
func (n *Network) Restore(left, right uint64) (_, _ uint64) { return n.n.restore(left, right) }

// SipHash returns the hash of a message of 8 bytes.
func SipHash(key [16]byte, message uint64) uint64 {
	k := newSipKey(key[:])
	return k.sum(message)
}

// Rounds is how many rounds a network has.
const Rounds = rounds
