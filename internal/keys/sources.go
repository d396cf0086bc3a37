package keys

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/fetching"
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
// A source with a state (a stored counter) has a counter for each name of a state. The
// sources without a state are kept in [table.StatelessSources].
type Sources struct {
	*relation.Tables
	counters *counter.Counters
	found    counter.FoundCounters
	flakes   *numbering.SharedSnowflakes
	taken    []int                                 // the worker numbers that this database has taken in flakes
	maxima   sync.Map                              // a *fetching.Meter for each maxplusone source, by its name
	standIn  func(state string) keysource.Reserver // makes the stand-in for a store; nil outside tests
	early    *earlyOpening
	forgets  atomic.Uint64 // counts the calls of ForgetStates
}

// New returns the tables and sources of a database whose dialect is one of dialects. It
// does no I/O. It keeps the policy, which must not be changed.
func New(a table.Options, facts drivers.Facts, dialects []*dialect.Dialect) (*Sources, error) {
	tables, err := relation.NewTables(a, facts, dialects)
	if err != nil {
		return nil, err
	}
	return &Sources{Tables: tables, counters: counter.NewCounters(), standIn: a.Reservers, early: newEarlyOpening()}, nil
}

// Open checks stores and snowflakes, and takes the worker numbers of snowflakes without
// a store. It does no I/O. For an [explain.Database] it does nothing of this, since
// only the application's database may be asked.
func (s *Sources) Open(cfg *policy.Config, own driver.Connector, shared *numbering.SharedSnowflakes) error {
	if err := s.OpenStores(cfg, own); err != nil || s.Stores == nil || s.Explains {
		return err
	}
	s.flakes = shared
	for _, src := range s.Candidates[0].Policy.Sources() {
		if !table.OfWorkers(src) || src.Spread != "" || src.WorkerLease > 0 || s.Detached {
			continue // not a snowflake, or its worker number is not known yet
		}
		if err := s.openSnowflake(src); err != nil {
			return errors.Join(s.Candidates[0].OfSource(src, err), s.Close(context.Background(), nil))
		}
	}
	return nil
}

// openSnowflake takes the worker number of a snowflake without a store. For a snowflake
// with a store it only checks the options.
func (s *Sources) openSnowflake(src policy.Source) error {
	o := src.SnowflakeOptions()
	if s.Markless(src) {
		number, err := s.flakes.Take(o, s.Env)
		if err == nil {
			s.taken = append(s.taken, number)
		}
		return err
	}
	probe, err := counting.NewSnowflake(nil, o, s.Env)
	if err != nil {
		return err
	}
	return probe.Close(context.Background())
}

// Close gives back series of integers and leases, and gives up reserved numbers. A call
// that waits for a key returns an error. onOwn calls a function with a connection of
// keyfill's own.
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

// ForgetStates makes the sources read their stored counters anew: see
// keyfill.Mount.Forget.
func ForgetStates(ctx context.Context, s *Sources) error {
	s.forgets.Add(1)
	return s.counters.ForgetStates(ctx)
}

// SourceStates returns the states of the sources of several databases, in the order of
// the entries in the first one's policy. Sources with the same name are summed up, and
// the counts of closed databases are added.
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

// AddPast returns p plus the counts of the sources of s, whose database is being
// closed.
func (s *Sources) AddPast(p numbering.PastSources) numbering.PastSources {
	sum := p.Begin(s.AnyEngine().Policy)
	s.addTo(sum)
	return p.End(sum)
}

// addTo adds the states of the sources to sum.
func (s *Sources) addTo(sum *numbering.Sums) {
	s.counters.AddTo(sum)
	s.maxima.Range(func(name, meter any) bool {
		one := numbering.SourceState{Source: name.(string), States: 1, Worker: -1}
		one.Fetched(meter.(*fetching.Meter).Fetching(sum.Now, 0))
		sum.Add(one)
		return true
	})
	s.Losses.All.Range(func(name, lost any) bool {
		of := lost.(*statestore.Losses)
		sum.Add(numbering.SourceState{Source: name.(string), LeasesLost: of.Count.Load(), LeaseLostAt: report.TimeOf(of.Last.Load())})
		return true
	})
}
