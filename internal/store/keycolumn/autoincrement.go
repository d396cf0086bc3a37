package keycolumn

import (
	"context"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
)

// Counted returns the last number that the engine's own counter of the column
// (AUTO_INCREMENT and the like) has given, or has passed; 0 if the column has no such
// counter.
func (k *KeyColumn) Counted(ctx context.Context) (int64, error) {
	e := k.Store.Engine
	if !k.Column.Counted || e.Counters.Counter == "" {
		return 0, nil
	}
	row, err := k.ask(ctx, k.namesIn(e.Counters.Counter), nil)
	if err != nil || len(row) == 0 {
		return 0, err // err, or 0 and nil if no row was inserted yet
	}
	n, shown, err := lastCounted(row[len(row)-1])
	if err == nil && !shown {
		row, err := k.ask(ctx, k.namesIn(e.Counters.HiddenCounter), nil)
		if err != nil {
			return 0, err
		}
		if row == nil || row[0] == nil {
			return 0, &store.Error{Name: k.Column.String(), Columns: []store.Column{k.Column}, Err: store.ErrHidden}
		}
		n, err := store.Integer(row[0])
		if err != nil {
			return 0, k.Store.Failed(k.Column.String(), err)
		}
		return n, nil
	}
	if err != nil {
		return 0, k.Store.Failed(k.Column.String(), err)
	}
	return n, nil
}

// LastNumber returns a query for the number that [KeyColumn.Counted] returns. It is
// empty if no query returns the current number for sure: the statistics of MySQL 8 may
// be a day old.
func (k *KeyColumn) LastNumber(ctx context.Context) string {
	e := k.Store.Engine
	if e.Counters.HiddenCounter != "" {
		if row, err := k.ask(ctx, k.namesIn(e.Counters.HiddenCounter), nil); err != nil || row == nil || row[0] == nil {
			return ""
		}
	}
	return k.namesIn(e.Counters.LastNumber)
}

// namesIn replaces the markers in a query for the counter by the names of the table.
func (k *KeyColumn) namesIn(query string) string {
	return strings.NewReplacer("{table}", k.Table(), "{schema}", k.Column.SchemaIn(k.Store.Dialect),
		"{name}", k.Store.Literal(k.Column.Table), "{schemaName}", k.Store.Literal(k.Column.Schema)).Replace(query)
}

// lastCounted reads the last number of a counter from v: an integer, or the text of
// SHOW CREATE TABLE, in which the options of the table, after the columns, have the
// next number. (The statistics of MySQL 8 may be a day old.) shown reports whether the
// text has the options: it lacks them under the sql_mode ANSI, and on MariaDB under
// NO_TABLE_OPTIONS and the modes named after other engines.
func lastCounted(v any) (n int64, shown bool, err error) {
	text := store.Text(v)
	line := strings.LastIndex(text, "\n)")
	if line < 0 {
		if v == nil {
			return 0, true, nil
		}
		n, err := store.Integer(v)
		return n, true, err
	}
	options, _, _ := strings.Cut(text[line:], " COMMENT=")
	if !strings.Contains(options, " ENGINE=") {
		return 0, false, nil
	}
	_, next, found := strings.Cut(options, " AUTO_INCREMENT=")
	if !found {
		return 0, true, nil
	}
	end := strings.IndexFunc(next, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(next)
	}
	last, err := strconv.ParseUint(next[:end], 10, 64)
	if err != nil || last == 0 {
		return 0, true, nil
	}
	return int64(min(last-1, store.MaxNext)), true, nil
}

// RaiseText returns the statements, for one connection, after which the next number of
// the engine's own counter of a Counted column is to or greater: see
// [engine.CounterQueries]. If they are run late, they do not lower a counter that has
// advanced meanwhile.
func (k *KeyColumn) RaiseText(to int64) string {
	next, schema := strconv.FormatInt(to, 10), "DATABASE()"
	if k.Column.Schema != "" {
		schema = k.Store.Literal(k.Column.Schema)
	}
	return strings.NewReplacer("{next}", next, "{last}", strconv.FormatInt(to-1, 10),
		"{schema}", schema, "{table schema}", k.Column.SchemaIn(k.Store.Dialect), "{name}", k.Store.Literal(k.Column.Table),
		"{alter}", k.Store.Literal("ALTER TABLE "+k.Table()+" AUTO_INCREMENT = "+next)).Replace(k.Store.Engine.Counters.RaiseCounter)
}
