package compile

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// A MERGE inserts each row of its source at most once. If the text shows how many rows the
// source has, each of them gets a key. The only row has it as a value of the INSERT,
//
//	MERGE INTO t USING (SELECT $1 AS a) s ON … WHEN NOT MATCHED THEN
//	  INSERT (a, id) VALUES (s.a, key)
//
// and several rows of VALUES have it in one more column:
//
//	MERGE INTO t USING (VALUES (1, key), (2, key)) AS s (a, kf_id) ON …
//	  WHEN NOT MATCHED THEN INSERT (a, id) VALUES (s.a, s.kf_id)
//
// PostgreSQL 18, "MERGE"; Transact-SQL reference, "MERGE"; Oracle SQL Language Reference
// 23, "MERGE".

// merging is what was read of a MERGE.
type merging struct {
	head     inserts.Head
	in       *inserts.State // the state that all INSERTs of the MERGE share; nil before the first INSERT
	unlisted *plans.Insert  // an INSERT that is refused because its columns are unknown

	rows    int      // the number of rows in the source
	alias   string   // the alias of the source, as written; empty if it has none
	folded  string   // alias, folded
	columns int      // the number of columns in the list after the alias; -1 if there is no list
	names   []string // the names in that list, folded
	fed     []int    // the keys that become columns of the source

	ends bool // whether the clauses after the last INSERT have begun
}

// merge reads a statement that begins with MERGE. It is filled, or sent as it is if every
// INSERT in it names the keys of its table, or refused.
func merge(p *plans.Draft) {
	before := *p
	m := &merging{rows: -1, columns: -1}
	reason := merged(p, m)
	if reason == "" {
		return
	}
	*p = before
	if m.head.Target != nil {
		q := inserts.Fork(p)
		inserts.MergeInto(q, p, reason)
		if p.Refusal != nil && q.AtEnd() && inserts.Hurries(p) {
			p.Token, p.PrevEnd, p.Pos = q.Token, q.PrevEnd, q.Pos // the rest of the text need not be read
		}
	}
	if reason == rewrite.ErrNoColumnList && m.unlisted != nil {
		p.Inserts = append(p.Inserts, *m.unlisted)
	}
	if !inserts.Hurries(p) || !p.AtEnd() {
		p.Advance()
	}
	inserts.Skip(p, inserts.InnerReason(p))
}

// merged fills the MERGE that begins at the current token. If it returns a reason, the
// MERGE needs no key or cannot be filled exactly, and the caller must restore the draft.
func merged(p *plans.Draft, m *merging) rewrite.Reason {
	if reason := mergeTarget(p, m); reason != "" {
		return reason
	}
	if p.IsPunct('(') && p.NextIs("values") {
		// Only the end of the MERGE shows which keys the rows of the source need.
		if reason := actions(inserts.Fork(p), m); reason != "" {
			return reason
		}
	}
	edits, slots, at := len(p.Edits), len(p.Slots), len(p.Inserts)
	m.in, m.ends = nil, false
	p.Inserts = append(p.Inserts, plans.Insert{})
	if reason := actions(p, m); reason != "" {
		return reason
	}
	if len(p.Slots) == slots {
		return rewrite.ErrMerge // each INSERT of the MERGE brings its keys, so that nothing is filled
	}
	in := &m.in.Insert
	in.Rows, in.Upsert.Conflict, in.End = -1, plans.ConflictConditional, p.PrevEnd
	if in.Nested, in.Explained = p.Limit > 0, p.Flow.Explained; in.Explained {
		in.Explicit = nil
	}
	p.Inserts[at] = *in
	for i := slots; i < len(p.Slots); i++ {
		p.Slots[i].Insert = int32(at)
	}
	if why := inserts.BarredReason(p, m.head); why != "" {
		p.Refuse(in.Target, p.Edits[edits].Start, why)
		p.Edits, p.Slots = p.Edits[:edits], p.Slots[:slots]
	}
	return ""
}

