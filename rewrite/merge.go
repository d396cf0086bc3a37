package rewrite

import "strings"

// A MERGE inserts a row of its source at most once. Where the text says how many
// rows the source has, each of them gets a key: a source of one row as a value of
// the INSERT,
//
//	MERGE INTO t USING (SELECT $1 AS a) s ON … WHEN NOT MATCHED THEN
//	  INSERT (a, id) VALUES (s.a, key)
//
// and VALUES of several as a column more:
//
//	MERGE INTO t USING (VALUES (1, key), (2, key)) AS s (a, kf_id) ON …
//	  WHEN NOT MATCHED THEN INSERT (a, id) VALUES (s.a, s.kf_id)
//
// PostgreSQL 18, "MERGE"; Transact-SQL reference, "MERGE"; Oracle SQL Language
// Reference 23, "MERGE".

// merging is a MERGE being read.
type merging struct {
	head     head
	in       *insertState // stands for all its INSERTs; nil before the first
	unlisted *Insert      // an INSERT that is refused for want of columns

	rows    int      // of the source
	alias   string   // of the source, as it is written; "" without one
	folded  string   // the same, folded
	columns int      // length of the alias's column list; -1 without one
	names   []string // of that list, folded
	fed     []int    // the keys that are a column of the source

	ends bool // the clauses behind the last INSERT have begun
}

// merge reads a statement that begins with MERGE: it is filled, kept when every
// INSERT in it names the keys of its target, or refused.
func (p *parser) merge() {
	before := *p
	m := &merging{rows: -1, columns: -1}
	reason := p.merged(m)
	if reason == "" {
		return
	}
	*p = before
	if m.head.target != nil {
		q := p.fork()
		q.mergeInto(p, reason)
		if p.refusal != nil && q.atEnd() && p.hurries() {
			p.tok, p.prev, p.pos = q.tok, q.prev, q.pos // there is nothing else to look for
		}
	}
	if reason == ErrNoColumnList && m.unlisted != nil {
		p.inserts = append(p.inserts, *m.unlisted)
	}
	if !p.hurries() || !p.atEnd() {
		p.advance()
	}
	p.skip(p.beside())
}

// merged fills the MERGE that begins here. With a reason there is nothing to
// fill, or not exactly, and the parser has to go back.
func (p *parser) merged(m *merging) Reason {
	if reason := p.mergeTarget(m); reason != "" {
		return reason
	}
	if p.isPunct('(') && p.nextIs("values") {
		// Which keys the source has to carry is known at the end alone.
		if reason := p.fork().actions(m); reason != "" {
			return reason
		}
	}
	edits, slots, at := len(p.edits), len(p.slots), len(p.inserts)
	m.in, m.ends = nil, false
	p.inserts = append(p.inserts, Insert{})
	if reason := p.actions(m); reason != "" {
		return reason
	}
	if len(p.slots) == slots {
		return ErrMerge // each INSERT brings its keys
	}
	in := &m.in.Insert
	in.Rows, in.Conflict, in.end = -1, ConflictConditional, p.prev
	if in.Nested, in.Explained = p.limit > 0, p.explained; in.Explained {
		in.explicit = nil
	}
	p.inserts[at] = *in
	for i := slots; i < len(p.slots); i++ {
		p.slots[i].insert = int32(at)
	}
	if why := p.barred(m.head); why != "" {
		p.refuse(in.Target, p.edits[edits].start, why)
		p.edits, p.slots = p.edits[:edits], p.slots[:slots]
	}
	return ""
}

// mergeTarget reads a MERGE from its verb to USING.
func (p *parser) mergeTarget(m *merging) Reason {
	p.mergeHead(&m.head)
	if m.head.target == nil || m.head.reason != "" {
		return ErrMerge
	}
	p.acceptPunct('*')
	if p.d.Grammar.DBLink && p.isPunct('@') {
		return ErrMerge
	}
	if p.d.Grammar.Partition && (p.accept("partition") || p.accept("subpartition")) {
		p.accept("for")
		p.brackets()
	}
	if p.d.Grammar.TableHints && p.accept("with") {
		p.brackets()
	}
	as := p.accept("as")
	if as || !p.isWord("using") {
		if _, _, ok := p.ident(); !ok {
			return ErrMerge
		}
	}
	if !p.accept("using") {
		return ErrMerge
	}
	return ""
}

// mergeHead reads a MERGE from its verb to its table's name.
func (p *parser) mergeHead(h *head) {
	p.advance()
	if p.d.Grammar.Top && p.accept("top") {
		p.brackets()
		p.accept("percent")
	}
	into := p.accept("into")
	p.accept("only")
	p.into(h, into || p.isPunct('('))
}

