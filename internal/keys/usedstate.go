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

// claimAgain is the pause before a claim is tried again that could not be written, since
// the tables of states were not there.
const claimAgain = 10 * time.Second

// usedState notes the use of the state of a sequence where its columns are claimed: see
// [store.NoteUsed]. It is safe for concurrent use; nil notes nothing.
type usedState struct {
	row     sequence.Sequence
	columns sync.Map    // that are claimed, by store.Column.String()
	noted   atomic.Bool // the state is used, and no column is pending

	mu      sync.Mutex // guards what follows, and is held while that is written
	used    bool
	pending []store.Column // whose claims do not say yet that the state is used
	again   time.Time      // not to be tried before that
}

// notePatience is how long a number waits for its use to be noted, where another
// transaction has locked the claim. One that waits for this one never lets it go.
const notePatience = time.Second

// note notes a use, before the caller has anything of it.
func (u *usedState) note(ctx context.Context) {
	if u == nil || u.noted.Load() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used = true
	u.write(ctx)
}

// claim takes note of a column that is claimed for the state. Where the state is used
// already, that is noted at once: the column may get a number that was reserved before.
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

// write notes the use for the columns that are pending. What cannot be written is tried
// again after a while; the keys are good without it. The caller holds mu.
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
