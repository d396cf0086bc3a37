//go:build !race

package counting_test

const raceEnabled = false
