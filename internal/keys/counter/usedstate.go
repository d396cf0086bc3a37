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

// ClaimAgain is the pause before a claim is tried again after its write failed, because
// keyfill's tables were missing.
const ClaimAgain = 10 * time.Second

// UsedState records, in the claims of a sequence's columns, that the state of the sequence is
// used: see [reserver.NoteUsed]. It is safe for concurrent use; nil records nothing.
type UsedState struct {
	row     sequence.Sequence
	columns sync.Map    // that are claimed, by store.Column.String()
	noted   atomic.Bool // the state is used, and no column is pending

	mu      sync.Mutex // guards the next fields, and is held while claims are written
	used    bool
	pending []store.Column // whose claims do not say yet that the state is used
	again   time.Time      // not to be tried before that
}

// notePatience is how long a number waits for its use to be recorded, if another transaction
// has locked the claim: one that waits for the caller's transaction never releases it.
const notePatience = time.Second

// Note records a use. It is called before the caller gets the number.
func (u *UsedState) Note(ctx context.Context) {
	if u == nil || u.noted.Load() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used = true
	u.write(ctx)
}

// Claim adds a column that is claimed for the state. If the state is used already, Claim
// records that at once: the column may get a number that was reserved before.
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
		return // meanwhile
	}
	u.pending = append(u.pending, c)
	u.noted.Store(false)
	if u.used {
		u.write(ctx)
	}
	u.columns.Store(name, true)
}

// write records the use for the pending columns. If it fails, it is tried again after
// ClaimAgain; the keys are valid without it. The caller holds mu.
func (u *UsedState) write(ctx context.Context) {
	if len(u.pending) > 0 && time.Now().Before(u.again) {
		return
	}
	patient, cancel := context.WithTimeout(ctx, notePatience)
	defer cancel()
	row := u.row
	row.Columns = u.pending
	if !reserver.NoteUsed(patient, row) {
		if ctx.Err() == nil { // else the caller has given up
			u.again = time.Now().Add(ClaimAgain)
		}
		return
	}
	u.pending = nil
	u.noted.Store(true)
}
