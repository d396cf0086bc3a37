package publicid

import (
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Mask hides the time in a UUID of version 7: it turns the UUID into one that looks like a
// UUID of version 4, and back. A Mask is immutable and safe for concurrent use.
//
// Each UUIDv7 has one masked form under one secret, and each UUID of version 4 is the
// masked form of one UUIDv7. All 122 bits that are not version or variant are permuted as
// one value, so that nothing of the time shows, and keys which share a time or random bits
// have masked forms that share nothing.
//
// # What it hides, and what it does not
//
// Without the secret, a masked id cannot be distinguished from a random UUID: not when the
// row was made, not which of two rows is older, and not how many rows there are. A program
// that has the secret can restore every id. The masked form of an id is always the same, so
// that two readers can see that they have the same row.
//
// A masked id is no access control: an id that was sent to one reader can be passed on to
// others, so that a program still has to check that the caller may read the row. It is not
// authenticated either: [Mask.Reveal] restores some UUIDv7 from any UUID of version 4, and
// only a look into the table shows whether there is such a row.
//
// # How
//
// The 122 bits, in their order in the UUID, are a left half L and a right half R of 61 bits
// each. There are eight rounds, for i from 0 to 7 (a balanced Feistel network):
//
//	(L, R)  becomes  (R, L xor the low 61 bits of SipHash-2-4(key[i], R))
//
// where R is hashed as 8 bytes, lowest byte first, and the hash is read likewise. The
// bytes 16·i to 16·i+15 of
//
//	HKDF-SHA256(secret, no salt, "keyfill publicid mask 1:" + purpose, 128 bytes)
//
// are key[i] (RFC 5869). The result has version 4 and variant 10. It is fixed for ever: the
// same secret and purpose make the same masked ids in every release. docs/vectors.json has
// examples.
type Mask struct{ networks []network }

// maskHalf is how many bits each half of a UUID's free bits has.
const maskHalf = 61

// NewMask returns the mask of a secret for one purpose, such as the name of a table:
// masks of different purposes have nothing in common, so that the masked id of an order
// is no masked id of a customer. The purpose is no secret; it may be empty.
//
// A secret is 16 random bytes or more, and not a password. Older secrets are those that
// were the current one before: [Mask.Hide] uses the current one alone, and
// [Mask.Candidates] all of them. Both are copied. The error wraps [ErrSecret].
func NewMask(purpose string, current []byte, older ...[]byte) (*Mask, error) {
	networks, err := newNetworks("mask", maskHalf, purpose, current, older)
	if err != nil {
		return nil, err
	}
	return &Mask{networks}, nil
}

// Hide returns the masked form of a UUID of version 7 under the current secret. The error
// is [ErrVersion] for any other UUID.
func (m *Mask) Hide(id uuid.UUID) (uuid.UUID, error) {
	if !isVersion(id, 7) {
		return uuid.UUID{}, anchor.Endf("%w: Hide needs a UUID of version 7", ErrVersion)
	}
	left, right := m.networks[0].permute(splitUUID(id))
	return joinUUID(4, left, right), nil
}

// Reveal returns the UUID of version 7 whose masked form under the current secret is
// masked. The error is [ErrVersion] for a UUID that is not of version 4.
func (m *Mask) Reveal(masked uuid.UUID) (uuid.UUID, error) {
	if !isVersion(masked, 4) {
		return uuid.UUID{}, errNotMasked
	}
	return reveal(&m.networks[0], masked), nil
}

// Candidates returns the UUIDs of version 7 whose masked form is masked: one for the
// current secret, and then one for each older secret, in their order. The caller looks each
// of them up, until a row is found. The error is [ErrVersion] for a UUID that is not of
// version 4.
func (m *Mask) Candidates(masked uuid.UUID) ([]uuid.UUID, error) {
	if !isVersion(masked, 4) {
		return nil, errNotMasked
	}
	all := make([]uuid.UUID, len(m.networks))
	for i := range m.networks {
		all[i] = reveal(&m.networks[i], masked)
	}
	return all, nil
}

// Format writes the name of the type for each verb (fmt.Formatter), so that no log shows what
// was made of the secrets.
func (m Mask) Format(f fmt.State, _ rune) { fmt.Fprint(f, "publicid.Mask") }

// reveal restores a UUID of version 7 with one network.
func reveal(n *network, masked uuid.UUID) uuid.UUID {
	left, right := n.restore(splitUUID(masked))
	return joinUUID(7, left, right)
}

// isVersion reports whether a UUID has a version and the variant of RFC 9562.
func isVersion(id uuid.UUID, version byte) bool {
	return id[6]>>4 == version && id[8]>>6 == 0b10
}

// splitUUID returns the halves of the 122 bits that are not version or variant:
//
//	bytes   0 … 5     6 7          8 … 15
//	      | time    | v.   12    | var. 1        61         |
//	        left, 48    left, 12      left  right
func splitUUID(id uuid.UUID) (left, right uint64) {
	hi, lo := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	return hi>>16<<13 | hi&0xfff<<1 | lo>>maskHalf&1, lo & (1<<maskHalf - 1)
}

// joinUUID is the inverse of splitUUID for UUIDs of a version.
func joinUUID(version, left, right uint64) (id uuid.UUID) {
	hi := left>>13<<16 | version<<12 | left>>1&0xfff
	lo := 0b10<<62 | left&1<<maskHalf | right
	binary.BigEndian.PutUint64(id[:8], hi)
	binary.BigEndian.PutUint64(id[8:], lo)
	return id
}
