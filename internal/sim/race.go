//go:build race

package sim

import "runtime"

const raceEnabled = true

// Under Go 1.26 the race detector crashes if two processors run timers of one bubble of
// testing/synctest at once: https://go.dev/issue/78156. With one processor it finds races
// too.
func init() { runtime.GOMAXPROCS(1) }
