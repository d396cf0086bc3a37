package inserts

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// A value with .* after it is the fields of a record: (f()).*. Inside COALESCE the engine
// no longer knows the fields of ROW(…), or of the record of a function with OUT parameters.
// So the COALESCE by which the engine refuses such a record if it is a set is written
// around the key, in a branch that the engine reads and drops:
//
//	CASE WHEN TRUE OR COALESCE((f())) IS NULL THEN CAST($1 AS uuid) END
//
// The engine reads each expression before it drops any: transformCaseExpr in
// src/backend/parser/parse_expr.c, simplify_or_arguments in
// src/backend/optimizer/util/clauses.c.

// guardRecords writes the COALESCE for each of the records around the first key among the
// edits from the n-th on. The key needs a type inside CASE.
func guardRecords(p *plans.Draft, in *State, records []scan.Span, n int) rewrite.Reason {
	if records == nil {
		return ""
	}
	i := n + slices.IndexFunc(p.Edits[n:], func(e plans.Edit) bool { return e.Slot >= 0 && p.Slots[e.Slot].Kind == plans.SlotKey })
	if i < n {
		return rewrite.ErrColumnCount // an argument may be the application's key, whose type is not known here
	}
	key := &p.Edits[i]
	kind := in.Target.Keys[p.Slots[key.Slot].Key].Type
	if kind == "" {
		return rewrite.ErrSet
	}
	b := append([]byte(key.Text), "CASE WHEN TRUE"...)
	for _, r := range records {
		b = append(append(append(b, " OR COALESCE("...), p.Text[r.Start:r.End]...), ") IS NULL"...)
	}
	key.Text = string(append(b, " THEN CAST("...))
	p.Edits = slices.Insert(p.Edits, i+1, plans.Edit{Start: key.End, End: key.End, Text: " AS " + kind + ") END", Slot: -1})
	p.Guarded = true
	return ""
}

// lastField returns the index of the last value of a row that comes from a record's fields,
// the first of which is the n-th value. p is after the record. The length of the column
// list shows how many fields there are. It reports false if there is no list, or another
// record follows.
func lastField(p *plans.Draft, in *State, n int) (int, bool) {
	behind := 0
	for q := p.Reader; q.AcceptPunct(','); behind++ {
		if v, reason := q.Value(nil); reason != "" || v.Star {
			return n, false
		}
	}
	last := in.Columns - 1 - behind
	return max(last, n), in.Columns > 0 && last >= n
}
