package keys

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Sources are the configured tables of one database, with the sources of their keys.
//
// Sources with a state have a counter for each name of a state. The sources that have
// none are kept by [statelessSources].
type Sources struct {
	*Tables
	counters *Counters
	found    foundCounters
	flakes   *SharedSnowflakes
	taken    []int                                 // the workers' numbers that this database has taken in flakes
	maxima   sync.Map                              // of *keysource.Meter, by the name of the source: of maxplusone
	standIn  func(state string) keysource.Reserver // for stores; nil outside tests
	early    *earlyOpening
	forgets  atomic.Uint64 // counts ForgetStates
}

// New returns the tables and sources of a database, which speaks one of the dialects. It
// does no I/O. It keeps the policy, which must not be changed.
func New(a Options, facts drivers.Facts, dialects []*dialect.Dialect) (*Sources, error) {
	tables, err := NewTables(a, facts, dialects)
	if err != nil {
		return nil, err
	}
	return &Sources{Tables: tables, counters: newCounters(), standIn: a.Reservers, early: newEarlyOpening()}, nil
}

// Open checks stores and snowflakes, and takes the workers' numbers of snowflakes
// without a store. It does no I/O. For an [explain.Database] it does neither: there is the
// application's database to ask, and no more.
func (s *Sources) Open(cfg *policy.Config, own driver.Connector, shared *SharedSnowflakes) error {
	if err := s.OpenStores(cfg, own); err != nil || s.stores == nil || s.explains {
		return err
	}
	s.flakes = shared
	for _, src := range s.Candidates[0].Policy.Sources() {
		if !ofWorkers(src) || src.Spread != "" || src.WorkerLease > 0 || s.Detached {
			continue // there is no number yet
		}
		if err := s.openSnowflake(src); err != nil {
			return errors.Join(s.Candidates[0].ofSource(src, err), s.Close(context.Background(), nil))
		}
	}
	return nil
}

// openSnowflake takes the worker's number of a snowflake without a store, and checks any
// other.
func (s *Sources) openSnowflake(src policy.Source) error {
	o := src.SnowflakeOptions()
	if s.markless(src) {
		number, err := s.flakes.take(o, s.env)
		if err == nil {
			s.taken = append(s.taken, number)
		}
		return err
	}
	probe, err := keysource.NewSnowflake(o, s.env)
	if err != nil {
		return err
	}
	return probe.Close(context.Background())
}

// Close gives back series and leases, and gives up reserved numbers; callers who wait for a
// key get an error. onOwn calls a function with a connection of our own.
func (s *Sources) Close(ctx context.Context, onOwn onOwnConn) error {
	series := s.counters.recycledOn()
	errs := []error{s.counters.close(ctx)}
	giveBack(ctx, series, onOwn)
	for _, number := range s.taken {
		errs = append(errs, s.flakes.release(ctx, number))
	}
	s.taken = nil
	return errors.Join(append(errs, s.CloseStores())...)
}

// ForgetStates makes the sources take their states as they stand: see keyfill.Mount.Forget.
func ForgetStates(ctx context.Context, s *Sources) error {
	s.forgets.Add(1)
	return s.counters.forgetStates(ctx)
}

// SourceStates returns the states of the sources of some databases, in the order of the
// entries of the first one's policy. Sources of one name are summed up, and the counts of
// closed databases are added.
func SourceStates(all []*Sources, past PastSources) []SourceState {
	sum := newSums()
	for _, s := range all {
		sum.addPolicy(s.AnyEngine().Policy)
	}
	sum.addPast(past)
	for _, s := range all {
		s.addTo(sum)
	}
	return sum.total()
}

// AddPast returns the sum of p and the counts of the sources, whose database is closed.
func (s *Sources) AddPast(p PastSources) PastSources {
	sum := p.begin(s.AnyEngine().Policy)
	s.addTo(sum)
	return p.end(sum)
}

// addTo adds the states of the sources.
func (s *Sources) addTo(sum *sums) {
	s.counters.addTo(sum)
	s.maxima.Range(func(name, meter any) bool {
		one := SourceState{Source: name.(string), States: 1, Worker: -1}
		one.fetched(meter.(*keysource.Meter).Fetching(sum.now, 0))
		sum.add(one)
		return true
	})
	s.losses.all.Range(func(name, lost any) bool {
		of := lost.(*losses)
		sum.add(SourceState{Source: name.(string), LeasesLost: of.count.Load(), LeaseLostAt: timeOf(of.last.Load())})
		return true
	})
}
