package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// A restore under a running process drops keyfill's tables and makes them again, which fails
// where keyfill has made them in between. So a process that has found the tables before
// makes them again only while a table that it fills is there, and after it has seen both
// twice, as far apart as the statements of a restore that make tables hardly are. Where the
// process itself has dropped tables, as a test suite does, it does not wait.

// stayWait is the time between the two looks.
const stayWait = 250 * time.Millisecond

// firstLookLasts is for how long the first look counts. The second may be that of another
// statement: one whose context ends sooner than stayWait cannot wait for it.
const firstLookLasts = time.Minute

// found says whether a process has found keyfill's tables in a database. It is safe for
// concurrent use.
type found struct {
	once  atomic.Bool
	drops *atomic.Uint64 // counts the tables that the process itself has dropped; nil: nobody does
	at    atomic.Uint64  // drops when the tables were found last

	first atomic.Pointer[time.Time] // look that has found the tables missing; nil: none
}

// note notes that the tables are there.
func (f *found) note() {
	if f.drops != nil {
		f.at.Store(f.drops.Load())
	}
	f.first.Store(nil)
	f.once.Store(true)
}

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
func (s *Store) CountDrops(drops *atomic.Uint64) { s.run.found.drops = drops }

// stayMissing reports whether keyfill's tables, which were found missing, are missing for
// good. It is an error where the tables of the columns are missing as well.
func (s *Schema) stayMissing(ctx context.Context, columns servedColumns) (bool, error) {
	if !s.run.pooled || !s.run.found.isLost() {
		return true, nil
	}
	if err := columns.areThere(ctx); err != nil {
		s.run.found.first.Store(nil)
		return false, err
	}
	left := stayWait - s.run.found.sinceFirst()
	if left <= 0 {
		return true, nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if err := columns.areThere(ctx); err != nil {
		s.run.found.first.Store(nil)
		return false, err
	}
	return !s.IsThere(ctx), nil
}

// areThere returns an error where all tables of the columns are missing.
func (s servedColumns) areThere(ctx context.Context) (err error) {
	if s.q.Apart {
		return nil
	}
	for _, k := range s.all() {
		_, err = k.run.conn.query(ctx, "SELECT "+k.name()+" FROM "+k.table()+" WHERE 1 = 0", nil)
		if err == nil || sqlcode.ClassOf(k.run.dialect, err) != dialect.ErrorNoObject {
			return nil
		}
		err = k.run.failed(k.column.String(), k.run.refuse(ErrColumn, err))
	}
	return err
}
