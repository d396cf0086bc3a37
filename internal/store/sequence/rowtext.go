package sequence

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/store/engine"
)

// RowText writes the statement that inserts the row of a sequence, for people to run.
type RowText struct {
	Row    *Row
	Series bool // the row begins above the existing series (ranges of integers)
}

// Fresh returns the statement for a sequence whose integers are not the keys
// themselves. used reports that its columns hold keys.
func (t RowText) Fresh(used bool) string {
	start := strconv.FormatInt(max(t.Row.q.Made.Start, 1), 10)
	if used {
		start = "<next number>" // only the person who runs it knows the number
	}
	return t.Insert(start, t.Row.store.Engine.Expressions.Dual)
}

// Above returns the statement for a sequence that begins above the greatest key, and
// above the last number that the engine's own counters have given, since rows may have
// been deleted. The statement computes the start when it runs, and leaves it to the
// reader if the engine cannot compute it: the text contains no key.
func (t RowText) Above(ctx context.Context, greatest, counted int64) string {
	q, d := t.Row.q, t.Row.store.Dialect
	start, from := "1", t.Row.store.Engine.Expressions.Dual
	var ranked []string
	for _, c := range q.Columns {
		if !c.Unranked && c.Texts == nil {
			column := d.QuoteIdent(c.Name)
			ranked = append(ranked, "SELECT MAX("+column+") AS m FROM "+c.TableIn(d)+q.Bounds.Where(column, q.KeysEnd()))
		}
	}
	if t.Series && ranked != nil {
		ranked = append(ranked, "SELECT MAX(series_last) AS m FROM "+engine.SeriesTable+" WHERE name = "+t.Row.store.Literal(q.Name))
	}
	switch {
	case q.Made.Start != 0:
		start = strconv.FormatInt(q.Made.Start, 10)
	case ranked == nil, ColumnsOf(t.Row.store, q).StartKnown() != nil:
		start = "<start>" // only the person who runs it knows the start
	case q.At != nil:
		start = "<the greatest key and one>"
	default:
		start = "COALESCE(MAX(m), 0) + 1"
		if counted > greatest {
			for _, k := range ColumnsOf(t.Row.store, q).all() {
				if !k.Column.Counted {
					continue
				}
				text := k.LastNumber(ctx)
				if text == "" {
					return t.Insert("<the engine's last number and one>", from)
				}
				ranked = append(ranked, text)
			}
		}
		from = " FROM (" + strings.Join(ranked, " UNION ALL ") + ") k"
	}
	return t.Insert(start, from)
}

// Insert returns the INSERT statement; start is an expression for the lowest integer
// that is not reserved.
func (t RowText) Insert(start, from string) string {
	q, r := t.Row.q, t.Row.store
	if q.Table != nil {
		return t.insertKey(start, from)
	}
	table, column := q.Bound()
	return "INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) SELECT " +
		strings.Join([]string{
			r.Literal(q.Name), start, r.Literal(table), r.Literal(column), r.Literal(q.Parameters),
			r.Engine.Expressions.Random, r.Engine.Expressions.Now,
		}, ", ") + from
}

// insertKey returns the INSERT statement for a row in a key table of the application.
func (t RowText) insertKey(start, from string) string {
	q, f := t.Row.q, t.Row.Form
	columns, values := "", ""
	if q.Table.Key != "" {
		columns, values = q.Table.Key+", ", t.Row.store.Literal(q.Table.Row)+", "
	}
	switch {
	case q.Codec != nil:
		// Only this program can compute the value for the start.
		if n, err := strconv.ParseInt(start, 10, 64); err == nil && n <= q.Greatest()+1 {
			start = strconv.FormatInt(q.Codec.Residue(n), 10)
		} else {
			start = "<number of the last key>"
		}
	case q.Table.Last:
		start = lessOne(start)
	}
	columns, values = columns+q.Table.Value, values+start
	if f.Version != "" {
		columns, values = columns+", "+q.Table.Version, values+", "+f.Version
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s%s", q.Table.Name, columns, values, from)
}

// lessOne returns an expression for one less than start.
func lessOne(start string) string {
	if n, err := strconv.ParseInt(start, 10, 64); err == nil {
		return strconv.FormatInt(n-1, 10)
	}
	const more = " + 1"
	if n := len(start) - len(more); n > 0 && start[n:] == more {
		return start[:n]
	}
	return start + " - 1"
}
