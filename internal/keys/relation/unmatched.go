package relation

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/policy"
)

// NoteEvery is the number of keys or passed statements after which the fast path of a
// statement checks again whether enough INSERTs have come for [NoteInserts].
const NoteEvery = 64

// AddKeys adds n keys of an INSERT to the counts of its table. Each [NoteEvery] keys it
// calls [NoteInserts].
func AddKeys(db *Tables, t *report.TableTally, n uint64) {
	if t.Keys.Add(n)%NoteEvery < n {
		NoteInserts(context.Background(), db)
	}
}

// enoughInserts is the number of INSERTs after which a policy entry that none of them
// has matched probably has a typo.
const enoughInserts = 1000

// NoteInserts logs, once, the policy entries that none of the first thousand INSERTs
// has matched. It logs nothing if there are more tables than are remembered, since it
// is not known then which entries were matched.
func NoteInserts(ctx context.Context, db *Tables) {
	if db.logged.unmatched.Load() || policy.Mode(db.Mode.Load()) == policy.ModeOff {
		return
	}
	passed, tables := db.Tally.Counts()
	sum := passed
	for _, t := range tables {
		sum += t.Filled + t.Kept
		for c := range report.CauseCanceled {
			sum += t.FailedBy[c] // INSERTs that were not sent
		}
		for _, n := range t.Refused {
			sum += n
		}
	}
	if sum < enoughInserts || !db.logged.unmatched.CompareAndSwap(false, true) {
		return
	}
	if _, forgot := tables[""]; forgot {
		return
	}
	matched := map[string]bool{}
	for _, t := range tables {
		matched[t.Entry] = true
	}
	for _, entry := range db.AnyEngine().Policy.Entries() {
		if matched[entry.Name] || entry.Rule.Identity || entry.Rule.Mode == policy.ModeOff {
			continue
		}
		var line any
		if entry.Line > 0 {
			line = entry.Line
		}
		db.Log.Write(ctx, report.MessageUnmatched, entry.Name, line, sum)
	}
}
