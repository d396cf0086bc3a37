package sequence

import (
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// Looked is what a method has found out about a state (the stored counter of a source)
// without changing it.
type Looked struct {
	Next     int64 // the lowest integer that is not reserved; 0 if that is not known, or there is no stored counter
	Last     int64 // the greatest integer that the stored counter can give
	Greatest int64 // the greatest key in the columns
	IsRanked bool  // Greatest is known: a column could be asked for it
	KeysEnd  int64 // the lowest integer from which on keys belong to another stored counter; 0 if there is none
	Unmade   bool  // the stored counter does not exist yet: Next is where it would begin

	// Sequence is the name in SQL if the state (stored counter) is a sequence of the
	// engine; it is empty for other states.
	Sequence string
}

// Behind returns the error of a state (stored counter) whose next integer is not above
// the greatest key, unless the remedy is to warn, or to advance and the state can be
// raised above that key.
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