// actions reads a MERGE from behind USING to its end.
func (p *parser) actions(m *merging) Reason {
	if reason := p.source(m); reason != "" {
		return reason
	}
	if !p.isWord("on") || m.rows > 1 && p.fork().spreads(m.folded, m.names) {
		return ErrMerge
	}
	then := false // the word before
	for depth := 0; !p.atEnd(); p.advance() {
		switch {
		case p.tok.kind == tokExec:
			return ErrExecutableComment
		case p.tok.kind == tokError:
			return ErrGrammar
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			if depth--; depth < 0 {
				return ErrGrammar
			}
		case depth == 0 && p.anotherMerge():
			return ErrMerge
		case depth == 0 && p.isWord("insert"):
			if !then {
				return ErrMerge
			}
			if reason := p.action(m); reason != "" {
				return reason
			}
			if p.atEnd() {
				return ""
			}
		}
		then = depth == 0 && p.isWord("then")
		p.closing(m, depth)
		p.nested(ErrCTE)
	}
	if m.in == nil {
		return ErrMerge
	}
	return ""
}

// closing notes whether the current token begins RETURNING or OUTPUT.
func (p *reader) closing(m *merging, depth int) {
	switch {
	case depth != 0 || m.in == nil || p.tok.kind != tokWord:
	case p.isWord("returning"), p.isWord("output"):
		m.in.Returning, m.ends = true, true
	case m.ends && p.isWord("into"):
		m.in.Returning = false
	}
}

// action reads an INSERT of a MERGE from its verb to its row.
func (p *parser) action(m *merging) Reason {
	state := newInsertState(m.head, p.tok.start)
	in := &state
	in.merged = true
	edits, slots := len(p.edits), len(p.slots)
	p.advance()
	if reason := p.rest(in); reason != "" {
		if in.Unlisted != "" {
			m.unlisted = &in.Insert
		}
		return reason
	}
	if p.fillsScoped(in, slots) {
		return ErrScope
	}
	if in.Rows != 1 || !p.atEnd() && !p.isAny("when", "returning", "output", "option", "where", "log") {
		return ErrGrammar
	}
	if m.in == nil {
		m.in = in
	} else {
		m.in.follow(in.explicit)
	}
	if m.rows == 1 {
		return ""
	}
	return p.feed(m, edits, slots)
}

// feed takes the keys of an INSERT from columns of the source, which has several
// rows. The edits and slots from the given ones on belong to that INSERT.
func (p *parser) feed(m *merging, edits, slots int) Reason {
	for i := edits; i < len(p.edits); i++ {
		e := &p.edits[i]
		if e.slot < 0 {
			continue
		}
		s := &p.slots[e.slot]
		if s.kind != slotKey || m.columns < 0 {
			return ErrMerge // one argument would be the key of all rows
		}
		e.text += m.alias + "." + p.d.QuoteIdent(p.feeds(m, int(s.key)))
		e.slot = -1
	}
	p.slots = p.slots[:slots]
	return ""
}

// feeds returns the name of the source's column that carries a key.
func (p *parser) feeds(m *merging, key int) string {
	found := false
	for _, k := range m.fed {
		found = found || k == key
	}
	if !found {
		m.fed = append(m.fed, key)
	}
	return p.unused("kf_" + strings.ToLower(m.head.target.Keys[key].Column))
}

// mergeInto reads MERGE in a fork of outer: it is kept when every INSERT in it
// names the keys of its target, and refused for the reason else.
func (p *parser) mergeInto(outer *parser, reason Reason) {
	var h head
	if p.mergeHead(&h); h.target == nil {
		return
	}
	for depth := 0; !p.atEnd(); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			if depth--; depth < 0 {
				return
			}
		case depth > 0:
		case p.isWord("insert"):
			p.judgeAction(outer, h, reason)
		case p.anotherMerge():
			return
		}
	}
}

// judgeAction judges the INSERT of a MERGE that begins here.
func (p *parser) judgeAction(outer *parser, h head, reason Reason) {
	q := p.fork()
	q.advance()
	q.judgeInside(outer, h, p.tok.start, reason)
}

// anotherMerge reports whether the next MERGE begins here, which is read on its
// own. Where INTO may be left out, the word behind MERGE begins the name of a
// table, except in MERGE JOIN.
func (p *reader) anotherMerge() bool {
	return p.isWord("merge") && (p.nextIs("into") || p.d.Grammar.NoSemicolon && !p.nextIs("join"))
}
