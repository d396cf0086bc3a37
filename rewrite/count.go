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

// Count returns a query for the number of rows that the INSERT of the given
// index has now, and its arguments, made of those of the execution. The number
// comes first, then what the dialect's Numbering.Server asks. The INSERT must
// have a Query.
func (pl *Plan) Count(insert int, args []driver.NamedValue) (string, []driver.NamedValue) {
	q := pl.Inserts[insert].Query
	main := q.without(pl.query) + q.suffix
	outer, inner := pl.query[q.outer.start:q.outer.end], pl.query[q.inner.start:q.inner.end]
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
	unordered := *q
	unordered.order = ordering{}
	text := outer + string(unordered.define(nil)) + main
	text += ") SELECT COUNT(*)"
	for _, s := range pl.d.Numbering.Server {
		text += ", " + s
	}
	return pl.countArgs(q, text+" FROM "+q.name, args)
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
	s := scanner{d: pl.d, q: text}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind == tokParam {
			asked[identity(pl.d, text[t.start:t.end])] = true
		}
	}
	for _, a := range args {
		if asked[identity(pl.d, ":"+a.Name)] {
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
	s := scanner{d: pl.d, q: text}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind != tokParam {
			continue
		}
		id := identity(pl.d, text[t.start:t.end])
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
