package counting

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/keysource"
)

const (
	// DefaultSeries is how many integers a series (a range that one process owns) has
	// unless [RecycledOptions].Size says otherwise.
	DefaultSeries = 1_000_000

	// DefaultLease is for how long a series (a range of integers) belongs to its owner
	// after a renewal unless [RecycledOptions].Lease says otherwise.
	DefaultLease = 30 * time.Second

	// marginShare is the divisor for the part of a lease by which the owner stops
	// early, since two clocks do not run at exactly the same pace.
	marginShare = 4

	// renewShare is the divisor for the part of a lease after which a busy owner renews
	// it.
	renewShare = 3

	// maxRuns is how many runs of reserved integers a source keeps at most. There is
	// more than one after a change of series.
	maxRuns = 8
)

// RecycledOptions configures how a [Recycled] counts. Only Store has to be set, or
// OnConnection instead.
type RecycledOptions struct {
	Store keysource.SeriesStore

	// OnConnection makes a source without a store connection and without a goroutine:
	// it reserves on the connection of each statement, see [Recycled.ReserveOn]. Store
	// and MaxKey must then be nil.
	OnConnection bool

	// Size is how many integers a series has, and the most that one request may ask
	// for. Zero means [DefaultSeries]. It must be the size of the store's series.
	Size int64

	// Lease is for how long a series (a range of integers) belongs to this owner after it
	// was last renewed, at least 10 ms. Zero means [DefaultLease]. It must be the lease of
	// the store.
	Lease time.Duration

	// Block, MinBlock and MaxBlock say how many integers of the series are reserved at
	// a time, as in [SequenceOptions]. They are at most Size.
	Block              int64
	MinBlock, MaxBlock int64

	// MaxKey returns the greatest key in the table between from and to, both included, or 0
	// if there is none. It is called for each series (a range of integers) before its first
	// key is handed out, and for all keys before the first new series is opened. It is nil
	// if no index can find that key; then nothing is compared.
	MaxKey func(ctx context.Context, from, to int64) (int64, error)
	// OnBehind is what the source does if a series (a range of integers), or the store's
	// counter, is below the key that MaxKey returns.
	OnBehind keysource.Remedy
	// OnStoreRollback is what the source does if the store's counter is below the
	// integers that the store has given to this source.
	OnStoreRollback keysource.Remedy

	// Raise returns the command that raises a series to the number to; it may be nil.
	Raise func(s keysource.Series, to int64) string
}

// Recycled hands out the integers of a series, a range that no other process owns at
// the time, so that processes that insert at once insert at different places of the
// index. When the series is used up, or has too few integers left for a request, the
// source gives it up and takes over the lowest abandoned series that has enough. If no
// series has, it opens a new one. All keys of a request are consecutive. The keys of
// two requests are in no order.
//
// It follows the recycled series of "Surrogate Primary Key Generation" (Gary Meyer,
// 1994), in which a process without a series takes over the series of a process that
// has ended. It differs in four points, where the original issues keys twice or fails:
// the number of a new series comes from a counter that only grows, not from the
// greatest row that is left; a used-up series is removed and never taken over; a
// process gives up its own series before it takes over another; and no row has to exist
// at first.
//
// # Blocks and leases
//
// A source reserves a block of its series at a time in the store, and hands out only
// reserved integers: the next owner of the series begins after the reserved ones. So
// neither a process that is killed nor one that wakes up after its lease has run out
// repeats a key. Beyond that the source stops at three quarters of the lease, by its own
// clock and from the moment before the renewal was sent, and asks the store before it
// goes on. Each reservation renews the lease of a series, and so does a request after a
// third of the lease. A series that is not used is abandoned when its lease has run out.
//
// [Recycled.Close] gives back the rest of the block in hand, and the series
// with it. All else that was reserved and not used is a gap.
//
// A source has one series. If the store opens a series for it after the source has given
// up waiting and has looked up the series that it owns, the new one lies unused until its
// lease has run out.
//
// # When the store is down or goes back
//
// A Recycled waits for a store that is down as a [Sequence] does, but uses the
// integers in hand only while the lease lasts.
//
// The source remembers the end of the integers that the store has given it of each series,
// and the end of the last series that it has opened. It compares them with the store's
// answers whenever it uses a series or opens one. A lower answer means that the store has
// gone back, as after a restore; then the integers in hand are given up, and the request
// gets [keysource.ErrStoreBack] or the remedy of the options applies. If the table can be
// asked for its greatest key, keys in it that belong to a series are found when the series
// is taken over or opened.
//
// It is safe for concurrent use and holds no lock while it waits. It has a
// goroutine while it asks the store; on the statements' connections it has none.
type Recycled struct {
	store    keysource.SeriesStore
	maxKey   func(ctx context.Context, from, to int64) (int64, error)
	seriesN  int64
	exact    bool // Block is 1: each request reserves only its own integers, and none are kept
	onBehind keysource.Remedy
	onBack   keysource.Remedy
	raise    func(s keysource.Series, to int64) string // may be nil, see RecycledOptions

	fetcher // its mu guards the fields below

	hand runs // the integers that are reserved and not handed out
	tenure
	reached map[int64]int64 // by Series.First, the end of the integers that the store has given of the series
	end     int64           // end of the last series (a range of integers) that was opened
	brought map[int64]int64 // by Series.First, the least key that may be handed out; see Advance

	size  blockSize
	begun time.Time // when the last block was reserved

	greeted  bool  // the store was compared with the greatest key in the table
	suspects int64 // how often Suspect was called

	fetches, behind, taken, opened int64
}

