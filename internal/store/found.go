package store

import (
	"sync/atomic"
	"time"
)

// found says whether a process has found keyfill's tables in a database. It is safe for
// concurrent use.
type found struct {
	once  atomic.Bool
	drops *atomic.Uint64 // counts the tables that the process itself has dropped; nil: nobody does
	at    atomic.Uint64  // drops when the tables were found last

	first atomic.Pointer[time.Time] // look that has found the tables missing; nil: none
}

// firstLookLasts is for how long the first look counts. The second may be that of another
// statement: one whose context ends sooner than stayWait cannot wait for it.
const firstLookLasts = time.Minute

// note notes that the tables are there.
func (f *found) note() {
	if f.drops != nil {
		f.at.Store(f.drops.Load())
	}
	f.first.Store(nil)
	f.once.Store(true)
}

// forget forgets the first look that has found the tables missing.
func (f *found) forget() { f.first.Store(nil) }

// wasFound reports whether the tables were there once.
func (f *found) wasFound() bool { return f.once.Load() }

// sinceFirst returns how long ago the first look was, which is this one where there is none
// that counts.
func (f *found) sinceFirst() time.Duration {
	now := time.Now()
	first := f.first.Load()
	if first == nil || now.Sub(*first) > firstLookLasts {
		f.first.Store(&now)
		return 0
	}
	return now.Sub(*first)
}

// isLost reports whether the tables that are missing were there before, and nobody in this
// process has dropped any since.
func (f *found) isLost() bool {
	return f.once.Load() && (f.drops == nil || f.at.Load() == f.drops.Load())
}

// CountDrops makes the store know when the process itself has dropped tables of its
// database: the count is raised then. It is to be called before the store is used.
func (s *Store) CountDrops(drops *atomic.Uint64) { s.found.drops = drops }
