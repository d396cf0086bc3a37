package store

import (
	"context"
	"strconv"
	"strings"
)

// counter returns the last number that the engine's own counters (AUTO_INCREMENT and
// the like) have given to the columns, or have passed; 0 where the columns have no
// such counter.
func (s *Store) counter(ctx context.Context, q *Sequence) (int64, error) {
	var last int64
	at := s.at(q)
	for _, c := range q.Columns {
		if !c.Counted || at.engine.counter == "" {
			continue
		}
		query := strings.NewReplacer("{table}", at.quoted(c), "{schema}", at.schemaOf(c), "{name}", at.literal(c.Table)).Replace(at.engine.counter)
		row, err := at.conn.query(ctx, query, nil)
		if err != nil {
			return 0, at.failed(c.String(), at.judge(ctx, ErrColumn, err, query, nil))
		}
		if len(row) == 0 {
			continue // nothing was inserted
		}
		n, err := lastCounted(row[len(row)-1])
		if err != nil {
			return 0, at.failed(c.String(), err)
		}
		last = max(last, n)
	}
	return last, nil
}

// schemaOf returns the schema of a column's table in quotes and with a point, "" for
// none.
func (s *Store) schemaOf(c Column) string {
	if c.Schema == "" {
		return ""
	}
	return s.dialect.QuoteIdent(c.Schema) + "."
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
