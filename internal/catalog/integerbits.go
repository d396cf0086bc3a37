package catalog

import "math/big"

// decimalBits returns how many bits every integer with this number of digits has room for:
// the greatest b with 2^b−1 ≤ 10^digits−1.
func decimalBits(digits int) int {
	if digits <= 0 {
		return 0
	}
	n := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	return n.BitLen() - 1
}

// integer marks a column as an integer column of this number of bits, if bits is greater
// than 0.
func (c *Column) integer(bits int) {
	c.Integer, c.Bits = bits > 0, bits
}
