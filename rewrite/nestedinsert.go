package rewrite

import (
	"slices"
	"strings"
)

// nested judges an INSERT into a configured table that begins at the current
// token, or lies in a comment that the engine runs: one that brings its keys
// is kept, any other refused for the reason.
func (p *parser) nested(reason Reason) {
	switch {
	case p.inside || p.refusal != nil:
	case p.tok.kind == tokExec:
		if t := p.hidden(p.tok); t != nil {
			p.refuse(t, p.tok.start, ErrExecutableComment)
		}
	case p.tok.kind != tokWord:
	case p.isVerb() && p.isMulti():
		p.fork().keptBranches(p, reason)
	case p.isVerb():
		q := p.fork()
		if h := q.head(); h.target != nil {
			q.judgeInside(p, h, p.tok.start, reason)
		}
	case p.d.Grammar.Merge && p.isWord("merge"):
		if reason == ErrSeveral {
			reason = ErrMerge
		}
		p.fork().mergeInto(p, reason)
	case p.d.Grammar.Output && p.isWord("output"):
		p.outputInto()
	}
}

// value reads a value, and judges the INSERTs in its brackets.
func (p *parser) value(clause func() bool) (value, Reason) {
	v, reason := p.reader.value(clause)
	if v.inner {
		p.nestedIn(v)
	}
	return v, reason
}

// nestedIn judges the INSERTs in the brackets of a value that was read.
func (p *parser) nestedIn(v value) {
	behind := p.reader
	p.pos, p.prev, p.params.count = v.start, v.start, v.before
	p.read()
	for depth := 0; p.tok.start < behind.tok.start; p.advance() {
		switch {
		case p.isPunct('('), p.isPunct('['), p.isPunct('{'):
			depth++
		case p.isPunct(')'), p.isPunct(']'), p.isPunct('}'):
			depth--
		case depth > 0 && p.mayInsert():
			p.nested(ErrCTE)
		}
	}
	p.reader = behind
}

// mayInsert reports whether the word here may begin a form of INSERT that stands inside of
// another statement.
func (p *reader) mayInsert() bool {
	g := &p.d.Grammar
	return p.isVerb() || g.Merge && p.isWord("merge") || g.Output && p.isWord("output")
}

// fork returns a parser at the same place that changes nothing of p's.
func (p *parser) fork() *parser {
	if p.free == nil {
		p.free = &freeNames{}
	}
	q := *p
	q.inside = true
	q.inserts, q.edits, q.slots, q.refusal = nil, nil, nil, nil
	return &q
}

// judgeInside reads the INSERT whose table's name the parser, a fork of outer,
// has read.
func (p *parser) judgeInside(outer *parser, h head, at int, reason Reason) {
	state := newInsertState(h, at)
	in := &state
	if h.unsure != "" {
		reason = h.unsure
	}
	if h.reason != "" {
		reason = h.reason
	} else if p.rest(in) == "" && !p.lacks(reason) {
		outer.inserts = append(outer.inserts, in.Insert)
		return
	}
	outer.refuse(h.target, at, reason)
}

// lacks reports whether an INSERT inside another statement does not bring its
// keys for certain: a placeholder may be bound to none. Those of PREPARE are
// bound by EXECUTE, which is not ours to see.
func (p *parser) lacks(reason Reason) bool {
	return slices.ContainsFunc(p.slots, func(s slot) bool { return s.kind == slotKey || reason != ErrPrepare })
}

// hidden returns the configured table that an INSERT inside an executable
// comment, or behind one whose end is not certain, may fill; nil where there
// is none.
func (p *parser) hidden(t token) *Target {
	text := p.text(t)
	inner := strings.TrimLeft(text[strings.IndexByte(text, '!')+1:], "0123456789")
	inner = strings.TrimSuffix(inner, "*/")
	if strings.Contains(inner, "*/") {
		// A server of another version goes on behind the first of them.
		if hasVerb(p.d, p.q[t.start:]) {
			return p.mentionedAnywhere()
		}
		return nil
	}
	q := &parser{reader: readerAt(p.d, inner, 0), lookup: p.lookup, standing: p.standing}
	for ; q.tok.kind != tokEnd; q.advance() {
		if !q.isAny("insert", "replace", "load") {
			continue
		}
		h := q.fork().head()
		if h.target != nil {
			return h.target
		}
		if h.name.table == "" || q.isWord("load") {
			// The table's name may stand outside of the comment.
			return p.mentionedAnywhere()
		}
	}
	return nil
}

// mentionedAnywhere is mentioned for the whole text, which it reads once.
func (p *parser) mentionedAnywhere() *Target {
	if !p.searched {
		p.searched, p.anywhere = true, p.mentioned(p.q)
	}
	return p.anywhere
}

// outputInto judges OUTPUT … INTO t (a, b), which stores rows of its own:
// Transact-SQL reference, "OUTPUT clause".
func (p *parser) outputInto() {
	q := p.fork()
	for depth := 0; !q.atEnd(); q.advance() {
		switch {
		case q.isPunct('('):
			depth++
		case q.isPunct(')'):
			depth--
		case depth < 0 || q.isAny("values", "select", "from", "where", "exec", "execute", "insert"):
			return
		case depth > 0 || !q.isWord("into"):
			continue
		}
		if !q.accept("into") {
			continue
		}
		n, ok := q.tableName()
		if !ok {
			return
		}
		if t := p.lookup(n.schema, n.table); t != nil {
			p.loaded(t, n.start, q.names(), ErrOutputInto)
		}
		return
	}
}

