package keys

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// claimAgain is the pause before a claim is tried again whose write has failed, since
// keyfill's tables were not there.
const claimAgain = 10 * time.Second

// usedState records, in the claims of a sequence's columns, that the state of the sequence is
// used: see [reserver.NoteUsed]. It is safe for concurrent use; nil records nothing.
type usedState struct {
	row     sequence.Sequence
	columns sync.Map    // that are claimed, by store.Column.String()
	noted   atomic.Bool // the state is used, and no column is pending

	mu      sync.Mutex // guards what follows, and is held while that is written
	used    bool
	pending []store.Column // whose claims do not say yet that the state is used
	again   time.Time      // not to be tried before that
}

// notePatience is how long a number waits for its use to be recorded, if another transaction
// has locked the claim: one that waits for the caller's transaction never releases it.
const notePatience = time.Second

// note records a use. It is called before the caller gets the number.
func (u *usedState) note(ctx context.Context) {
	if u == nil || u.noted.Load() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used = true
	u.write(ctx)
}

// claim adds a column that is claimed for the state. If the state is used already, claim
// records that at once: the column may get a number that was reserved before.
func (u *usedState) claim(ctx context.Context, c store.Column) {
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
// claimAgain; the keys are valid without it. The caller holds mu.
func (u *usedState) write(ctx context.Context) {
	if len(u.pending) > 0 && time.Now().Before(u.again) {
		return
	}
	patient, cancel := context.WithTimeout(ctx, notePatience)
	defer cancel()
	row := u.row
	row.Columns = u.pending
	if !reserver.NoteUsed(patient, row) {
		if ctx.Err() == nil { // else the caller has given up
			u.again = time.Now().Add(claimAgain)
		}
		return
	}
	u.pending = nil
	u.noted.Store(true)
}