// NewRecycled returns a source that hands out the integers of series in o.Store. It
// does no I/O: the first request does. Of env it does not use Rand. Its error wraps
// [keysource.ErrOptions].
func NewRecycled(o RecycledOptions, env keysource.Env) (*Recycled, error) {
	o.Size = cmp.Or(o.Size, DefaultSeries)
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	switch {
	case o.OnConnection && (o.Store != nil || o.MaxKey != nil):
		return nil, anchor.Endf("%w: series on the statements' connections are given a store", keysource.ErrOptions)
	case !o.OnConnection && o.Store == nil:
		return nil, anchor.Endf("%w: series need a store", keysource.ErrOptions)
	case o.Size < 1:
		return nil, anchor.Endf("%w: a series of %d integers", keysource.ErrOptions, o.Size)
	case o.Lease < 10*time.Millisecond:
		return nil, anchor.Endf("%w: a lease of %s, which is less than 10ms", keysource.ErrOptions, o.Lease)
	case max(o.Block, o.MinBlock, o.MaxBlock) > o.Size:
		return nil, anchor.Endf("%w: blocks of more integers than a series has, %d", keysource.ErrOptions, o.Size)
	case !slices.Contains([]keysource.Remedy{"", keysource.RemedyError, keysource.RemedyAdvance, keysource.RemedyWarn}, o.OnBehind):
		return nil, anchor.Endf("%w: no remedy for a store below the table's keys: %q", keysource.ErrOptions, o.OnBehind)
	case !slices.Contains([]keysource.Remedy{"", keysource.RemedyError, keysource.RemedyAdvance}, o.OnStoreRollback):
		return nil, anchor.Endf("%w: no remedy for a store that has gone back: %q", keysource.ErrOptions, o.OnStoreRollback)
	}
	if o.Block == 0 && o.MaxBlock == 0 {
		o.MaxBlock = o.Size
	}
	size, err := newBlockSize(SequenceOptions{Block: o.Block, MinBlock: o.MinBlock, MaxBlock: o.MaxBlock})
	if err != nil {
		return nil, err
	}
	s := &Recycled{
		store:    o.Store,
		maxKey:   o.MaxKey,
		seriesN:  o.Size,
		exact:    o.Block == 1,
		onBehind: o.OnBehind,
		onBack:   o.OnStoreRollback,
		raise:    o.Raise,
		reached:  map[int64]int64{},
		brought:  map[int64]int64{},
		size:     size,
	}
	s.lease = o.Lease
	s.now, s.patience, s.waited, s.onConn = env.Now, patience(env), waited(env), o.OnConnection
	s.begins()
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// Reserve returns the first of n consecutive integers, which are handed out only once. It
// returns [keysource.ErrCount], [keysource.ErrTooMany] for more than a series has,
// [keysource.ErrExhausted], [keysource.ErrClosed], the errors of the store
// ([keysource.ErrStoreDown], [keysource.ErrStoreState], [keysource.ErrStoreBack],
// [keysource.ErrStoreBehind]), or the context's error if the context ends while the store
// has not failed.
//
// If the source reserves on the statements' connections, Reserve can only return integers
// that are reserved already, and otherwise fails with [keysource.ErrNoConnection].
func (s *Recycled) Reserve(ctx context.Context, n int64) (int64, error) {
	if err := fits(n, s.seriesN); err != nil {
		return 0, err
	}
	if s.onConn {
		return s.ReserveOn(ctx, n, SeriesAt{})
	}
	first, w, err := s.join(n)
	if w == nil {
		return first, err
	}
	return s.await(ctx, w)
}

// fits returns an error if n is less than 1, or more integers than a series of that
// size has.
func fits(n, size int64) error {
	switch {
	case n < 1:
		return keysource.ErrCount
	case n > size:
		return anchor.Endf("%w: it needs %d consecutive integers, and a series has %d: send fewer rows in one statement", keysource.ErrTooMany, n, size)
	}
	return nil
}

// Drop gives up the integers that are reserved or being fetched. A caller uses it when
// it has found one of them in the table. Later keys come from reservations after the
// call.
func (s *Recycled) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discard()
}

// Suspect does what [Recycled.Drop] does, for a source that can ask for the greatest key in
// the table. The series (a range of integers) is then checked again as if another process
// had owned it, and [RecycledOptions].OnBehind applies to keys in it that no source has
// reserved.
func (s *Recycled) Suspect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discard()
	s.suspects++
	s.held, s.greeted = keysource.Series{}, false
}

