package native

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
)

// RaiseStatement returns the statement that sets a sequence of the engine, as it is written
// in SQL, above the keys in columns. If it is run late, it does not lower the sequence. What
// stands in <> has to be filled in.
func RaiseStatement(d *dialect.Dialect, sequence string, columns []store.Column) string {
	switch d.Name {
	case dialect.PostgreSQL().Name:
		var greatest strings.Builder
		for _, c := range columns {
			fmt.Fprintf(&greatest, ", (SELECT MAX(%s) FROM %s)", d.QuoteIdent(c.Name), c.TableIn(d))
		}
		return setval(sequence, greatest.String())
	case dialect.MariaDB().Name:
		return fmt.Sprintf("SELECT SETVAL(%s, <the greatest key>)", sequence)
	}
	return fmt.Sprintf("ALTER SEQUENCE %s RESTART WITH <a number above all keys and above what the sequence has given>", sequence)
}

// setval returns the statement that sets a sequence of PostgreSQL to the greatest of
// integers, each after a comma, unless its last value is greater.
func setval(sequence, integers string) string {
	return fmt.Sprintf("SELECT setval('%s', GREATEST(last_value%s)) FROM %s", strings.ReplaceAll(sequence, "'", "''"), integers, sequence)
}

// Raise returns the statement that sets the sequence so that it gives to or greater.
func (r *Reserver) Raise(to int64) string {
	switch d := r.store.Dialect; d.Name {
	case dialect.PostgreSQL().Name:
		return setval(r.written(), fmt.Sprintf(", %d", to-1))
	case dialect.MariaDB().Name:
		return fmt.Sprintf("SELECT SETVAL(%s, %d)", r.written(), to-1)
	}
	return fmt.Sprintf("ALTER SEQUENCE %s RESTART WITH %d, unless it has given that by then", r.written(), to)
}

// RaiseAboveKeys returns the statement that sets the sequence above the keys in its
// columns: see [RaiseStatement].
func (r *Reserver) RaiseAboveKeys() string {
	return RaiseStatement(r.store.Dialect, r.written(), r.native.Columns)
}

// written returns the sequence's name as SQL has it.
func (r *Reserver) written() string {
	if q := r.opened.Load(); q != nil {
		return q.Quoted
	}
	return r.native.Sequence
}
