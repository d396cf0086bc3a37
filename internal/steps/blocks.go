package steps

// blocks returns the counters of the program's blocks of code. [Build] replaces this file by
// one that has some.
func blocks() [][]uint32 { return nil }
