package rewrite

import (
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Keys of 16 bytes for the rows of a query have a prefix that is drawn for the
// statement, and behind it a number of 48 bits that the engine counts up. Nothing is
// counted before. In MySQL and MariaDB, where ROW_NUMBER() may change values of the
// row, a function that counts calls stands in the select list itself:
//
//	INSERT INTO t (a, id) SELECT a, CONCAT(prefix, … before + (UUID_SHORT() & …)) FROM s
//
// Elsewhere, and where that function would be called for rows that DISTINCT or UNION
// leaves out, the query becomes a common table expression as for integers.

// byEngine reports whether the engine makes or numbers such keys for the rows of a query.
func (k *Key) byEngine() bool { return k.Counted || k.Function != "" || k.Tail != "" }

// tailed reports whether such keys are made of a prefix and a row's number.
func (k *Key) tailed() bool { return !k.Counted && k.Function == "" && k.Tail != "" }

// tails reports whether one of the keys has a tail.
func (in *insertState) tails(keys []int) bool {
	return slices.ContainsFunc(keys, func(k int) bool { return in.Target.Keys[k].tailed() })
}

// Tails reports whether keyfill and the engine make a key together, for a row of a query
// of an INSERT that runs.
func (pl *Plan) Tails() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool { return in.Query != nil && in.Query.tailed && !in.Explained })
}

// Merges reports whether the rows of a query that is written as a common table expression
// get such keys.
func (pl *Plan) Merges() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool {
		return in.Query != nil && in.Query.tailed && in.Query.merged && !in.Explained
	})
}

// TailValues returns the values of a draw of n places whose keys have tails: the prefix
// and the number before, in the order in which the key's Tail has them.
func (k *Key) TailValues(prefix string, before int64, n int) []driver.Value {
	values := make([]driver.Value, 0, n)
	for len(values) < n {
		for part := range strings.SplitSeq(k.Tail, "{") {
			switch {
			case strings.HasPrefix(part, "prefix}"):
				values = append(values, prefix)
			case strings.HasPrefix(part, "before}"):
				values = append(values, before)
			}
		}
	}
	return values
}

// listEnd is where a select list ends.
type listEnd struct {
	at     int // behind its last item
	params int // the caller's placeholders in front of it
}

// appends reports whether an expression for each row may stand at the end of the query's
// lists: one SELECT, or several under UNION ALL.
func (s *queryFacts) appends(n *dialect.Numbering) bool {
	return n.PerRow != "" && s.listed && !s.values && !s.apart && len(s.lists) > 0
}

// appended queues the keys at the end of each list of the query.
func (p *parser) appended(in *insertState, s *queryFacts, missing []int) {
	for _, end := range s.lists {
		at := span{end.at, end.at}
		var room [256]byte
		b := room[:0]
		first := len(p.slots)
		for _, k := range missing {
			b = p.keyOfRow(in, append(b, ", "...), &at, k, p.d.Numbering.PerRow)
		}
		if end.at < len(p.q) && p.isPart(p.q[end.at]) {
			b = append(b, ' ')
		}
		p.edit(at.end, at.end, string(b))
		for i := first; i < len(p.slots); i++ {
			p.slots[i].before = int32(end.params)
		}
	}
}

// keyOfRow appends the expression of a key that is made for a row of the given number, and
// queues what stands in front of a value that is drawn.
func (p *parser) keyOfRow(in *insertState, b []byte, at *span, k int, number string) []byte {
	key := &in.Target.Keys[k]
	if !key.tailed() {
		return append(b, key.Function...)
	}
	in.Query.tailed = true
	rest := key.Tail
	for {
		before, part, found := strings.Cut(rest, "{")
		if b = append(b, before...); !found {
			return b
		}
		var name string
		if name, rest, _ = strings.Cut(part, "}"); name == "row" {
			b = append(b, number...)
			continue
		}
		p.slot(at.start, at.end, string(b), slot{key: int32(k)})
		at.start, b = at.end, b[:0]
	}
}

// listedSelect reads SELECT and its list, and notes where the list ends.
func (p *reader) listedSelect(s *queryFacts) {
	p.selectList(s)
	if s.operand != operandBrackets {
		s.operand = operandOther
	}
	s.lists = append(s.lists, listEnd{p.prev, p.params.count})
}

// unionAll reads UNION ALL SELECT and its list, if they begin here, of a query that may
// get another item in each of its lists. It reports whether it has moved.
func (p *reader) unionAll(s *queryFacts) bool {
	_, behind := p.peek()
	all := p.nextIs("all")
	if n := behind.following(); !all || n.kind != tokWord || !equalWord(p.q[n.start:n.end], "select") {
		s.apart = true
		return false
	}
	depth := s.brackets
	p.surveyed(s, &depth)
	p.advance()
	p.advance()
	first := *s
	p.listedSelect(s)
	s.items, s.stars, s.lifts, s.plain = first.items, first.stars, first.lifts, first.plain
	return true
}
