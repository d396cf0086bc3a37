package harness

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// PlainStore is a store without SQL, in memory. It uses a lock where etcd uses transactions
// that compare revisions. Stores that are opened through one driver have the same states
// (stored counters), as processes have that use one cluster.
type PlainStore struct {
	mu       sync.Mutex
	states   map[string]*plainCounter // by name
	marks    map[string]*plainMark    // the marks of workers, by the state's name and the worker
	series   map[string][]*plainSeries
	bindings map[string]plainBinding // the state (stored counter) that numbers each column
	open     int                     // how many databases have the store open
}

type plainCounter struct {
	kind       string // the kind of the source
	parameters string
	next       int64
}

type plainMark struct {
	parameters string
	until      int64
}

type plainSeries struct {
	keysource.Series
	owner string
	until time.Time // when the lease of the series ends
}

// NewPlain returns a store without states (stored counters).
func NewPlain() *PlainStore {
	return &PlainStore{
		states: map[string]*plainCounter{}, marks: map[string]*plainMark{},
		series: map[string][]*plainSeries{}, bindings: map[string]plainBinding{},
	}
}

// RegisterPlain registers the driver of a new store without SQL, and returns both.
func RegisterPlain(t *testing.T) (name string, s *PlainStore) {
	s = NewPlain()
	name = fmt.Sprintf("plain%p", s)
	sql.Register(name, plainDriver{s})
	return name, s
}

// Open opens the store for one more process.
func (s *PlainStore) Open() keysource.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return s
}

// Opened returns how many databases use the store now.
func (s *PlainStore) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Next returns the next integer of a state (a stored counter); 0 if there is no such state.
func (s *PlainStore) Next(name string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.states[name]; c != nil {
		return c.next
	}
	return 0
}

// Forget removes a state (a stored counter), as a restored backup may.
func (s *PlainStore) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, name)
}

// plainDriver is the driver of a store.
type plainDriver struct{ store *PlainStore }

var _ keysource.StoreDriver = plainDriver{}

func (plainDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("this store knows no SQL")
}

func (d plainDriver) OpenStore(dsn string) (keysource.Store, error) {
	if dsn != "memory" {
		return nil, errors.New("no such memory: " + dsn)
	}
	return d.store.Open(), nil
}

// Close implements [keysource.Store].
func (s *PlainStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	return nil
}

// plainBinding is the state (a stored counter) that numbers a column, with its parameters.
type plainBinding struct{ name, parameters string }

// Bind implements [keysource.Store].
func (s *PlainStore) Bind(_ context.Context, st keysource.State, column string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch other, ok := s.bindings[column]; {
	case ok && other.name != st.Name:
		return fmt.Errorf("%w: %s is filled from state %q", keysource.ErrStoreState, column, other.name)
	case ok && other.parameters != st.Parameters:
		return fmt.Errorf("%w: %s is filled with the parameters %q", keysource.ErrStoreState, column, other.parameters)
	}
	s.bindings[column] = plainBinding{st.Name, st.Parameters}
	return nil
}

