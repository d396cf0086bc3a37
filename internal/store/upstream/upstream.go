// Package upstream gets the integers of a sequence from another store, block by block, and
// keeps one block in reserve. It decides when to fetch a block and when to put it into use.
// It changes the two rows with the blocks by the interface [Rows], which package reserver
// implements over keyfill_sequences and a simulation over its own database.
package upstream

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// Options say where the blocks of a sequence come from. Open has to be set.
type Options struct {
	Store string // the name of the upstream in errors

	// Open returns the state of the upstream. A missing state is an error, unless isNew
	// is set: then it is made, at start. Open does no I/O.
	Open func(start int64, isNew bool) (keysource.Reserver, error)

	// Block is how many integers a block has; 0 lets the number follow the use, so that a
	// block lasts for Lasts, which is a minute where it is 0.
	Block int64
	Lasts time.Duration

	// Max is the last integer, as in [sequence.Sequence].
	Max int64

	// OnStoreRollback is the remedy for an upstream that stands below the blocks that
	// this database has had from it.
	OnStoreRollback keysource.Remedy

	Env keysource.Env
}

const (
	// firstUpstreamBlock is the size of the first block that follows the use, and
	// leastUpstreamBlock of the smallest one.
	firstUpstreamBlock = 1000
	leastUpstreamBlock = 100

	// mostUpstreamBlock bounds such a block, and so does this part of all integers.
	mostUpstreamBlock = 1_000_000_000
	upstreamShare     = 64

	// A block is at most so many times as large as the one before, and not less than a
	// half of it.
	upstreamGrowth = 8

	defaultUpstreamLasts = time.Minute

	// upstreamLooks is how often in a block a process looks whether there is a next one:
	// the process that was to fetch it may have ended.
	upstreamLooks = 8

	// upstreamTries is how often the rows are found changed by others.
	upstreamTries = 20

	upstreamPause = 50 * time.Millisecond
)

// Upstream gets the blocks of one sequence from another store. The next block is fetched
// when the last one that was fetched comes into use, so that the store may be down while
// a block lasts. It has a goroutine while it fetches; Close ends it. It is safe for
// concurrent use and must not be copied.
type Upstream struct {
	o      Options
	blocks *keysource.Sequence // gives the integers of the upstream
	start  atomic.Int64        // where a state begins that is not there
	floor  atomic.Int64        // the end of the blocks that the database is known to have had

	ended context.Context // when it is closed
	close context.CancelFunc

	mu       sync.Mutex // guards the fields below; never held while a store is asked
	known    Level      // as the rows were seen last
	use      blockUse   // of the block in use
	usedUp   blockUse   // of the one before, which a rollback may put into use again
	size     int64      // of the next block; 0 where it is not known yet
	hand     Block      // that was fetched and is not installed yet
	fetching chan struct{}
	failed   error // of the last attempt; nil after a block
	closed   bool
}

// blockUse is where a block stood when it was first seen in use, and when that was.
type blockUse struct {
	from  int64
	since time.Time
}

// New returns an Upstream. It does no I/O.
func New(o Options) (*Upstream, error) {
	o.Max = min(cmp.Or(o.Max, math.MaxInt64), store.MaxReserved)
	o.Lasts = cmp.Or(o.Lasts, defaultUpstreamLasts)
	if o.Env.Now == nil {
		o.Env.Now = time.Now
	}
	u := &Upstream{o: o, size: o.Block}
	u.start.Store(1)
	u.ended, u.close = context.WithCancel(context.Background())
	// Of blocks of 1 nothing is kept: each block is one reservation of its size.
	blocks, err := keysource.NewSequence(keysource.SequenceOptions{
		Reserver: &floored{u: u}, Block: 1, Max: o.Max, OnStoreRollback: o.OnStoreRollback,
	}, o.Env)
	if err != nil {
		return nil, err
	}
	u.blocks = blocks
	return u, nil
}

