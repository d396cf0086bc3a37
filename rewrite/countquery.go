package rewrite

import (
	"database/sql/driver"
	"slices"
	"strconv"
)

// Counts reports whether the rows of a query are to be counted before an
// execution: an INSERT of the plan is numbered, and runs.
func (pl *Plan) Counts() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool {
		return in.Query != nil && in.Query.counted && !in.Explained
	})
}

// ByFunction reports whether a function of the engine makes a key, which is not known
// here.
func (pl *Plan) ByFunction() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool { return in.Query != nil && !in.Query.counted })
}

// Counted returns the indices of the INSERTs whose rows are to be counted.
func (pl *Plan) Counted() (inserts []int) {
	for i := range pl.Inserts {
		if in := &pl.Inserts[i]; in.Query != nil && in.Query.counted && !in.Explained {
			inserts = append(inserts, i)
		}
	}
	return inserts
}

// Count returns a query for the number of rows that the INSERT of the given index
// would store now, and the arguments of that query, which it takes from the
// arguments of the execution. The number comes first, then what the dialect's
// Numbering.Server asks, and in a dialect with Numbering.Carries how many views the query
// may read. The INSERT must have a Query. Where definitions in front of
// it are INSERTs that are filled, their keys are in the query: keys is as for
// [Plan.Inline], but for the draws of queries.
func (pl *Plan) Count(insert int, args []driver.NamedValue, h Holes, keys [][]driver.Value) (string, []driver.NamedValue) {
	list := "COUNT(*)"
	for _, s := range pl.Dialect.Numbering.Server {
		list += ", " + s
	}
	if pl.Dialect.Numbering.Carries {
		list += ", " + pl.Views()
	}
	return pl.about(insert, list, "", args, h, keys)
}

// Doubts returns the columns of the query of an INSERT whose values may not survive: see
// [Query.Survives]. It is nil where more is in doubt, or nothing.
func (pl *Plan) Doubts(insert int) []Doubt { return pl.Inserts[insert].Query.doubts }

// Columns is [Plan.Count] for the columns of the query, without a row.
func (pl *Plan) Columns(insert int, args []driver.NamedValue, h Holes, keys [][]driver.Value) (string, []driver.NamedValue) {
	return pl.about(insert, "*", " LIMIT 0", args, h, keys)
}

// about returns a query about the rows of an INSERT's query.
func (pl *Plan) about(insert int, list, behind string, args []driver.NamedValue, h Holes, keys [][]driver.Value) (string, []driver.NamedValue) {
	q := pl.Inserts[insert].Query
	main := q.without(pl.query) + q.suffix
	outer, args := pl.filledWith(q.outer, args, h, keys)
	inner := pl.query[q.inner.start:q.inner.end]
	switch {
	case outer == "" && inner == "":
		outer = "WITH "
	case outer == "":
		outer = inner + ", "
	default:
		outer += ", "
		if inner != "" {
			main = inner + " " + main
		}
	}
	if q.SetRow {
		main = "SELECT " + main
	}
	if !q.near.empty() {
		main = pl.query[q.near.start:q.near.end] + " (" + main + ")"
	}
	unordered := *q
	unordered.order = ordering{}
	text := outer + string(unordered.named(nil)) + main
	return pl.countArgs(q, text+") SELECT "+list+" FROM "+q.name+behind, args)
}

// filledWith returns the text of a WITH clause, or of a part of one, with the keys
// of its INSERTs, and the arguments with those that take the place of the caller's.
func (pl *Plan) filledWith(w with, args []driver.NamedValue, h Holes, keys [][]driver.Value) (string, []driver.NamedValue) {
	if w.empty() || len(pl.edits) == 0 || pl.edits[0].start >= w.end {
		return pl.query[w.start:w.end], args
	}
	taken := make([]driver.Value, len(pl.slots)) // nil where a slot takes none
	used := make([]int, len(pl.Draws))
	own, given := slices.Clone(args), arguments{list: args}
	for i := range pl.slots {
		s := &pl.slots[i]
		if h.fill != nil && !h.fill[i] || used[s.draw] == len(keys[s.draw]) {
			continue
		}
		taken[i] = keys[s.draw][used[s.draw]]
		used[s.draw]++
		if s.kind != slotOwn {
			continue
		}
		if n, err := pl.argument(s, &given); err == nil {
			own[n].Value = taken[i]
		}
	}
	var b []byte
	at := w.start
	for _, e := range pl.edits {
		if e.start < w.start || e.end > w.end || e.slot >= 0 && taken[e.slot] == nil {
			continue
		}
		b = append(append(b, pl.query[at:e.start]...), e.text...)
		if e.slot >= 0 {
			b = pl.Dialect.AppendLiteral(b, taken[e.slot])
		}
		at = e.end
	}
	return string(append(b, pl.query[at:w.end]...)), own
}

// without returns the query without the placeholders that are lifted out of it.
func (q *Query) without(text string) string {
	var b []byte
	at := q.main.start
	for _, l := range q.lifts {
		if l.param {
			b = append(b, text[at:l.start]...)
			b = append(b, "NULL"...)
			at = l.end
		}
	}
	return string(append(b, text[at:q.main.end]...))
}

// countArgs returns the text with its placeholders counted anew, and the
// arguments that are theirs.
func (pl *Plan) countArgs(q *Query, text string, args []driver.NamedValue) (string, []driver.NamedValue) {
	if len(args) == 0 {
		return text, nil
	}
	var own []driver.NamedValue
	switch {
	case args[0].Name != "":
		own = pl.namedIn(text, args)
	case pl.params.styles == styleNumber:
		return pl.renumbered(text, args)
	default:
		own = append(own, args[q.outer.from:q.outer.to]...)
		own = append(own, args[q.from:q.to]...)
	}
	for i := range own {
		own[i].Ordinal = i + 1
	}
	return text, own
}

// namedIn returns the named arguments that a text asks for.
func (pl *Plan) namedIn(text string, args []driver.NamedValue) []driver.NamedValue {
	var own []driver.NamedValue
	asked := map[string]bool{}
	s := scanner{d: pl.Dialect, q: text}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind == tokParam {
			asked[identity(pl.Dialect, text[t.start:t.end])] = true
		}
	}
	for _, a := range args {
		if asked[identity(pl.Dialect, ":"+a.Name)] {
			own = append(own, a)
		}
	}
	return own
}

// renumbered gives the placeholders of a text the numbers from 1: an engine that
// finds the types of placeholders wants all of them used.
func (pl *Plan) renumbered(text string, args []driver.NamedValue) (string, []driver.NamedValue) {
	var own []driver.NamedValue
	numbers := map[string]int{}
	var b []byte
	at := 0
	s := scanner{d: pl.Dialect, q: text}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind != tokParam {
			continue
		}
		id := identity(pl.Dialect, text[t.start:t.end])
		if numbers[id] == 0 {
			n, _ := strconv.Atoi(id)
			if n < 1 || n > len(args) {
				continue // Holes has compared the numbers
			}
			a := args[n-1]
			a.Ordinal = len(own) + 1
			own = append(own, a)
			numbers[id] = len(own)
		}
		digits := t.end
		for isDigit(text[digits-1]) {
			digits--
		}
		b = append(b, text[at:digits]...)
		b = strconv.AppendInt(b, int64(numbers[id]), 10)
		at = t.end
	}
	return string(append(b, text[at:]...)), own
}