// at calls f with the counter of a state (a stored counter), which is created if it is
// missing. Two callers may both call First for a new state, since nothing has been reserved
// from it yet.
func (s *PlainStore) at(ctx context.Context, kind string, st keysource.State, f func(*plainCounter) error) error {
	s.mu.Lock()
	c := s.states[st.Name]
	s.mu.Unlock()
	if c == nil {
		first, err := st.First(ctx)
		if err != nil {
			return err
		}
		s.mu.Lock()
		if s.states[st.Name] == nil {
			s.states[st.Name] = &plainCounter{kind, st.Parameters, first}
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch c = s.states[st.Name]; {
	case c == nil:
		return errors.New("the state was lost as soon as it was made")
	case c.kind != kind || c.parameters != st.Parameters:
		return fmt.Errorf("%w: state %q is of another kind, or has other parameters", keysource.ErrStoreState, st.Name)
	}
	return f(c)
}

// Reserver implements [keysource.Store].
func (s *PlainStore) Reserver(st keysource.State) keysource.Reserver { return plainReserver{s, st} }

type plainReserver struct {
	store *PlainStore
	state keysource.State
}

func (r plainReserver) Reserve(ctx context.Context, n, seen int64) (got keysource.Reservation, err error) {
	err = r.store.at(ctx, "sequence", r.state, func(c *plainCounter) error {
		got.First = c.next
		switch left := r.state.Max - c.next + 1; {
		case c.next < seen:
			return nil
		case left < 1:
			return keysource.ErrExhausted
		case left < n:
			n, got.N = left, left
		}
		c.next += n
		return nil
	})
	return got, err
}

func (r plainReserver) Advance(ctx context.Context, to int64) error {
	return r.store.at(ctx, "sequence", r.state, func(c *plainCounter) error {
		c.next = max(c.next, to)
		return nil
	})
}

// Marker implements [keysource.Store].
func (s *PlainStore) Marker(st keysource.State, worker int64, _ string) keysource.Marker {
	return plainMarker{s, fmt.Sprintf("%s %d", st.Name, worker), st.Parameters}
}

type plainMarker struct {
	store            *PlainStore
	name, parameters string
}

func (m plainMarker) Mark(_ context.Context, until int64) (before int64, err error) {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	mark := m.store.marks[m.name]
	if mark == nil {
		mark = &plainMark{parameters: m.parameters}
		m.store.marks[m.name] = mark
	}
	if mark.parameters != m.parameters {
		return 0, fmt.Errorf("%w: the mark %q has other parameters", keysource.ErrStoreState, m.name)
	}
	before = mark.until
	mark.until = max(before, until)
	return before, nil
}

// Series implements [keysource.Store].
func (s *PlainStore) Series(st keysource.State, o keysource.SeriesOwner) keysource.SeriesStore {
	return plainOwner{s, st, o}
}

// plainOwner gives one owner access to the series (ranges of integers) of a state.
type plainOwner struct {
	store *PlainStore
	state keysource.State
	owner keysource.SeriesOwner
}

// seen returns a series (a range of integers) as its owner gets it.
func (o plainOwner) seen(s *plainSeries) keysource.Series {
	if s == nil {
		return keysource.Series{}
	}
	now := s.Series
	now.Own = s.owner == o.owner.Owner
	return now
}

// first returns the lowest series for which fit returns true, or nil.
func (o plainOwner) first(fit func(*plainSeries) bool) *plainSeries {
	var lowest *plainSeries
	for _, s := range o.store.series[o.state.Name] {
		if fit(s) && (lowest == nil || s.First < lowest.First) {
			lowest = s
		}
	}
	return lowest
}

// as returns the series (a range of integers) if it is still as the owner knows it,
// otherwise nil.
func (o plainOwner) as(one keysource.Series) *plainSeries {
	return o.first(func(s *plainSeries) bool {
		return s.First == one.First && s.owner == o.owner.Owner && s.Epoch == one.Epoch
	})
}

func (o plainOwner) Own(context.Context) (keysource.Series, error) {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	return o.seen(o.first(func(s *plainSeries) bool { return s.owner == o.owner.Owner })), nil
}

func (o plainOwner) Move(_ context.Context, one keysource.Series, to int64) (keysource.Series, bool, error) {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	if s := o.as(one); s != nil && s.Next == one.Next {
		s.Next, s.until = to, time.Now().Add(o.owner.Lease)
		return o.seen(s), true, nil
	}
	return o.seen(o.first(func(s *plainSeries) bool { return s.First == one.First })), false, nil
}

func (o plainOwner) TakeOver(_ context.Context, n int64) (keysource.Series, error) {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	now := time.Now()
	o.store.series[o.state.Name] = slices.DeleteFunc(o.store.series[o.state.Name], func(s *plainSeries) bool {
		return s.until.Before(now) && s.Next > s.Last
	})
	s := o.first(func(s *plainSeries) bool { return s.until.Before(now) && s.Last-s.Next+1 >= n })
	if s != nil {
		s.owner, s.until = o.owner.Owner, now.Add(o.owner.Lease)
		s.Epoch++
	}
	return o.seen(s), nil
}

func (o plainOwner) Open(ctx context.Context, seen int64) (made keysource.Series, err error) {
	err = o.store.at(ctx, "series", o.state, func(c *plainCounter) error {
		switch {
		case c.next < seen:
			made.First = c.next
			return nil
		case c.next > o.state.Max-o.owner.Size+1:
			return keysource.ErrExhausted
		}
		s := &plainSeries{
			Series: keysource.Series{First: c.next, Last: c.next + o.owner.Size - 1, Next: c.next, Epoch: 1},
			owner:  o.owner.Owner, until: time.Now().Add(o.owner.Lease),
		}
		c.next += o.owner.Size
		o.store.series[o.state.Name] = append(o.store.series[o.state.Name], s)
		made = o.seen(s)
		return nil
	})
	return made, err
}

func (o plainOwner) GiveUp(_ context.Context, one keysource.Series, to int64) error {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	s := o.as(one)
	if s == nil {
		return nil
	}
	if s.Next == one.Next {
		s.Next = to
	}
	s.owner, s.until = "", time.Time{}
	if s.Next > s.Last {
		o.store.series[o.state.Name] = slices.DeleteFunc(o.store.series[o.state.Name], func(one *plainSeries) bool { return one == s })
	}
	return nil
}

func (o plainOwner) Advance(ctx context.Context, to int64) error {
	return o.store.at(ctx, "series", o.state, func(c *plainCounter) error {
		c.next = max(c.next, cmp.Or(to, 1))
		return nil
	})
}
