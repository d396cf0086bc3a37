package schema

import (
	"context"
	"time"

	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// A restore under a running process drops keyfill's tables and creates them again, which
// fails if keyfill has created them in between. So a process that has found the tables
// before creates them again only while a table that it fills exists, and only after it has
// found twice that keyfill's tables are missing and that this table exists, at a distance
// of time that is longer than a restore needs between the statements that create tables. If
// the process itself has dropped tables, as a test suite does, it does not wait.

// stayWait is how long after keyfill's tables were found missing they are looked for again.
const stayWait = 250 * time.Millisecond

// stayMissing reports whether keyfill's tables, which were found missing, stay missing.
// It returns an error if the tables of the columns are missing as well.
func (s *Schema) stayMissing(ctx context.Context, columns []*keycolumn.KeyColumn) (bool, error) {
	if !s.store.Pooled || !s.store.Found.IsLost() {
		return true, nil
	}
	if err := areThere(ctx, columns); err != nil {
		s.store.Found.Forget()
		return false, err
	}
	left := stayWait - s.store.Found.SinceFirst()
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
	if err := areThere(ctx, columns); err != nil {
		s.store.Found.Forget()
		return false, err
	}
	return !s.IsThere(ctx), nil
}

// areThere returns an error if the tables of all columns are missing.
func areThere(ctx context.Context, columns []*keycolumn.KeyColumn) (err error) {
	for _, k := range columns {
		var missing bool
		if missing, err = k.IsMissing(ctx); !missing {
			return nil
		}
	}
	return err
}
