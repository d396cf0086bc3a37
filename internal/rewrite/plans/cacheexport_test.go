package plans

import (
	"fmt"
)

// Len returns how many plans a cache holds.
func (c *Cache) Len() int { return len(c.plans) }

// Size returns the bytes that a cache counts.
func (c *Cache) Size() int { return c.size }

// Check returns what is wrong with the order of a cache.
func (c *Cache) Check() error {
	n, size := 0, 0
	hand := c.hand == nil
	for e, newer := c.newest, (*cached)(nil); e != nil; e, newer = e.older, e {
		n++
		size += e.size
		hand = hand || c.hand == e
		if e.newer != newer || c.plans[e.query] != e || e.older == nil && c.oldest != e {
			return fmt.Errorf("entry %d, %q, is not linked", n, e.query)
		}
	}
	if n != len(c.plans) || size != c.size || !hand {
		return fmt.Errorf("%d entries of %d bytes are linked, %d of %d are counted; the hand is on one: %v", n, size, len(c.plans), c.size, hand)
	}
	return nil
}
