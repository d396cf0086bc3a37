package rowcount

import (
	"database/sql/driver"
	"slices"
	"strconv"

	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
)

// CountQuery returns a query for the number of rows that the INSERT with the given index
// would store now, and the query's arguments, taken from the arguments of the execution.
// The columns of its result are that number, then the values of the dialect's
// Numbering.Server, and in a dialect with Numbering.Carries the number of views that the
// query may read. The INSERT must have a Query. If the definition of a WITH clause before
// the query is an INSERT that is filled, the query holds the keys of that INSERT: h and
// keys are as for [bind.Inline], without the keys for rows of queries.
func CountQuery(pl *plans.Plan, insert int, args []driver.NamedValue, h bind.Holes, keys [][]driver.Value) (string, []driver.NamedValue) {
	list := "COUNT(*)"
	for _, s := range pl.Dialect.Numbering.Server {
		list += ", " + s
	}
	if pl.Dialect.Numbering.Carries {
		list += ", " + Views(pl)
	}
	return about(pl, insert, list, "", args, h, keys)
}

// ColumnsQuery returns a query that has the columns of the INSERT's query and no row. It
// has the same parameters as [CountQuery].
func ColumnsQuery(pl *plans.Plan, insert int, args []driver.NamedValue, h bind.Holes, keys [][]driver.Value) (string, []driver.NamedValue) {
	return about(pl, insert, "*", " LIMIT 0", args, h, keys)
}

// about returns a query that selects list from the rows of an INSERT's query.
func about(pl *plans.Plan, insert int, list, behind string, args []driver.NamedValue, h bind.Holes, keys [][]driver.Value) (string, []driver.NamedValue) {
	q := pl.Inserts[insert].Query
	main := without(q, pl.Changes.Query) + q.Suffix
	outer, args := filledWith(pl, q.Parts.Outer, args, h, keys)
	inner := pl.Changes.Query[q.Parts.Inner.Start:q.Parts.Inner.End]
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
	if !q.Parts.Near.Empty() {
		main = pl.Changes.Query[q.Parts.Near.Start:q.Parts.Near.End] + " (" + main + ")"
	}
	unordered := *q
	unordered.Order = selects.Ordering{}
	text := outer + string(unordered.Named(nil)) + main
	return countArgs(pl, q, text+") SELECT "+list+" FROM "+q.Name+behind, args)
}

// filledWith returns the text of a WITH clause, or of a part of one, with the keys of the
// INSERTs in it, and the arguments, in which keys replace the caller's.
func filledWith(pl *plans.Plan, w selects.With, args []driver.NamedValue, h bind.Holes, keys [][]driver.Value) (string, []driver.NamedValue) {
	if w.Empty() || len(pl.Changes.Edits) == 0 || pl.Changes.Edits[0].Start >= w.End {
		return pl.Changes.Query[w.Start:w.End], args
	}
	taken := make([]driver.Value, len(pl.Changes.Slots)) // the key of each slot (place for a key); nil if the slot takes no key
	used := make([]int, len(pl.Draws))
	own, given := slices.Clone(args), bind.Given{List: args}
	for i := range pl.Changes.Slots {
		s := &pl.Changes.Slots[i]
		if h.Fill != nil && !h.Fill[i] || used[s.Draw] == len(keys[s.Draw]) {
			continue
		}
		taken[i] = keys[s.Draw][used[s.Draw]]
		used[s.Draw]++
		if s.Kind != plans.SlotOwn {
			continue
		}
		if n, err := bind.IndexOf(pl, s, &given); err == nil {
			own[n].Value = taken[i]
		}
	}
	var b []byte
	at := w.Start
	for _, e := range pl.Changes.Edits {
		if e.Start < w.Start || e.End > w.End || e.Slot >= 0 && taken[e.Slot] == nil {
			continue
		}
		b = append(append(b, pl.Changes.Query[at:e.Start]...), e.Text...)
		if e.Slot >= 0 {
			b = pl.Dialect.AppendLiteral(b, taken[e.Slot])
		}
		at = e.End
	}
	return string(append(b, pl.Changes.Query[at:w.End]...)), own
}

// without returns the text of a query with NULL instead of some placeholders: those that
// keyfill will write into the outer query around it, and no longer into this one.
func without(q *plans.Query, text string) string {
	var b []byte
	at := q.Parts.Main.Start
	for _, l := range q.Lifts {
		if l.Param {
			b = append(b, text[at:l.Start]...)
			b = append(b, "NULL"...)
			at = l.End
		}
	}
	return string(append(b, text[at:q.Parts.Main.End]...))
}

// countArgs returns the text with its placeholders renumbered, and the arguments for them.
func countArgs(pl *plans.Plan, q *plans.Query, text string, args []driver.NamedValue) (string, []driver.NamedValue) {
	if len(args) == 0 {
		return text, nil
	}
	var own []driver.NamedValue
	switch {
	case args[0].Name != "":
		own = namedIn(pl, text, args)
	case pl.Changes.Params.Styles == reader.StyleNumber:
		return renumbered(pl, text, args)
	default:
		own = append(own, args[q.Parts.Outer.From:q.Parts.Outer.To]...)
		own = append(own, args[q.Parts.From:q.Parts.To]...)
	}
	for i := range own {
		own[i].Ordinal = i + 1
	}
	return text, own
}

// namedIn returns the named arguments that a text uses.
func namedIn(pl *plans.Plan, text string, args []driver.NamedValue) []driver.NamedValue {
	var own []driver.NamedValue
	asked := map[string]bool{}
	s := scan.Scanner{Dialect: pl.Dialect, Text: text}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		if t.Kind == scan.Placeholder {
			asked[scan.Identity(pl.Dialect, text[t.Start:t.End])] = true
		}
	}
	for _, a := range args {
		if asked[scan.Identity(pl.Dialect, ":"+a.Name)] {
			own = append(own, a)
		}
	}
	return own
}

// renumbered numbers the placeholders of a text from 1, since an engine that infers their
// types requires that all are used.
func renumbered(pl *plans.Plan, text string, args []driver.NamedValue) (string, []driver.NamedValue) {
	var own []driver.NamedValue
	numbers := map[string]int{}
	var b []byte
	at := 0
	s := scan.Scanner{Dialect: pl.Dialect, Text: text}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		if t.Kind != scan.Placeholder {
			continue
		}
		id := scan.Identity(pl.Dialect, text[t.Start:t.End])
		if numbers[id] == 0 {
			n, _ := strconv.Atoi(id)
			if n < 1 || n > len(args) {
				continue // does not happen: bind.FindHoles has checked the numbers
			}
			a := args[n-1]
			a.Ordinal = len(own) + 1
			own = append(own, a)
			numbers[id] = len(own)
		}
		digits := t.End
		for scan.IsDigit(text[digits-1]) {
			digits--
		}
		b = append(b, text[at:digits]...)
		b = strconv.AppendInt(b, int64(numbers[id]), 10)
		at = t.End
	}
	return string(append(b, text[at:]...)), own
}
