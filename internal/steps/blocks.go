package steps

// file holds the counters of the blocks of a file, and three numbers for each block, of which
// the first is the line at which it begins.
type file struct {
	name     string
	count    []uint32
	position []uint32
}

// files returns the counters of the program. [Build] replaces this function by one that
// returns some.
func files() []file { return nil }
