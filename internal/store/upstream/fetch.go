package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

const (
	// putLimit is how long it may take to install a block of integers that was fetched
	// beforehand.
	putLimit = 8 * time.Second

	// advanceLimit is how long it may take to raise the upstream store: on a connection
	// that was cut no answer ever comes.
	advanceLimit = 4 * time.Second
)

// next installs the fetched block of integers that this process holds, or begins to
// fetch one.
func (u *Upstream) next(ctx context.Context, rows Rows, l Level, n int64) {
	if u.inHand(l) {
		_ = u.put(ctx, rows) // the next call that needs a block returns the error
		return
	}
	u.fetch(rows, n)
}

// fetch begins to fetch a block of at least n integers, unless one is being fetched. It
// returns a channel that is closed when the running attempt ends, or nil after Close.
func (u *Upstream) fetch(rows Rows, n int64) <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return nil
	case u.fetching != nil:
		return u.fetching
	}
	u.fetching = make(chan struct{})
	u.start.Store(max(u.known.Next, 1))
	size := cmp.Or(u.size, min(firstUpstreamBlock, u.most())) // nothing is known of the use at first
	go u.run(rows, max(size, n, 1))
	return u.fetching
}

// run fetches one block; it is a goroutine of its own. It goes on trying while the
// upstream store is down.
func (u *Upstream) run(rows Rows, size int64) {
	for {
		b, err := u.block(size)
		u.mu.Lock()
		if u.failed = err; err == nil {
			u.hand = b
		}
		u.mu.Unlock()
		if err == nil && rows.IsOurs() {
			u.putSoon(rows)
		}
		u.mu.Lock()
		done, again := u.fetching, errors.Is(err, keysource.ErrStoreDown) && !u.closed
		u.fetching = nil
		if again {
			u.fetching = make(chan struct{})
		}
		u.mu.Unlock()
		close(done)
		if !again {
			return
		}
		select {
		case <-u.ended.Done():
		case <-time.After(upstreamPause):
		}
	}
}

// putSoon installs a block of integers that was fetched beforehand. If that fails, the
// block is a gap, or the next reservation tries to install it and returns the error.
func (u *Upstream) putSoon(rows Rows) {
	ctx, cancel := context.WithTimeout(u.ended, putLimit)
	defer cancel()
	_ = u.put(ctx, rows)
}

// block asks the upstream store for a block of size integers, or of as many as it has
// left.
func (u *Upstream) block(size int64) (Block, error) {
	u.mu.Lock()
	l := u.known
	u.mu.Unlock()
	if l.Next > max(l.given(), 1) {
		// The row was raised above its blocks of integers, so the upstream store must not
		// give lower integers. If raising the upstream store fails here, the reservation
		// raises it first.
		ctx, cancel := context.WithTimeout(u.ended, advanceLimit)
		_ = u.blocks.Advance(ctx, l.Next)
		cancel()
	}
	for n := size; ; n /= 2 {
		first, err := u.blocks.Reserve(u.ended, n)
		if err == nil {
			return Block{first, first + n}, nil
		}
		if !errors.Is(err, keysource.ErrExhausted) || n == 1 {
			return Block{}, err
		}
	}
}

// Advance raises the next value of the row. It first raises the upstream store, unless
// the blocks of the row reach as far.
func (u *Upstream) Advance(ctx context.Context, rows Rows, to int64) error {
	l, err := rows.ReadLevel(ctx)
	if err != nil {
		return err
	}
	u.note(l)
	if to > l.given() {
		u.start.CompareAndSwap(1, max(to, 1))
		if err := u.blocks.Advance(ctx, to); err != nil {
			return u.unreached(err)
		}
	}
	return rows.Raise(ctx, to)
}

// unreached returns the error for an upstream store whose counter could not be raised above
// an explicit key, because of cause.
func (u *Upstream) unreached(cause error) error {
	return anchor.Errorf("store-down", "the store %q, which gives the blocks, is not raised above the key (%w): insert again when it answers", u.o.Store, cause)
}

// floored reserves from the state of the upstream store (its stored counter), and
// refuses integers below the blocks of integers that the database has had from it.
type floored struct {
	u *Upstream

	mu          sync.Mutex
	first, next keysource.Reserver // before the database has had a block, and after that
}

// state returns the state (stored counter) of the upstream store. If it does not exist,
// it is made only for a database that has had no block of integers yet: once blocks
// were given, other databases may hold blocks of the lost state, which nothing lists.
func (f *floored) state() (r keysource.Reserver, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, isNew := &f.next, f.u.floor.Load() == 0
	if isNew {
		known = &f.first
	}
	if *known == nil {
		if *known, err = f.u.o.Open(f.u.start.Load(), isNew); err != nil {
			return nil, err
		}
	}
	return *known, nil
}

func (f *floored) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	r, err := f.state()
	if err != nil {
		return keysource.Reservation{}, err
	}
	floor := f.u.floor.Load()
	got, err := r.Reserve(ctx, n, max(seen, floor))
	if err != nil || got.First >= floor {
		return got, err
	}
	if f.u.o.OnStoreRollback != keysource.RemedyAdvance {
		return keysource.Reservation{}, &backError{got.First, floor}
	}
	if err := r.Advance(ctx, floor); err != nil {
		return keysource.Reservation{}, err
	}
	return r.Reserve(ctx, n, max(seen, floor))
}

func (f *floored) Advance(ctx context.Context, to int64) error {
	r, err := f.state()
	if err != nil {
		return err
	}
	return r.Advance(ctx, to)
}

// backError is returned when the next integer of the upstream store is below the blocks
// of integers that the database has had from it.
type backError struct{ at, floor int64 }

func (e *backError) Error() string {
	return fmt.Sprintf("%s: it stands at %d, and blocks below %d were taken from it: raise it above the blocks of all databases that it serves",
		anchor.Plain(keysource.ErrStoreBack.Error()), e.at, e.floor)
}

// Unwrap returns the sentinels of keysource that the error stands for.
func (e *backError) Unwrap() []error {
	return []error{keysource.ErrStoreBack, keysource.ErrStoreState}
}

// Stats describes an [Upstream] at one moment.
type Stats struct {
	Left    int64 // how many integers the rows had left when this process last read them
	Block   int64 // how many integers the next block has; 0 if that is not known yet
	Fetches int64 // how many blocks this process has fetched
	Errors  int64 // how many attempts of this process have failed
	Err     error // the error of the last attempt; nil after a block
}

// Stats returns the present figures of the upstream store. It does no I/O.
func (u *Upstream) Stats() Stats {
	u.mu.Lock()
	st := Stats{Left: u.known.left(), Block: u.size, Err: u.failed}
	u.mu.Unlock()
	from := u.blocks.Stats()
	st.Fetches, st.Errors = int64(from.Fetching.Fetches), int64(from.Fetching.Errors)
	st.Err = cmp.Or(from.Err, st.Err)
	return st
}