// discard gives up the integers that are reserved and not handed out. The caller holds mu.
func (s *Recycled) discard() {
	s.hand = nil
	s.drops++
}

// Advance notes that the key to-1 is in use. If it lies in this source's series (a range of
// integers), no lower key of that series is handed out any more. All series that any
// process opens from now on lie above it. Series that other processes hold, or that are
// abandoned, stay as they are. Advance returns [keysource.ErrStoreDown],
// [keysource.ErrStoreState] and [keysource.ErrClosed].
//
// If the source reserves on the statements' connections and would have to ask the
// store, Advance returns [keysource.ErrNoConnection]; see [Recycled.AdvanceOn].
func (s *Recycled) Advance(ctx context.Context, to int64) error {
	if s.onConn {
		return s.AdvanceOn(ctx, to, SeriesAt{})
	}
	if known, err := s.follow(to); known || err != nil {
		return err
	}
	if err := s.store.Advance(ctx, to); err != nil {
		return storeError(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = max(s.end, to) // new series begin at to or above
	return nil
}

// follow gives up the reserved integers that are below to, and reports whether the store is
// known to open no new series below to.
func (s *Recycled) follow(to int64) (known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, keysource.ErrClosed
	}
	if h := s.held; h.First < to && to-1 <= h.Last {
		s.brought[h.First] = max(s.brought[h.First], to)
	}
	for i, r := range s.hand {
		// A run far below to belongs to another series, and keeps its integers.
		if r.first < to && to-r.first <= s.seriesN {
			s.hand[i] = r.from(to)
		}
	}
	s.hand.tidy()
	return to <= s.end, nil
}

// Close gives back the unused part of the block in use, ends the lease and makes requests
// fail with [keysource.ErrClosed]. It waits for a fetch in progress, and for the store,
// until ctx ends. If it fails, with the error of ctx or of the store, the lease runs out by
// its time. It may be called again.
//
// If the source reserves on the statements' connections, Close gives nothing back; see
// [Recycled.CloseOn].
func (s *Recycled) Close(ctx context.Context) error {
	s.mu.Lock()
	f := s.shut()
	s.mu.Unlock()
	if err := f.ended(ctx); err != nil {
		return err
	}
	if s.onConn {
		return nil
	}
	held, to := s.rest()
	if held.First == 0 {
		return nil
	}
	if err := s.store.GiveUp(ctx, held, to); err != nil {
		return storeError(ctx, err)
	}
	return nil
}

// rest takes the series away from the source. It returns the series, and the first of its
// integers from which on no integer was handed out.
func (s *Recycled) rest() (keysource.Series, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, to := s.held, s.held.Next
	for _, r := range s.hand {
		if after(r.first, r.n) == held.Next {
			to = max(r.first, held.First) // the run may begin with integers of the previous series
		}
	}
	s.held, s.hand = keysource.Series{}, nil
	return held, to
}

// RecycledStats is the state of a [Recycled] at one moment.
type RecycledStats struct {
	Next    int64 // the lowest key that is reserved and not handed out; 0 if there is none
	Left    int64 // how many integers are reserved and not handed out
	Series  int64 // the number of the owned series (the range of integers that the source hands out), from 1; 0 if the source owns none
	Room    int64 // how many integers of the series are not reserved
	Taken   int64 // how many abandoned series were taken over
	Opened  int64 // how many new series were opened
	Fetches int64 // how many answers of the store were accepted
	Waits   int64 // how many requests had to wait for the store
	Behind  int64 // how far a key in the table was above the next integer of its series, at most, when that was no error
	Err     error // the error of the last attempt; nil if the store has answered it

	Block     int64 // how many integers the next fetch reserves, unless a statement needs more
	Lease     time.Duration
	LeaseHeld bool      // whether the lease surely lasts
	Until     time.Time // when the lease ends unless it is renewed; zero without a lease
	Fetching  fetching.Fetching
}

// Stats returns the state of the source. It does no I/O.
func (s *Recycled) Stats() RecycledStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := RecycledStats{Taken: s.taken, Opened: s.opened, Fetches: s.fetches, Waits: s.waits, Behind: s.behind, Err: s.fault}
	if st.Err == nil {
		st.Err = s.failure
	}
	for _, r := range s.hand {
		st.Left += r.n
		if st.Next == 0 || r.first < st.Next {
			st.Next = r.first
		}
	}
	if s.held.First > 0 {
		st.Series = (s.held.First-1)/s.seriesN + 1
		st.Room = s.held.Last - s.held.Next + 1
		st.Until = s.sent.Add(s.lease)
	}
	now := s.now()
	st.Block, st.Lease, st.LeaseHeld = s.size.n, s.lease, s.leased(now)
	st.Fetching = s.meter.Fetching(now, st.Left)
	return st
}

// noteOn records in the statistics a claim (an attempt to get integers) that was made on a
// statement's connection.
func (c *claim) noteOn(began time.Time, err error) {
	s := c.src
	now := s.now()
	s.mu.Lock()
	left := s.hand.count()
	s.mu.Unlock()
	s.meter.Note(now, now.Sub(began), c.got.n, left, err)
}
