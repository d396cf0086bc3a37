//go:build race

package harness

// RaceEnabled says that the race detector is on.
const RaceEnabled = true
