package keys

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Sources are the configured tables of one database, with the sources of their keys.
//
// Sources with a state have a counter for each name of a state. The sources that have
// none are kept by [table.StatelessSources].
type Sources struct {
	*relation.Tables
	counters *counter.Counters
	found    counter.FoundCounters
	flakes   *numbering.SharedSnowflakes
	taken    []int                                 // the workers' numbers that this database has taken in flakes
	maxima   sync.Map                              // of *keysource.Meter, by the name of the source: of maxplusone
	standIn  func(state string) keysource.Reserver // for stores; nil outside tests
	early    *earlyOpening
	forgets  atomic.Uint64 // counts ForgetStates
}

// New returns the tables and sources of a database, which speaks one of the dialects. It
// does no I/O. It keeps the policy, which must not be changed.
func New(a table.Options, facts drivers.Facts, dialects []*dialect.Dialect) (*Sources, error) {
	tables, err := relation.NewTables(a, facts, dialects)
	if err != nil {
		return nil, err
	}
	return &Sources{Tables: tables, counters: counter.NewCounters(), standIn: a.Reservers, early: newEarlyOpening()}, nil
}

// Open checks stores and snowflakes, and takes the workers' numbers of snowflakes
// without a store. It does no I/O. For an [explain.Database] it does neither: there is the
// application's database to ask, and no more.
func (s *Sources) Open(cfg *policy.Config, own driver.Connector, shared *numbering.SharedSnowflakes) error {
	if err := s.OpenStores(cfg, own); err != nil || s.Stores == nil || s.Explains {
		return err
	}
	s.flakes = shared
	for _, src := range s.Candidates[0].Policy.Sources() {
		if !table.OfWorkers(src) || src.Spread != "" || src.WorkerLease > 0 || s.Detached {
			continue // there is no number yet
		}
		if err := s.openSnowflake(src); err != nil {
			return errors.Join(s.Candidates[0].OfSource(src, err), s.Close(context.Background(), nil))
		}
	}
	return nil
}

// openSnowflake takes the worker's number of a snowflake without a store, and checks any
// other.
func (s *Sources) openSnowflake(src policy.Source) error {
	o := src.SnowflakeOptions()
	if s.Markless(src) {
		number, err := s.flakes.Take(o, s.Env)
		if err == nil {
			s.taken = append(s.taken, number)
		}
		return err
	}
	probe, err := keysource.NewSnowflake(o, s.Env)
	if err != nil {
		return err
	}
	return probe.Close(context.Background())
}

// Close gives back series and leases, and gives up reserved numbers; a call that waits for a
// key returns an error. onOwn calls a function with a connection of our own.
func (s *Sources) Close(ctx context.Context, onOwn numbering.OnOwnConn) error {
	series := s.counters.RecycledOn()
	errs := []error{s.counters.Close(ctx)}
	numbering.GiveBack(ctx, series, onOwn)
	for _, number := range s.taken {
		errs = append(errs, s.flakes.Release(ctx, number))
	}
	s.taken = nil
	return errors.Join(append(errs, s.CloseStores())...)
}

// ForgetStates makes the sources take their states as they stand: see keyfill.Mount.Forget.
func ForgetStates(ctx context.Context, s *Sources) error {
	s.forgets.Add(1)
	return s.counters.ForgetStates(ctx)
}

// SourceStates returns the states of the sources of some databases, in the order of the
// entries of the first one's policy. Sources of one name are summed up, and the counts of
// closed databases are added.
func SourceStates(all []*Sources, past numbering.PastSources) []numbering.SourceState {
	sum := numbering.NewSums()
	for _, s := range all {
		sum.AddPolicy(s.AnyEngine().Policy)
	}
	sum.AddPast(past)
	for _, s := range all {
		s.addTo(sum)
	}
	return sum.Total()
}

// AddPast returns the sum of p and the counts of the sources, whose database is closed.
func (s *Sources) AddPast(p numbering.PastSources) numbering.PastSources {
	sum := p.Begin(s.AnyEngine().Policy)
	s.addTo(sum)
	return p.End(sum)
}

// addTo adds the states of the sources.
func (s *Sources) addTo(sum *numbering.Sums) {
	s.counters.AddTo(sum)
	s.maxima.Range(func(name, meter any) bool {
		one := numbering.SourceState{Source: name.(string), States: 1, Worker: -1}
		one.Fetched(meter.(*keysource.Meter).Fetching(sum.Now, 0))
		sum.Add(one)
		return true
	})
	s.Losses.All.Range(func(name, lost any) bool {
		of := lost.(*statestore.Losses)
		sum.Add(numbering.SourceState{Source: name.(string), LeasesLost: of.Count.Load(), LeaseLostAt: report.TimeOf(of.Last.Load())})
		return true
	})
}
