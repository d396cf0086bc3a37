package store

import (
	"context"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// ErrHidden is returned where the text of SHOW CREATE TABLE of MySQL has no options of the
// table. It comes in an [*Error].
var ErrHidden = anchor.New("live-column", "SHOW CREATE TABLE does not show where the table's AUTO_INCREMENT stands, because of the sql_mode: take ANSI out of the sql_mode of the connection")

// counted returns the last number that the engine's own counter (AUTO_INCREMENT and
// the like) has given to the column, or has passed; 0 where the column has none.
func (k *KeyColumn) counted(ctx context.Context) (int64, error) {
	e := k.run.engine
	if !k.column.Counted || e.counter == "" {
		return 0, nil
	}
	row, err := k.ask(ctx, k.namesIn(e.counter), nil)
	if err != nil || len(row) == 0 {
		return 0, err // or nothing was inserted
	}
	n, shown, err := lastCounted(row[len(row)-1])
	if err == nil && !shown {
		row, err := k.ask(ctx, k.namesIn(e.hiddenCounter), nil)
		if err != nil {
			return 0, err
		}
		if row == nil || row[0] == nil {
			return 0, &Error{Name: k.column.String(), Columns: []Column{k.column}, Err: ErrHidden}
		}
		n, err := toInteger(row[0])
		if err != nil {
			return 0, k.run.failed(k.column.String(), err)
		}
		return n, nil
	}
	if err != nil {
		return 0, k.run.failed(k.column.String(), err)
	}
	return n, nil
}

// lastNumber returns a query for what counted returns, "" where no query tells it for sure:
// the statistics of MySQL 8 may be a day old.
func (k *KeyColumn) lastNumber(ctx context.Context) string {
	e := k.run.engine
	if e.hiddenCounter != "" {
		if row, err := k.ask(ctx, k.namesIn(e.hiddenCounter), nil); err != nil || row == nil || row[0] == nil {
			return ""
		}
	}
	return k.namesIn(e.lastNumber)
}

// namesIn puts the names of the table into a query for its counter.
func (k *KeyColumn) namesIn(query string) string {
	return strings.NewReplacer("{table}", k.table(), "{schema}", k.column.schemaIn(k.run.dialect),
		"{name}", k.run.literal(k.column.Table), "{schemaName}", k.run.literal(k.column.Schema)).Replace(query)
}

// lastCounted reads the answer: the last number, or the text of SHOW CREATE TABLE,
// behind whose columns the options of the table have the next one. Statistics of MySQL 8
// may be a day old. shown says that the text has the options: under the sql_mode ANSI,
// and on MariaDB under NO_TABLE_OPTIONS and the names of other engines, it has none.
func lastCounted(v any) (n int64, shown bool, err error) {
	text := toText(v)
	line := strings.LastIndex(text, "\n)")
	if line < 0 {
		if v == nil {
			return 0, true, nil
		}
		n, err := toInteger(v)
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
	return int64(min(last-1, maxNext)), true, nil
}
