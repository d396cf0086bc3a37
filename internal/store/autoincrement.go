package store

import (
	"context"
	"strconv"
	"strings"
)

// counted returns the last number that the engine's own counter (AUTO_INCREMENT and
// the like) has given to the column, or has passed; 0 where the column has none.
func (k *KeyColumn) counted(ctx context.Context) (int64, error) {
	text := k.run.engine.counter
	if !k.column.Counted || text == "" {
		return 0, nil
	}
	d := k.run.dialect
	row, err := k.ask(ctx, strings.NewReplacer("{table}", k.table(), "{schema}", k.column.schemaIn(d), "{name}", k.run.literal(k.column.Table)).Replace(text), nil)
	if err != nil || len(row) == 0 {
		return 0, err // or nothing was inserted
	}
	n, err := lastCounted(row[len(row)-1])
	if err != nil {
		return 0, k.run.failed(k.column.String(), err)
	}
	return n, nil
}

// lastCounted reads the answer: the last number, or the text of SHOW CREATE TABLE,
// whose last line has the next one. Statistics of MySQL 8 may be a day old.
func lastCounted(v any) (int64, error) {
	text := toText(v)
	line := strings.LastIndex(text, "\n) ")
	if line < 0 {
		if v == nil {
			return 0, nil
		}
		return toInteger(v)
	}
	options, _, _ := strings.Cut(text[line:], " COMMENT=")
	_, next, found := strings.Cut(options, " AUTO_INCREMENT=")
	if !found {
		return 0, nil
	}
	end := strings.IndexFunc(next, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(next)
	}
	n, err := strconv.ParseUint(next[:end], 10, 64)
	if err != nil || n == 0 {
		return 0, nil
	}
	return int64(min(n-1, maxNext)), nil
}
