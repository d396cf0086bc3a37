// Package upstream gets the integers of a sequence from another store, block by block (a
// block is a range of integers), and keeps one block in reserve. It decides when to fetch a
// block and when to put it into use. It changes the rows with the block in use and the next
// block through the interface [Rows], which package reserver implements over
// keyfill_sequences and a simulation over its own database.
package upstream

//row:changes | how a sequence gets blocks from another store | `internal/store/upstream`; `internal/store/reserver/blockrows.go` changes the rows; `internal/keys/counter/upstream.go`

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// Options say where the blocks of a sequence come from. Open must be set.
type Options struct {
	Store string // the name of the upstream in errors

	// Open returns a Reserver of the upstream's state (its stored counter). A missing
	// state is an error, unless isNew is set: then it is made, at start. Open does no I/O.
	Open func(start int64, isNew bool) (keysource.Reserver, error)

	// Block is how many integers a block has. If it is zero, the number follows the use, so
	// that a block lasts for Lasts; a Lasts of zero means a minute.
	Block int64
	Lasts time.Duration

	// Max is the last integer, as in a [sequence.Sequence].
	Max int64

	// OnStoreRollback is the remedy for an upstream store whose next integer is below the
	// blocks of integers that this database has had from it.
	OnStoreRollback keysource.Remedy

	Env keysource.Env
}

const (
	// firstUpstreamBlock is the size of the first block of integers if the size follows
	// the use, and leastUpstreamBlock is the smallest size.
	firstUpstreamBlock = 1000
	leastUpstreamBlock = 100

	// mostUpstreamBlock is the largest size of a block of integers that follows the use; a
	// block also has at most 1/upstreamShare of all integers.
	mostUpstreamBlock = 1_000_000_000
	upstreamShare     = 64

	// A block is at most upstreamGrowth times as large as the block of integers before it,
	// and at least half as large.
	upstreamGrowth = 8

	defaultUpstreamLasts = time.Minute

	// upstreamLooks is how often, during one block, a process checks whether there is a
	// next block of integers: the process that was to fetch it may have ended.
	upstreamLooks = 8

	// upstreamTries is how often a call tries again after other processes have changed the
	// rows with the blocks.
	upstreamTries = 20

	upstreamPause = 50 * time.Millisecond
)

// Upstream gets the blocks of one sequence from another store. It fetches the next
// block of integers when the last one that was fetched comes into use, so that the
// store may be down while a block lasts. It has a goroutine while it fetches; Close
// ends it. It is safe for concurrent use and must not be copied.
type Upstream struct {
	o      Options
	blocks *counting.Sequence // reserves the integers of the upstream
	start  atomic.Int64       // where the upstream's stored counter begins if it does not exist
	floor  atomic.Int64       // the end of the blocks that the database is known to have had

	ended context.Context // canceled by Close
	close context.CancelFunc

	mu       sync.Mutex // guards the fields below; never held while a store is queried
	known    Level      // the rows as they were last read
	use      blockUse   // how the block in use began
	usedUp   blockUse   // how the previous block began, which a rollback may put into use again
	size     int64      // the size of the next block; 0 if it is not known yet
	hand     Block      // the block that was fetched and is not installed yet
	fetching chan struct{}
	failed   error // the error of the last attempt; nil after a block
	closed   bool
}

// blockUse holds the next integer of a block of integers when the block was first seen in
// use, and the time at which it was seen.
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
	// With Block 1 the sequence keeps no integers: each block of the upstream is one
	// reservation of as many integers.
	blocks, err := counting.NewSequence(counting.SequenceOptions{
		Reserver: &floored{u: u}, Block: 1, Max: o.Max, OnStoreRollback: o.OnStoreRollback,
	}, o.Env)
	if err != nil {
		return nil, err
	}
	u.blocks = blocks
	return u, nil
}

// Close cancels a running fetch and waits until it has ended. If ctx ends first, Close
// returns the context's error. A block that is not installed yet is a gap.
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

// Reserve reserves n integers from the block of integers in use. If the block has fewer
// left, it puts the next one into use, or waits for the upstream store.
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
			return got, nil // the row has gone back (its number is lower than before)
		}
		// A row that was made again has no block of integers yet; the integers of its block
		// will be above seen.
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

// errLevel is returned if other processes have changed the rows with the blocks at each
// try.
var errLevel = anchor.New("contention", "other processes used each block before this process could: take larger blocks by upstream_block or upstream_lasts")

// ErrNoBlock is returned if all blocks of integers are used up and [Rows.MayWait]
// returns false.
var ErrNoBlock = anchor.New("store-down", "keyfill has to fetch a block from the upstream store first: wait, and ask again")

// supply writes a block of integers into the second row (the row with the next block), when
// neither row of the sequence has an integer left.
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

