package fuzz

// chooser makes choices from bytes. When the bytes are used up, it always makes the first
// choice, so that every text ends.
type chooser struct {
	bytes []byte
	at    int
}

// pick returns one of 0 … n-1.
func (c *chooser) pick(n int) int {
	if c.at >= len(c.bytes) {
		return 0
	}
	b := c.bytes[c.at]
	c.at++
	return int(b) % n
}

// one returns one of the strings.
func (c *chooser) one(of ...string) string { return of[c.pick(len(of))] }

// rarely returns true in one of n cases.
func (c *chooser) rarely(n int) bool { return c.pick(n) == n-1 }
