package store

import (
	"sync/atomic"
	"time"
)

// Found records whether a process has found keyfill's tables in a database. It is safe
// for concurrent use.
type Found struct {
	once  atomic.Bool
	drops *atomic.Uint64 // counts the tables that the process itself has dropped; nil: it drops none
	at    atomic.Uint64  // drops when the tables were found last

	first atomic.Pointer[time.Time] // look that has found the tables missing; nil: none
}

// firstLookLasts is for how long the first look counts. The second look may belong to
// another statement: one whose context ends sooner than stayWait cannot wait for it.
const firstLookLasts = time.Minute

// Note notes that the tables are there.
func (f *Found) Note() {
	if f.drops != nil {
		f.at.Store(f.drops.Load())
	}
	f.first.Store(nil)
	f.once.Store(true)
}

// Forget forgets the first look that has found the tables missing.
func (f *Found) Forget() { f.first.Store(nil) }

// WasFound reports whether the tables were there once.
func (f *Found) WasFound() bool { return f.once.Load() }

// SinceFirst returns how long ago the first look was, which is this one where there is none
// that counts.
func (f *Found) SinceFirst() time.Duration {
	now := time.Now()
	first := f.first.Load()
	if first == nil || now.Sub(*first) > firstLookLasts {
		f.first.Store(&now)
		return 0
	}
	return now.Sub(*first)
}

// IsLost reports whether the tables that are missing were there before, and this
// process has dropped none since.
func (f *Found) IsLost() bool {
	return f.once.Load() && (f.drops == nil || f.at.Load() == f.drops.Load())
}

// CountDrops makes the store know when the process itself has dropped tables of its
// database: the count is raised then. It is to be called before the store is used.
func (s *Store) CountDrops(drops *atomic.Uint64) { s.Found.drops = drops }
