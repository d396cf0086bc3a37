//go:build !race

package keysource_test

const raceEnabled = false