// Close ends a fetch. It waits for that until ctx ends, and returns the context's error
// then. A block that is not installed yet is a gap.
func (u *Upstream) Close(ctx context.Context) error {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.close()
	err := u.blocks.Close(ctx)
	for err == nil {
		u.mu.Lock()
		fetching := u.fetching
		u.mu.Unlock()
		if fetching == nil {
			return nil
		}
		select {
		case <-fetching:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

// Reserve reserves n integers from the block in use. Where the block has fewer left, it puts
// the next one into use, or waits for the upstream.
func (u *Upstream) Reserve(ctx context.Context, rows Rows, n, seen int64) (keysource.Reservation, error) {
	for range upstreamTries {
		got, err := rows.ReserveRow(ctx, n, seen)
		if err == nil && got.First >= seen {
			u.used(ctx, rows, Block{got.First, got.First + cmp.Or(got.N, n)})
		}
		if err == nil && got.First >= seen || err != nil && !errors.Is(err, keysource.ErrExhausted) {
			return got, err
		}
		l, readErr := rows.ReadLevel(ctx)
		if readErr != nil {
			return got, readErr
		}
		u.note(l)
		if err == nil && l.End() > 0 {
			return got, nil // it has gone back
		}
		// A row that was made again has no block yet, whose integers will be above seen.
		switch left := min(l.End(), u.o.Max+1) - l.Next; {
		case left >= n, left > 0 && !rows.NeedsAll():
			continue // another process has put a block into use
		case l.hasSpare():
			turned, err := rows.Turn(ctx, l)
			if err != nil {
				return keysource.Reservation{}, err
			}
			if turned {
				u.note(l.turned())
				u.next(ctx, rows, l.turned(), n)
			}
			continue
		case l.End() > u.o.Max:
			return got, err
		}
		if err := u.supply(ctx, rows, l, n); err != nil {
			return keysource.Reservation{}, err
		}
	}
	return keysource.Reservation{}, errLevel
}

// errLevel is returned where other processes have changed the rows each time.
var errLevel = anchor.New("contention", "other processes have put each block into use before this one could: take larger blocks by upstream_block or upstream_lasts")

// ErrNoBlock is returned where no block has integers left, and [Rows.MayWait] reports false.
var ErrNoBlock = anchor.New("store-down", "the store that gives the blocks has to be asked first: wait for it, and ask again")

// supply gives the second row a block, if neither row has an integer left.
func (u *Upstream) supply(ctx context.Context, rows Rows, l Level, n int64) error {
	if u.inHand(l) {
		return u.put(ctx, rows)
	}
	done := u.fetch(rows, n)
	if !rows.MayWait() {
		return ErrNoBlock
	}
	return u.await(ctx, done)
}

// await waits for an attempt to fetch a block.
func (u *Upstream) await(ctx context.Context, done <-chan struct{}) error {
	if done == nil {
		return keysource.ErrClosed
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	u.mu.Lock()
	failed := u.failed
	u.mu.Unlock()
	err := ctx.Err()
	switch {
	case failed != nil:
		return u.empty(failed)
	case err != nil && u.Stats().Err != nil:
		// The upstream has failed, and is still being asked.
		return u.empty(anchor.Errorf("store-down", "%w: %w", keysource.ErrStoreDown, err))
	case err != nil:
		return u.empty(err)
	}
	return nil
}

// Await waits for a block after [ErrNoBlock].
func (u *Upstream) Await(ctx context.Context) error {
	u.mu.Lock()
	fetching, ready := u.fetching, u.hand.End > 0
	u.mu.Unlock()
	if fetching == nil && ready {
		return nil
	}
	if fetching == nil { // it has ended meanwhile, with or without a block
		ended := make(chan struct{})
		close(ended)
		fetching = ended
	}
	return u.await(ctx, fetching)
}

// used records that integers of the block in use were reserved, and gets the next block if
// that is due.
func (u *Upstream) used(ctx context.Context, rows Rows, b Block) {
	u.mu.Lock()
	u.known.Next = max(u.known.Next, b.End)
	known := u.known.End() == rows.BlockEnd()
	// On a connection of the application the block that was installed may have been rolled
	// back.
	lacks := !u.known.hasSpare() || !rows.IsOurs() && u.passes(b)
	look := !known || lacks && (u.hand.End > 0 || u.fetching == nil && u.passes(b))
	u.mu.Unlock()
	if !look {
		return
	}
	l, err := rows.ReadLevel(ctx)
	if err != nil {
		return // the integers are good, and the next call that needs a block returns the error
	}
	u.note(l)
	if !l.hasSpare() && known {
		u.next(ctx, rows, l, 1)
	}
}

// passes reports whether a reservation passes one of the points of a block at which a
// process looks for the next block. Each reservation is another process's, so that one of
// them looks at each point. The caller holds mu, as for the functions below.
func (u *Upstream) passes(b Block) bool {
	first := cmp.Or(u.known.first(), u.use.from)
	step := max((u.known.End()-first)/upstreamLooks, 1)
	return (b.First-first)/step != (b.End-first)/step
}

// note records the state of the rows.
func (u *Upstream) note(l Level) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if l.End() != u.known.End() {
		if l.End() > u.known.End() {
			u.adapt(l)
			u.usedUp, u.use = u.use, blockUse{l.Next, u.o.Env.Now()}
		} else { // a rollback has put the block before into use again
			u.use = u.usedUp
		}
	}
	u.known = l
	for {
		floor := u.floor.Load()
		if l.given() <= floor || u.floor.CompareAndSwap(floor, l.given()) {
			return
		}
	}
}

// adapt sets the size of the next block, when a level shows another block in use than was
// known. It looks at how fast the last one was used; a clock that was set back says
// nothing. The first time it is the size of the block that was there.
func (u *Upstream) adapt(l Level) {
	if u.o.Block > 0 {
		return
	}
	used, took := u.known.End()-u.use.from, u.o.Env.Now().Sub(u.use.since)
	switch {
	case u.size == 0 && l.SpareEnd() > 0:
		u.size = l.SpareEnd() - l.SpareFirst
	case u.size == 0, u.known.End() == 0 || took < 0 || used < 1:
		u.size = cmp.Or(u.size, firstUpstreamBlock)
	default:
		want := float64(used) * u.o.Lasts.Seconds() / max(took, time.Millisecond).Seconds()
		u.size = int64(min(max(want, float64(u.size)/2), float64(u.size)*upstreamGrowth))
	}
	u.size = min(max(u.size, leastUpstreamBlock), u.most())
}

// most is the size of the largest block that follows the use.
func (u *Upstream) most() int64 { return max(min(mostUpstreamBlock, u.o.Max/upstreamShare), 1) }

// inHand reports whether there is a block that may be installed into rows that stand at l.
// A block below the blocks that the rows have had would break their order: another process
// has fetched a later one and has installed it first. It is a gap.
func (u *Upstream) inHand(l Level) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hand.First < l.given() {
		u.hand = Block{}
	}
	return u.hand.End > 0
}

// take removes and returns the block in hand.
func (u *Upstream) take() Block {
	u.mu.Lock()
	defer u.mu.Unlock()
	b := u.hand
	u.hand = Block{}
	return b
}

// put installs the block in hand where the second row has none. A block whose UPDATE was
// sent is never sent again, whatever the answer was: database/sql may have sent it twice.
func (u *Upstream) put(ctx context.Context, rows Rows) error {
	for range upstreamTries {
		l, err := rows.ReadLevel(ctx)
		if err != nil {
			return err
		}
		u.note(l)
		if l.hasSpare() || !u.inHand(l) {
			return nil
		}
		if l.Spare == "" {
			if _, err := rows.Install(ctx, l, Block{}); err != nil { // it makes the row
				return err
			}
			continue
		}
		b := u.take()
		if b.End == 0 {
			return nil
		}
		installed, err := rows.Install(ctx, l, b)
		if err == nil && installed {
			u.note(l.installed(b))
		}
		return err
	}
	return errLevel
}

// empty returns the error of a sequence without an integer.
func (u *Upstream) empty(cause error) error { return &Error{Store: u.o.Store, cause: cause} }

// Error is returned when the blocks of a sequence are used up and its upstream has
// given no other one. It wraps the error of the upstream, and [keysource.ErrStoreState]
// where asking again does not help.
type Error struct {
	Store string // the name of the upstream in the policy
	cause error
}

func (e *Error) Error() string {
	return "the block that the application's database had is used up, and the store \"" + e.Store + "\" gives no other one: " + anchor.Plain(e.cause.Error())
}

// Unwrap returns the causes.
func (e *Error) Unwrap() []error {
	for _, passing := range []error{keysource.ErrStoreDown, keysource.ErrExhausted, keysource.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.cause, passing) {
			return []error{e.cause}
		}
	}
	return []error{e.cause, keysource.ErrStoreState}
}