// mergeTarget reads a MERGE from its verb up to and including USING.
func mergeTarget(p *plans.Draft, m *merging) rewrite.Reason {
	inserts.MergeHead(p, &m.head)
	if m.head.Target == nil || m.head.Reason != "" {
		return rewrite.ErrMerge
	}
	p.AcceptPunct('*')
	if p.Dialect.Grammar.DBLink && p.IsPunct('@') {
		return rewrite.ErrMerge
	}
	if p.Dialect.Grammar.Partition && (p.Accept("partition") || p.Accept("subpartition")) {
		p.Accept("for")
		p.Brackets()
	}
	if p.Dialect.Grammar.TableHints && p.Accept("with") {
		p.Brackets()
	}
	as := p.Accept("as")
	if as || !p.IsWord("using") {
		if _, _, ok := p.Ident(); !ok {
			return rewrite.ErrMerge
		}
	}
	if !p.Accept("using") {
		return rewrite.ErrMerge
	}
	return ""
}

// actions reads a MERGE from after USING to its end.
func actions(p *plans.Draft, m *merging) rewrite.Reason {
	if reason := source(p, m); reason != "" {
		return reason
	}
	if !p.IsWord("on") || m.rows > 1 && spreads(&inserts.Fork(p).Reader, m.folded, m.names) {
		return rewrite.ErrMerge
	}
	then := false // whether the last word was THEN
	for depth := 0; !p.AtEnd(); p.Advance() {
		switch {
		case p.Token.Kind == scan.Executable:
			return rewrite.ErrExecutableComment
		case p.Token.Kind == scan.Broken:
			return rewrite.ErrGrammar
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			if depth--; depth < 0 {
				return rewrite.ErrGrammar
			}
		case depth == 0 && inserts.AnotherMerge(&p.Reader):
			return rewrite.ErrMerge
		case depth == 0 && p.IsWord("insert"):
			if !then {
				return rewrite.ErrMerge
			}
			if reason := action(p, m); reason != "" {
				return reason
			}
			if p.AtEnd() {
				return ""
			}
		}
		then = depth == 0 && p.IsWord("then")
		closing(&p.Reader, m, depth)
		inserts.JudgeInner(p, rewrite.ErrCTE)
	}
	if m.in == nil {
		return rewrite.ErrMerge
	}
	return ""
}

// closing notes a RETURNING or OUTPUT clause that begins at the current token, and an INTO
// in it.
func closing(p *reader.Reader, m *merging, depth int) {
	switch {
	case depth != 0 || m.in == nil || p.Token.Kind != scan.Word:
	case p.IsWord("returning"), p.IsWord("output"):
		m.in.Returning, m.ends = true, true
	case m.ends && p.IsWord("into"):
		m.in.Returning = false
	}
}

// action reads an INSERT of a MERGE from its verb to the end of its row.
func action(p *plans.Draft, m *merging) rewrite.Reason {
	state := inserts.NewState(m.head, p.Token.Start)
	in := &state
	in.Merged = true
	edits, slots := len(p.Edits), len(p.Slots)
	p.Advance()
	if reason := inserts.Rest(p, in); reason != "" {
		if in.Name.Unlisted != "" {
			m.unlisted = &in.Insert
		}
		return reason
	}
	if inserts.FillsScoped(p, in, slots) {
		return rewrite.ErrScope
	}
	if in.Rows != 1 || !p.AtEnd() && !p.IsAny("when", "returning", "output", "option", "where", "log") {
		return rewrite.ErrGrammar
	}
	if m.in == nil {
		m.in = in
	} else {
		m.in.Follow(in.Explicit)
	}
	if m.rows == 1 {
		return ""
	}
	return feed(p, m, edits, slots)
}

// feed replaces the keys of an INSERT by columns of the source, which has several rows. The
// edits and the slots (places for keys) from the given indexes on belong to that INSERT.
func feed(p *plans.Draft, m *merging, edits, slots int) rewrite.Reason {
	for i := edits; i < len(p.Edits); i++ {
		e := &p.Edits[i]
		if e.Slot < 0 {
			continue
		}
		s := &p.Slots[e.Slot]
		if s.Kind != plans.SlotKey || m.columns < 0 {
			return rewrite.ErrMerge // one argument would be the key of all rows
		}
		e.Text += m.alias + "." + p.Dialect.QuoteIdent(feeds(p, m, int(s.Key)))
		e.Slot = -1
	}
	p.Slots = p.Slots[:slots]
	return ""
}

// feeds returns the name of the column through which the source passes a key to the INSERT.
func feeds(p *plans.Draft, m *merging, key int) string {
	found := false
	for _, k := range m.fed {
		found = found || k == key
	}
	if !found {
		m.fed = append(m.fed, key)
	}
	return p.Unused("kf_" + strings.ToLower(m.head.Target.Keys[key].Column))
}
