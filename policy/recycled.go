package policy

import (
	"cmp"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

var recycledKind = kind{
	name:      KindRecycled,
	doc:       "integers of a series for each process, which goes to another when that has ended",
	guarantee: Guarantee{Unique: Unique, Ordered: OrderedInSeries, Contiguous: true},
	integer:   true,
	stateful:  true,
	layouts:   asText,
	fields: []*sourceField{
		nameField, storeField, blockField, minBlockField, maxBlockField, startField, ensureSchemaField, createField,
		exclusiveField, onBehindField, onStoreRollbackField, seriesField, leaseField,
	},
	check:    checkRecycled,
	defaults: completeRecycled,
	open:     ofDatabase,
}

var seriesField = of("series", "How many integers a process owns at a time.",
	atLeast[int64](1), func(s *Source) *int64 { return &s.Series }).byDefault(defaultSeries).as(100_000)

var leaseField = of("lease", "How long a process owns a series without saying so again, from 1s to 1h.",
	durationShape, func(s *Source) *time.Duration { return &s.Lease }).byDefault("30s").as("1m")

const (
	defaultSeries = counting.DefaultSeries
	defaultLease  = counting.DefaultLease

	minLease = time.Second
	maxLease = time.Hour
)

func checkRecycled(m *mistakes, p place, s Source) {
	checkState(m, p, s)
	checkStored(m, p, s)
	checkStart(m, p, s)
	checkBlocks(m, p, s)
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
			m.wrong(p.in(f.name), "%d is more integers than the %d of a series: give fewer", f.value, series)
		}
	}
	if s.Lease != 0 && (s.Lease < minLease || s.Lease > maxLease) {
		m.wrong(p.in("lease"), "%v is not from %v to %v", s.Lease, minLease, maxLease)
	}
	checkWord(m, p, "on_behind", s.OnBehind, remedies)
	checkRollback(m, p, s)
}

// completeRecycled sets the fields that a recycled source leaves out to their defaults.
func completeRecycled(s *Source, _ *dialect.Dialect) {
	s.Series = cmp.Or(s.Series, defaultSeries)
	s.Lease = cmp.Or(s.Lease, defaultLease)
	s.OnBehind = cmp.Or(s.OnBehind, keysource.RemedyError)
	s.OnStoreRollback = cmp.Or(s.OnStoreRollback, keysource.RemedyError)
}
