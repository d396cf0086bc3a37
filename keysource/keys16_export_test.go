package keysource

import (
	"slices"
	"time"
)

// NewUUIDv7Apart returns a source whose wall clock is wall and whose monotonic
// reading is passed, what has passed since now. It looks at the wall clock as
// one of the system's clocks does.
func NewUUIDv7Apart(wall func() time.Time, passed func() time.Duration) *UUIDv7 {
	s := new(UUIDv7)
	s.clock.StartApart(wall, passed)
	return s
}

// ReadAhead hands out n numbers that were made ahead, and returns what is kept of
// those that were handed out and of the others.
func ReadAhead(n int) (used, left []uint64) {
	var a readAhead
	w := a.get(0)
	for range n {
		w.next()
	}
	return w.numbers[:w.used], w.numbers[w.used:]
}

// LayEvenlyAsSlices reports whether layEvenly lays out tails in the order in which
// package slices sorts them.
func LayEvenlyAsSlices(his []uint64, los []uint16) bool {
	var tails []combTail
	for i := range his {
		tails = append(tails, combTail{his[i], los[i]})
	}
	got := make([][16]byte, len(tails))
	layEvenly(got, tails, 1)
	slices.SortFunc(tails, combTail.compare)
	want := make([][16]byte, len(tails))
	for i := range tails {
		tails[i].lay(&want[i], 1)
	}
	return slices.Equal(got, want)
}