// await waits until an attempt to fetch a block of integers ends.
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
		// The upstream has failed, and is asked again.
		return u.empty(anchor.Errorf("store-down", "%w: %w", keysource.ErrStoreDown, err))
	case err != nil:
		return u.empty(err)
	}
	return nil
}

// Await waits for a block of integers, for a caller that got [ErrNoBlock].
func (u *Upstream) Await(ctx context.Context) error {
	u.mu.Lock()
	fetching, ready := u.fetching, u.hand.End > 0
	u.mu.Unlock()
	if fetching == nil && ready {
		return nil
	}
	if fetching == nil { // the attempt has ended meanwhile, with or without a block
		ended := make(chan struct{})
		close(ended)
		fetching = ended
	}
	return u.await(ctx, fetching)
}

// used records that integers of the block in use were reserved, and fetches or installs
// the next block if it is time.
func (u *Upstream) used(ctx context.Context, rows Rows, b Block) {
	u.mu.Lock()
	u.known.Next = max(u.known.Next, b.End)
	known := u.known.End() == rows.BlockEnd()
	// On a connection of the application a rollback may have removed the block of integers
	// that was installed.
	lacks := !u.known.hasSpare() || !rows.IsOurs() && u.passes(b)
	look := !known || lacks && (u.hand.End > 0 || u.fetching == nil && u.passes(b))
	u.mu.Unlock()
	if !look {
		return
	}
	l, err := rows.ReadLevel(ctx)
	if err != nil {
		return // the reserved integers are valid, and the next call that needs a block returns the error
	}
	u.note(l)
	if !l.hasSpare() && known {
		u.next(ctx, rows, l, 1)
	}
}

// passes reports whether a reservation passes one of the points of a block of integers
// at which a process checks for the next block. Only one process reserves the integers
// at each point, so only one process checks there. The caller holds mu, as for the
// functions below.
func (u *Upstream) passes(b Block) bool {
	first := cmp.Or(u.known.first(), u.use.from)
	step := max((u.known.End()-first)/upstreamLooks, 1)
	return (b.First-first)/step != (b.End-first)/step
}

// note records a level: what the rows with the block in use and the next block hold now.
func (u *Upstream) note(l Level) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if l.End() != u.known.End() {
		if l.End() > u.known.End() {
			u.adapt(l)
			u.usedUp, u.use = u.use, blockUse{l.Next, u.o.Env.Now()}
		} else { // a rollback has put the previous block into use again
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

// adapt sets the size of the next block of integers, when the rows have another block
// in use than was known. It computes the size from how fast the last block was used; if
// the clock was set back, the size stays. The first time, it takes the size of the
// block in the second row.
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

// most returns the size of the largest block of integers that follows the use.
func (u *Upstream) most() int64 { return max(min(mostUpstreamBlock, u.o.Max/upstreamShare), 1) }

// inHand reports whether this process holds a fetched block of integers that may be
// installed as the next block. l is what the rows of the sequence hold. A block below the
// blocks that the rows have had would break their order, since another process has fetched
// a later block and installed it first. Such a block is discarded, and is a gap.
func (u *Upstream) inHand(l Level) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hand.First < l.given() {
		u.hand = Block{}
	}
	return u.hand.End > 0
}

// take removes and returns the fetched block of integers that this process holds.
func (u *Upstream) take() Block {
	u.mu.Lock()
	defer u.mu.Unlock()
	b := u.hand
	u.hand = Block{}
	return b
}

// put installs the fetched block in the second row (the row with the next block), if that
// row has no block. A block whose UPDATE was sent is never sent again, whatever the answer
// was: database/sql may have sent it twice.
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
			if _, err := rows.Install(ctx, l, Block{}); err != nil { // an empty block makes the row
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

// empty returns the error of a sequence that has no integer left.
func (u *Upstream) empty(cause error) error { return &Error{Store: u.o.Store, cause: cause} }

// Error is returned when the blocks of a sequence are used up and its upstream store
// gives no other block of integers. It wraps the error of the upstream, and
// [keysource.ErrStoreState] if asking again does not help.
type Error struct {
	Store string // the name of the upstream in the policy
	cause error
}

func (e *Error) Error() string {
	return "the block that the application's database had is used up, and the store \"" + e.Store + "\" gives no other one: " + anchor.Plain(e.cause.Error())
}

// Unwrap returns the cause, and keysource.ErrStoreState if asking again does not help.
func (e *Error) Unwrap() []error {
	for _, passing := range []error{keysource.ErrStoreDown, keysource.ErrExhausted, keysource.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.cause, passing) {
			return []error{e.cause}
		}
	}
	return []error{e.cause, keysource.ErrStoreState}
}
