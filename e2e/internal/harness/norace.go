//go:build !race

package harness

// RaceEnabled is true if the race detector is on.
const RaceEnabled = false
