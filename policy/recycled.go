package policy

import (
	"cmp"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

const (
	defaultSeries = keysource.DefaultSeries
	defaultLease  = keysource.DefaultLease

	minLease = time.Second
	maxLease = time.Hour

	// minWorkerLease is more, since a number is got in several round trips.
	minWorkerLease = 5 * time.Second
)

func (m *mistakes) checkRecycled(p place, s Source) {
	m.checkState(p, s)
	m.checkStored(p, s)
	m.checkStart(p, s)
	m.checkBlocks(p, s)
	series := cmp.Or(s.Series, defaultSeries)
	if s.Series < 0 {
		m.wrong(p.in("series"), "%d is less than 1", s.Series)
		return
	}
	for _, f := range []struct {
		name  string
		value int64
	}{{"block", s.Block}, {"min_block", s.MinBlock}, {"max_block", s.MaxBlock}} {
		if f.value > series {
			m.wrong(p.in(f.name), "%d is more than a series has, %d", f.value, series)
		}
	}
	if s.Lease != 0 && (s.Lease < minLease || s.Lease > maxLease) {
		m.wrong(p.in("lease"), "%v is not from %v to %v", s.Lease, minLease, maxLease)
	}
	checkWord(m, p, "on_behind", s.OnBehind, remedies)
	m.checkRollback(p, s)
}

// completeRecycled sets the fields that a recycled source leaves out.
func completeRecycled(s *Source, _ *dialect.Dialect) {
	s.Series = cmp.Or(s.Series, defaultSeries)
	s.Lease = cmp.Or(s.Lease, defaultLease)
	s.OnBehind = cmp.Or(s.OnBehind, keysource.RemedyError)
	s.OnStoreRollback = cmp.Or(s.OnStoreRollback, keysource.RemedyError)
}

// RecycledOptions returns the options of the recycled source s: all but Store,
// OnConnection and MaxKey.
func (s Source) RecycledOptions() keysource.RecycledOptions {
	return keysource.RecycledOptions{
		Size:            cmp.Or(s.Series, defaultSeries),
		Lease:           cmp.Or(s.Lease, defaultLease),
		Block:           s.Block,
		MinBlock:        s.MinBlock,
		MaxBlock:        s.MaxBlock,
		OnBehind:        s.OnBehind,
		OnStoreRollback: s.OnStoreRollback,
	}
}
