package counting

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/keysource"
)

// SequenceOptions configures how a [Sequence] counts. Only Reserver has to be set, or
// OnConnection instead.
type SequenceOptions struct {
	Reserver keysource.Reserver

	// OnConnection makes a source without a store connection and without a goroutine:
	// it reserves on the connection of each statement, see [Sequence.ReserveOn].
	// Reserver and MaxKey must then be nil.
	OnConnection bool

	// Block is how many integers are reserved at a time. Zero lets the number follow
	// the use, see [Sequence]. A statement that needs more gets a multiple of Block.
	// With 1, only integers for waiting requests are reserved, and none are kept but
	// the last ones up to Max: the keys of all processes are in the order of time, and
	// each statement waits for the store.
	Block int64
	// MinBlock and MaxBlock bound how many integers are reserved at a time if Block is
	// zero. Zero means 10 and 1,000,000.
	MinBlock, MaxBlock int64

	// Max is the last integer, such as 2³¹−1 or 2⁵³−1; zero means 2⁶³−1. The first
	// integer is 1, or the store's counter.
	Max int64

	// EndRemedy is the remedy that the text of [keysource.ErrExhausted] names when all
	// integers are used. Empty means a wider column. The function [keysource.EndRemedy]
	// returns the remedy for a [keysource.Mapping].
	EndRemedy string

	// MaxKey returns the greatest key in the table, or 0 if the table is empty. It is
	// called before the first key is handed out, and when the store may have gone back (its
	// counter is lower than before). It is nil if no index can find that key; then nothing
	// is compared.
	MaxKey func(context.Context) (int64, error)
	// OnBehind is what to do if the store's counter is below the key that MaxKey returns at
	// the first request.
	OnBehind keysource.Remedy
	// OnStoreRollback is what to do if the store's counter is found lower than before, as
	// after a restore.
	OnStoreRollback keysource.Remedy

	// Warn is called when the store's counter is below MaxKey and the source goes on by
	// RemedyWarn. It may be nil, and it may ask the store.
	Warn func(context.Context)
	// Raise returns the command that raises the store's counter to the number to, which the
	// texts of [keysource.ErrStoreBehind] and [keysource.ErrStoreBack] then name. If it is
	// nil, the texts advise to raise the counter by hand or to let it advance.
	Raise func(to int64) string
}

// Sequence counts through a store that other processes share. It reserves blocks of
// consecutive integers, each in a transaction of its own, and hands them out in
// ascending order: the keys of one request are consecutive, and a key that is asked for
// after another one has been returned is greater. Integers that are reserved and not
// used, because a process ended or a statement needed more than were left, are a gap.
//
// # Fetching
//
// The next block is fetched when a quarter of the one in hand is used. One fetch is in
// flight however many requests wait. It belongs to no single request, so a request that
// is given up fails no other one. Requests that wait at the same time are reserved
// together.
//
// Where [SequenceOptions].Block is 0 the first block has 100 integers. Each time
// a block was used up within ten seconds, the next one to be fetched has twice
// as many, and half as many when it took more than twenty.
//
// # When the store is down
//
// While the store is down, the reserved integers are handed out. After that a request waits
// until its context ends, or for ten seconds, and gets [keysource.ErrStoreDown]. The store
// is asked again at intervals that grow from 50 milliseconds to one second; so a store that
// works again is noticed within two seconds. A fetch that gets no answer at all is given up
// after one second, then after two, four and eight; it is back at one when answers are fast
// again. Where [keysource.Env].StoreWait is longer than ten seconds the first limit is a
// tenth of it, eight seconds at most. A store may have reserved integers for a fetch that
// was given up; they are a gap.
//
// # When the store goes back
//
// A store that was restored from a copy, or whose last commits were lost when a replica
// took over, would give the same integers again. Every fetch sends the end of the integers
// that the store has given; when the answer is less, or is another server's, the integers
// in hand are given up, [SequenceOptions].MaxKey is asked, and then the store once more.
// If the store stands below the keys in use, it is advanced, or requests fail with
// [keysource.ErrStoreBack] until it has been set right. Meanwhile it is asked at most once
// a second, when there is a request. With [keysource.RemedyWarn] the source hands out the
// store's integers, and compares them with the greatest key only to call Warn of the
// options.
//
// The integers of the lost part that other processes hold, or that this one has handed
// out before its next fetch, cannot be found: with asynchronous replication the primary
// key is the last guard.
//
// # On the statements' connections
//
// With [SequenceOptions].OnConnection nothing is fetched ahead: [Sequence.ReserveOn]
// reserves on the connection that it is given, and that connection decides how long to
// wait for a store that is down.
//
// A Sequence has a goroutine while it fetches; Close ends it. On the statements'
// connections it has none.
type Sequence struct {
	stock // the integers that are reserved and not handed out

	reserver keysource.Reserver
	maxKey   func(context.Context) (int64, error)
	exact    bool // Block is 1: until the store has no more, each request asks it, and no integers are kept for later requests
	onBehind keysource.Remedy
	onBack   keysource.Remedy
	warn     func(context.Context) // never nil
	raise    func(to int64) string // may be nil, see SequenceOptions

	fetcher // its mu guards the fields below, and stock

	bounds
	server  string // the server that answered last
	greeted bool   // an answer was accepted, so the first comparison with the table is done
	spent   bool   // the store has no more integers up to Max
	suspect bool   // a key was found in use, so the store is compared with the table again

	attempts, fetches, behind int64
}

