package testturn

import "hash/fnv"

// Choice is one choice that a test makes: a number below Size, or a group and an element of
// that group.
type Choice struct {
	Size   int        `json:",omitempty"`
	Groups [][]string `json:",omitempty"` // the names of the subtests in each group
}

// Cursor is the rest of a test's number, from which the next choices are read.
type Cursor struct{ rest uint64 }

// Start returns the number from which the choices of a test in a turn (a run of some of the
// tests' combinations) follow. Tests of different names begin with different numbers, so
// that one turn makes other choices in each of them.
func Start(turn uint64, name string) Cursor { return Cursor{turn + hash(name)} }

// Child returns the number of a subtest that begins here. Adding a constant to the number
// keeps every combination of choices of the subtest and its parent reachable, and lets
// sibling subtests choose differently.
func (c Cursor) Child(name string) Cursor { return Cursor{c.rest + hash(name)} }

// Read reads a choice: a number below its size, or the index of a group and of an element
// in it.
func (c *Cursor) Read(choice Choice) (group, place int) {
	if choice.Groups == nil {
		return 0, c.digit(choice.Size)
	}
	group = c.digit(len(choice.Groups))
	return group, c.digit(len(choice.Groups[group]))
}

func (c *Cursor) digit(size int) int {
	digit := c.rest % uint64(size)
	c.rest /= uint64(size)
	return int(digit)
}

func hash(name string) uint64 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // Write of a hash never fails
	return uint64(sum.Sum32())
}
