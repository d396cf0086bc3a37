package store

import (
	"sync/atomic"
	"time"
)

// Found records whether this process has found keyfill's tables in a database. It is
// safe for concurrent use.
type Found struct {
	once  atomic.Bool
	drops *atomic.Uint64 // counts the tables that this process has dropped; nil if it drops none
	at    atomic.Uint64  // the value of drops when the tables were found last

	first atomic.Pointer[time.Time] // when the tables were first found missing; nil if they were not
}

// firstLookLasts is how long the time at which the tables were first found missing is kept.
// The second look may belong to another statement, since a statement whose context ends
// sooner than stayWait cannot wait for it.
const firstLookLasts = time.Minute

// Note records that the tables were found.
func (f *Found) Note() {
	if f.drops != nil {
		f.at.Store(f.drops.Load())
	}
	f.first.Store(nil)
	f.once.Store(true)
}

// Forget discards the time at which the tables were first found missing.
func (f *Found) Forget() { f.first.Store(nil) }

// WasFound reports whether the tables were ever found.
func (f *Found) WasFound() bool { return f.once.Load() }

// SinceFirst returns how long ago the tables were first found missing. If there is no
// such time, or it is too old, SinceFirst records the present time and returns 0.
func (f *Found) SinceFirst() time.Duration {
	now := time.Now()
	first := f.first.Load()
	if first == nil || now.Sub(*first) > firstLookLasts {
		f.first.Store(&now)
		return 0
	}
	return now.Sub(*first)
}

// IsLost reports whether the tables were found before, and this process has dropped no
// table since. It is called when they are missing.
func (f *Found) IsLost() bool {
	return f.once.Load() && (f.drops == nil || f.at.Load() == f.drops.Load())
}

// CountDrops gives the store a counter that is raised when this process itself drops
// tables of the store's database. It must be called before the store is used.
func (s *Store) CountDrops(drops *atomic.Uint64) { s.Found.drops = drops }