// NewSequence returns a source that counts through o.Reserver. It does no I/O: the
// first request does. Of env it does not use Rand; it uses the clock to measure how
// long blocks and answers take. Its error wraps [keysource.ErrOptions].
func NewSequence(o SequenceOptions, env keysource.Env) (*Sequence, error) {
	if o.Max == 0 {
		o.Max = math.MaxInt64
	}
	size, err := newBlockSize(o)
	switch {
	case err != nil:
		return nil, err
	case o.OnConnection && (o.Reserver != nil || o.MaxKey != nil):
		return nil, anchor.Endf("%w: a sequence on the statements' connections is given a store", keysource.ErrOptions)
	case !o.OnConnection && o.Reserver == nil:
		return nil, anchor.Endf("%w: a sequence needs a store", keysource.ErrOptions)
	case o.Max < 1:
		return nil, anchor.Endf("%w: the last integer, %d, is less than 1", keysource.ErrOptions, o.Max)
	case !slices.Contains([]keysource.Remedy{"", keysource.RemedyError, keysource.RemedyAdvance, keysource.RemedyWarn}, o.OnBehind):
		return nil, anchor.Endf("%w: no remedy for a store below the table's keys: %q", keysource.ErrOptions, o.OnBehind)
	case !slices.Contains([]keysource.Remedy{"", keysource.RemedyError, keysource.RemedyAdvance, keysource.RemedyWarn}, o.OnStoreRollback),
		o.OnStoreRollback == keysource.RemedyWarn && o.OnConnection:
		return nil, anchor.Endf("%w: no remedy for a store that has gone back: %q", keysource.ErrOptions, o.OnStoreRollback)
	}
	s := &Sequence{
		reserver: o.Reserver,
		maxKey:   greatest(o.MaxKey),
		exact:    o.Block == 1,
		onBehind: o.OnBehind,
		onBack:   o.OnStoreRollback,
		warn:     o.Warn,
		raise:    o.Raise,
	}
	if s.warn == nil {
		s.warn = func(context.Context) {}
	}
	s.max, s.atEnd = o.Max, cmp.Or(o.EndRemedy, "a wider column and max_bits")
	s.now, s.patience, s.waited, s.onConn = env.Now, patience(env), waited(env), o.OnConnection
	s.begins()
	if s.now == nil {
		s.now = time.Now
	}
	s.size, s.clock = size, s.now
	s.current.Store(new(block))
	return s, nil
}

// Next returns r.N consecutive integers in ascending order: int64 in the empty layout,
// decimal text in [dialect.SequentialAsString]. For any other layout it returns
// [keysource.ErrLayout]. It also returns the errors of [Sequence.Reserve].
func (s *Sequence) Next(ctx context.Context, r keysource.Request) ([]driver.Value, error) {
	return s.Append(ctx, nil, r)
}

// Append is like Next, but appends the keys to room; see [keysource.Source].
func (s *Sequence) Append(ctx context.Context, room []driver.Value, r keysource.Request) ([]driver.Value, error) {
	if r.Layout != "" && r.Layout != dialect.SequentialAsString {
		return room, keysource.ErrLayout
	}
	first, err := s.Reserve(ctx, int64(r.N))
	if err != nil {
		return room, err
	}
	return boxing.AppendIntegers(room, first, r.N, r.Layout), nil
}

