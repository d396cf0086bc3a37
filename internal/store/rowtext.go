package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// rowText writes the statement that gives a sequence its row, for people to run.
type rowText struct {
	row    *sequenceRow
	series bool // the row begins above the series that are there
}

// fresh returns the statement for a sequence whose keys are not its integers.
func (t rowText) fresh(used bool) string {
	start := strconv.FormatInt(max(t.row.q.Start, 1), 10)
	if used {
		start = "<next number>" // only the reader knows
	}
	return t.insert(start, t.row.store.engine.dual)
}

// above returns the statement for a sequence that begins above the greatest key, and above
// the last number that the engine's own counters have given: rows may have been deleted.
// The start is worked out when the statement runs, and is left to the reader where the
// engine cannot do that: no key is in the text.
func (t rowText) above(ctx context.Context, greatest, counted int64) string {
	q, d := t.row.q, t.row.store.dialect
	start, from := "1", t.row.store.engine.dual
	var ranked []string
	for _, c := range q.Columns {
		if !c.Unranked {
			column := d.QuoteIdent(c.Name)
			ranked = append(ranked, "SELECT MAX("+column+") AS m FROM "+c.tableIn(d)+q.keysBelow(column))
		}
	}
	if t.series && ranked != nil {
		ranked = append(ranked, "SELECT MAX(series_last) AS m FROM "+seriesTable+" WHERE name = "+t.row.store.literal(q.Name))
	}
	switch {
	case q.Start != 0:
		start = strconv.FormatInt(q.Start, 10)
	case ranked == nil, columnsOf(t.row.store, q).startKnown() != nil:
		start = "<start>" // only the reader knows
	case q.At != nil:
		start = "<the greatest key and one>"
	default:
		start = "COALESCE(MAX(m), 0) + 1"
		if counted > greatest {
			for _, k := range columnsOf(t.row.store, q).all() {
				if !k.column.Counted {
					continue
				}
				text := k.lastNumber(ctx)
				if text == "" {
					return t.insert("<the engine's last number and one>", from)
				}
				ranked = append(ranked, text)
			}
		}
		from = " FROM (" + strings.Join(ranked, " UNION ALL ") + ") k"
	}
	return t.insert(start, from)
}

// insert returns the statement; start is an expression for the lowest integer that
// is not reserved.
func (t rowText) insert(start, from string) string {
	q, r := t.row.q, t.row.store
	if q.Table != nil {
		return t.insertKey(start, from)
	}
	table, column := q.bound()
	return "INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) SELECT " +
		strings.Join([]string{
			r.literal(q.Name), start, r.literal(table), r.literal(column), r.literal(q.Parameters),
			r.engine.random, r.engine.now,
		}, ", ") + from
}

// insertKey is insert for a row in a key table.
func (t rowText) insertKey(start, from string) string {
	q, f := t.row.q, t.row.form
	columns, values := "", ""
	if q.Table.Key != "" {
		columns, values = q.Table.Key+", ", t.row.store.literal(q.Table.Row)+", "
	}
	switch {
	case q.Codec != nil:
		// What stands for the start can be worked out only here.
		if n, err := strconv.ParseInt(start, 10, 64); err == nil && n <= q.max()+1 {
			start = strconv.FormatInt(q.Codec.Residue(n), 10)
		} else {
			start = "<number of the last key>"
		}
	case q.Table.Last:
		start = lessOne(start)
	}
	columns, values = columns+q.Table.Value, values+start
	if f.version != "" {
		columns, values = columns+", "+q.Table.Version, values+", "+f.version
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s%s", q.Table.Name, columns, values, from)
}

// lessOne returns an expression that is one less than start.
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
