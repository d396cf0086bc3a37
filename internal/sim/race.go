//go:build race

package sim

import "runtime"

const raceEnabled = true

// Under Go 1.26 the race detector crashes if two processors run timers of one bubble of
// testing/synctest at once: https://go.dev/issue/78156. The race detector finds races with
// one processor too.
func init() { runtime.GOMAXPROCS(1) }