// Reserve returns the first of n consecutive integers, which are handed out only once. It
// returns [keysource.ErrCount], [keysource.ErrExhausted], [keysource.ErrClosed], the
// errors of the store ([keysource.ErrStoreDown], [keysource.ErrStoreState],
// [keysource.ErrStoreBack], [keysource.ErrStoreBehind]), or the context's error if the
// context ends while the store has not failed.
//
// If the source reserves on the statements' connections, Reserve can only return integers
// that are reserved already, and otherwise fails with [keysource.ErrNoConnection].
func (s *Sequence) Reserve(ctx context.Context, n int64) (int64, error) {
	if n < 1 {
		return 0, keysource.ErrCount
	}
	if s.onConn {
		return s.ReserveOn(ctx, n, At{})
	}
	if first, ok := s.Take(n); ok {
		return first, nil
	}
	first, w, err := s.join(n)
	if w == nil {
		return first, err
	}
	return s.await(ctx, w)
}

// Take returns the first of n ≥ 1 consecutive integers of the block in use. It returns
// false if [Sequence.Reserve] might have to wait for the store.
func (s *Sequence) Take(n int64) (first int64, ok bool) {
	b := s.current.Load()
	used, ok := b.take(n)
	if !ok {
		return 0, false
	}
	if used < b.mark && used+n >= b.mark {
		// Exactly one request of each block passes its mark, after a quarter of the
		// block, and starts the next fetch.
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refill()
	}
	return b.first + used, true
}

// Traits returns that keys are integers, ordered, and consecutive in a request.
func (s *Sequence) Traits() keysource.Traits {
	return keysource.Traits{Ordered: true, Contiguous: true, Integer: true}
}

// Drop gives up the integers that are reserved or being fetched. A caller uses it when
// it has found one of them in the table. Later keys come from a block that is reserved
// after the call.
func (s *Sequence) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUp()
	if s.fetch != nil {
		s.fetch.void = true
	}
}

// Suspect does what [Sequence.Drop] does, for a source whose greatest key can be asked
// for: the next block is compared with that key as the first block was, and
// [SequenceOptions].OnBehind applies if the store's counter is below it. Without
// Suspect, if another program has filled the column up to some key, every block below
// that key would fail.
func (s *Sequence) Suspect() {
	s.mu.Lock()
	s.suspect = true
	s.mu.Unlock()
	s.Drop()
}

// giveUp drops the integers that are reserved and not handed out: they may be in use. The
// caller holds mu, as for discard.
func (s *Sequence) giveUp() {
	s.drops++
	s.discard()
}

// Advance ensures that this source hands out no key below to from now on, and that
// other processes get no block below to; the blocks that they hold already stay. It
// asks the store only if the store's counter may be below to, and only once; if that
// fails, the next fetch advances the counter. It returns [keysource.ErrStoreDown],
// [keysource.ErrStoreState] and [keysource.ErrClosed].
//
// It is called after the application's row with the key was inserted, so that a refused
// row changes nothing. A process that starts in between finds the store's counter below
// the table's keys, and applies [SequenceOptions].OnBehind.
//
// If the source reserves on the statements' connections and would have to ask the
// store, Advance returns [keysource.ErrNoConnection]; see [Sequence.AdvanceOn].
func (s *Sequence) Advance(ctx context.Context, to int64) error {
	if s.onConn {
		return s.AdvanceOn(ctx, to, At{})
	}
	if known, err := s.follow(to); known || err != nil {
		return err
	}
	switch err := s.reserver.Advance(ctx, to); {
	case errors.Is(err, keysource.ErrStoreState):
		return err
	case err != nil:
		return down(ctx.Err(), err)
	}
	s.mu.Lock()
	s.seen = max(s.seen, to)
	s.mu.Unlock()
	return nil
}

// follow ensures that this source hands out no key below to from now on, and reports
// whether the store's counter is known to be as high.
func (s *Sequence) follow(to int64) (known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to > s.least {
		s.least = to
		s.skip(to)
		s.refill()
	}
	if s.closed {
		return false, keysource.ErrClosed
	}
	return to <= s.seen, nil
}

// Close ends the fetch in progress, gives up the reserved integers and makes requests fail
// with [keysource.ErrClosed]. It waits for the fetch until ctx ends, and then returns the
// context's error. It may be called again.
func (s *Sequence) Close(ctx context.Context) error {
	s.mu.Lock()
	s.giveUp()
	f := s.shut()
	s.mu.Unlock()
	return f.ended(ctx)
}