// definition passes a statement that defines or permits something: the body of
// a routine or trigger is not executed now. It reports whether the text ends
// inside of one.
func (p *parser) definition() (open bool) {
	switch {
	case !p.isAny("create", "alter") || !p.defines():
		p.defined()
	case p.d.Grammar.RoutineIsRest:
		for p.tok.kind != tokEnd {
			p.advance()
		}
	default:
		return p.routine()
	}
	return false
}

// defined reads a definition without a body. The query of CREATE TABLE AS runs
// now, with what its WITH clause modifies: see modifies for which engine has that.
func (p *parser) defined() {
	g := &p.d.Grammar
	for depth := 0; !(p.tok.kind == tokEnd || depth <= 0 && p.isPunct(';')); p.advance() {
		if depth <= 0 && p.several == ErrSeveral && (p.begins() || p.opensBlock() != plain) {
			return
		}
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case g.NoSemicolon, g.Copy && depth > 0, p.tok.kind == tokExec:
			p.nested(p.beside())
		}
	}
}

// passDefinition moves past a statement that defines or permits something, and reports
// whether the text ends inside the body of a routine or trigger.
func (p *reader) passDefinition() (open bool) {
	switch {
	case !p.isAny("create", "alter") || !p.defines():
		for depth := 0; p.tok.kind != tokEnd && (depth > 0 || !p.isPunct(';')); p.advance() {
			switch {
			case p.isPunct('('):
				depth++
			case p.isPunct(')'):
				depth--
			}
		}
	case p.d.Grammar.RoutineIsRest:
		for p.tok.kind != tokEnd {
			p.advance()
		}
	default:
		_, open = p.routineBody()
	}
	return open
}

// routine reads the definition of a routine or trigger to the semicolon behind
// it, and reports whether the text ends before: where the body ends is not
// certain then, and an INSERT behind its first semicolon is not passed.
func (p *parser) routine() (open bool) {
	first, open := p.routineBody()
	if !open {
		if p.isPunct(';') {
			p.bodies = len(p.inserts) + 1
		}
		return false
	}
	for p.reader = *first; p.tok.kind != tokEnd; p.advance() {
		p.nested(ErrBlock)
	}
	return true
}

// routineBody reads the definition of a routine or trigger up to the semicolon behind it, and
// reports whether the text ends before; first is where its first semicolon stands then.
//
// END closes a block only where a statement could begin, so neither CASE … END
// nor a column of that name counts.
func (p *reader) routineBody() (first *reader, open bool) {
	var before token
	depth, body := 0, 0
	starts := false // a statement of the body may begin here
	for ; p.tok.kind != tokEnd; p.advance() {
		started := starts
		starts = p.isPunct(';')
		switch {
		case starts && depth <= 0 && body == 0:
			return nil, false
		case starts && first == nil:
			q := *p
			first = &q
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth > 0:
		case p.isWord("begin") && p.opensBody(before, body):
			body++
			starts = true
		case p.isWord("atomic"):
			starts = started
		case p.isWord("end") && started && body > 0 && !p.nextIsAny("if", "case", "loop", "while", "repeat", "for"):
			// END IF, END CASE and END LOOP close blocks that are not counted.
			body--
		}
		before = p.tok
	}
	return first, first != nil && (depth > 0 || body > 0)
}

// opensBody reports whether the BEGIN here, behind another token and inside of
// so many blocks, opens a block of a routine: it may be a name, as of a column.
// Where it could be either it opens one, so that what follows is refused and not
// taken for what runs now.
func (p *reader) opensBody(before token, blocks int) bool {
	text := p.text(before)
	switch before.kind {
	case tokPunct:
		if text != ")" && text != ";" && text != ":" {
			return false
		}
	case tokWord:
		for _, w := range beforeNames {
			if equalWord(text, w) {
				return false
			}
		}
	}
	if words := p.d.Grammar.BodyWords; words != nil {
		return blocks == 0 && p.nextIsAny(words...)
	}
	q := *p
	q.advance()
	return q.isPunct('(') || q.tok.kind != tokPunct && !q.isAny(behindNames...)
}

// beforeNames and behindNames are words between which BEGIN is a name.
var (
	beforeNames = []string{
		"of", "select", "all", "distinct", "by", "from", "join", "update", "on", "to", "into", "table", "only",
		"procedure", "function", "trigger", "event", "rule", "exists", "follows", "precedes",
	}
	behindNames = []string{"from", "into", "where", "order", "group", "limit", "is", "in", "and", "or", "as"}
)

// nextIsAny reports whether the token behind the current one is one of the words.
func (p *reader) nextIsAny(words ...string) bool {
	q := *p
	q.advance()
	return q.isAny(words...)
}

// defines reports whether CREATE or ALTER is of something with a body of
// statements, and moves behind the words that say so.
func (p *reader) defines() bool {
	prefixes := []string{"or", "replace", "alter", "temp", "temporary", "constraint", "aggregate", "editionable", "noneditionable", "type"}
	p.advance()
	for {
		switch {
		case p.isAny(p.d.Grammar.Routines...):
			return true
		case p.tok.kind == tokExec, slices.ContainsFunc(prefixes, p.isWord):
			p.advance()
		case p.accept("definer"):
			// DEFINER = user@host or CURRENT_USER()
			p.acceptPunct('=')
			p.advance()
			p.brackets()
			if p.tok.kind == tokVar {
				p.advance()
			}
		default:
			return false
		}
	}
}
