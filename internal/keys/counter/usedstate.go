package counter

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// ClaimAgain is the pause before another attempt to write a claim (a row that says
// which source fills a column), after a write failed because keyfill's tables were
// missing.
const ClaimAgain = 10 * time.Second

// UsedState records, in the claims of a sequence's columns (the rows that say which
// state fills a column), that the state (stored counter) of the sequence is used: see
// [reserver.NoteUsed]. It is safe for concurrent use; a nil UsedState records nothing.
type UsedState struct {
	row     sequence.Sequence
	columns sync.Map    // the claimed columns, by store.Column.String()
	noted   atomic.Bool // the use is recorded, and no column is pending

	mu      sync.Mutex // guards the next fields, and is held while claims are written
	used    bool
	pending []store.Column // the columns whose claims do not say yet that the stored counter is used
	again   time.Time      // the next attempt must not begin earlier
}

// notePatience is how long the use of a number may take to be recorded, if another
// transaction has locked the claim (a row that says which source fills a column): a
// transaction that itself waits for the caller's transaction would never release the
// lock.
const notePatience = time.Second

// Note records that the stored counter is used. It is called before the caller gets a
// number.
func (u *UsedState) Note(ctx context.Context) {
	if u == nil || u.noted.Load() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used = true
	u.write(ctx)
}

// Claim adds a column that was claimed for the state (stored counter). If the state is
// used already, Claim records that at once: the column may get a number that was
// reserved before.
func (u *UsedState) Claim(ctx context.Context, c store.Column) {
	if u == nil {
		return
	}
	name := c.String()
	if _, done := u.columns.Load(name); done {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, done := u.columns.Load(name); done {
		return // another goroutine has added the column meanwhile
	}
	u.pending = append(u.pending, c)
	u.noted.Store(false)
	if u.used {
		u.write(ctx)
	}
	u.columns.Store(name, true)
}

// write records the use in the claims (the rows that say which source fills a column)
// of the pending columns. If that fails, it is tried again after ClaimAgain; the keys
// are valid without it. The caller holds mu.
func (u *UsedState) write(ctx context.Context) {
	if len(u.pending) > 0 && time.Now().Before(u.again) {
		return
	}
	patient, cancel := context.WithTimeout(ctx, notePatience)
	defer cancel()
	row := u.row
	row.Columns = u.pending
	if !reserver.NoteUsed(patient, row) {
		if ctx.Err() == nil { // if the caller's context has ended, the write itself has not failed, and needs no pause
			u.again = time.Now().Add(ClaimAgain)
		}
		return
	}
	u.pending = nil
	u.noted.Store(true)
}
