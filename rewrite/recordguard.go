package rewrite

import "slices"

// A value with .* behind it stands for the fields of a record: (f()).*. Around the record
// of a function with OUT parameters, or of ROW(…), the engine does not know the fields any
// more behind COALESCE. So what keeps such a record from being a set stands around the key,
// in a branch that the engine reads and drops:
//
//	CASE WHEN TRUE OR COALESCE((f())) IS NULL THEN CAST($1 AS uuid) END
//
// It reads each expression before it drops any: transformCaseExpr in
// src/backend/parser/parse_expr.c, simplify_or_arguments in
// src/backend/optimizer/util/clauses.c.

// guardRecords writes the guards of records around the first key of the edits from the n-th
// on. The key has to say its type in CASE.
func (p *parser) guardRecords(in *insertState, records []span, n int) Reason {
	if records == nil {
		return ""
	}
	i := n + slices.IndexFunc(p.edits[n:], func(e edit) bool { return e.slot >= 0 && p.slots[e.slot].kind == slotKey })
	if i < n {
		return ErrColumnCount // an argument may be a key of the application, of a type that nobody knows here
	}
	key := &p.edits[i]
	kind := in.Target.Keys[p.slots[key.slot].key].Type
	if kind == "" {
		return ErrSet
	}
	b := append([]byte(key.text), "CASE WHEN TRUE"...)
	for _, r := range records {
		b = append(append(append(b, " OR COALESCE("...), p.q[r.start:r.end]...), ") IS NULL"...)
	}
	key.text = string(append(b, " THEN CAST("...))
	p.edits = slices.Insert(p.edits, i+1, edit{key.end, key.end, " AS " + kind + ") END", -1})
	p.guarded = true
	return ""
}

// lastField returns the place of the last value of a row that the fields of a record are,
// of which the first is the n-th, where the parser is behind them; the column list says how
// many there are. It reports false where there is no list, or other fields stand behind.
func (p *parser) lastField(in *insertState, n int) (int, bool) {
	behind := 0
	for q := p.reader; q.acceptPunct(','); behind++ {
		if v, reason := q.value(nil); reason != "" || v.star {
			return n, false
		}
	}
	last := in.columns - 1 - behind
	return max(last, n), in.columns > 0 && last >= n
}
