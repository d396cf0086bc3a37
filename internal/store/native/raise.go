package native

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/nativecatalog"
)

// RaiseStatement returns the statement that sets a sequence of the engine, named as in
// SQL, above the keys in columns. If it is run late, it does not lower the sequence.
// The person who runs it has to fill in the parts in <>.
func RaiseStatement(d *dialect.Dialect, sequence string, columns []store.Column) string {
	var greatest strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&greatest, ", (SELECT MAX(%s) FROM %s)", d.QuoteIdent(c.Name), c.TableIn(d))
	}
	return replaced(nativecatalog.StatementsOf(d).RaiseAboveKeys, sequence, "{greatest}", greatest.String())
}

// replaced writes the name of a sequence, as SQL has it, into a text, and replaces
// further markers: pairs lists each marker and its replacement.
func replaced(text, sequence string, pairs ...string) string {
	pairs = append(pairs, "{sequence}", sequence, "{literal}", strings.ReplaceAll(sequence, "'", "''"))
	return strings.NewReplacer(pairs...).Replace(text)
}

// Raise returns the statement that sets the sequence so that its next value is to or
// greater.
func (r *Reserver) Raise(to int64) string {
	return replaced(nativecatalog.StatementsOf(r.store.Dialect).Raise, r.written(),
		"{next}", strconv.FormatInt(to, 10), "{last}", strconv.FormatInt(to-1, 10))
}

// RaiseAboveKeys returns the statement that sets the sequence above the keys in its
// columns: see [RaiseStatement].
func (r *Reserver) RaiseAboveKeys() string {
	return RaiseStatement(r.store.Dialect, r.written(), r.native.Columns)
}

// written returns the name of the sequence as it is written in SQL.
func (r *Reserver) written() string {
	if q := r.opened.Load(); q != nil {
		return q.Quoted
	}
	return r.native.Sequence
}
