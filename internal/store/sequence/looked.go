package sequence

import (
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// Looked is a state as it was found by one of the methods that look at it and change
// nothing.
type Looked struct {
	Next     int64 // the lowest integer that is not reserved; 0 without a state, or if it is not known
	Last     int64 // the greatest integer that the state can give
	Greatest int64 // key in the columns
	IsRanked bool  // Greatest was asked for
	KeysEnd  int64 // from which integer on keys are not the state's; 0 for none
	Unmade   bool  // the state is not there yet: Next is where it would begin

	// Sequence is the sequence of the engine that is the state, as it is written in SQL; ""
	// for other states.
	Sequence string
}

// Behind returns the error of a state that is not above the greatest key, and that cannot
// be raised above it even if the remedy is to advance.
func (f *Looked) Behind(row *Row, known bool) error {
	q := row.q
	switch {
	case !known || !f.IsRanked || f.Next > f.Greatest || q.OnBehind == keysource.RemedyWarn:
		return nil
	case q.OnBehind != keysource.RemedyAdvance:
		e := q.Fail(store.ErrBehind, "")
		e.Next = f.Next
		return e
	case f.Greatest >= f.Last:
		return row.Exhausted(f.Next)
	}
	return nil
}
