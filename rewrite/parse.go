package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// parser reads the statements of one text and collects what has to change.
type parser struct {
	reader
	lookup Lookup

	statements int
	several    Reason // for an INSERT that is not the only statement
	starts     []int  // where the statements behind the first begin, if they are executed one by one
	semicolons []int  // the semicolons behind the last statement, if statements are executed one by one
	asking     int    // statements with placeholders
	unbound    Reason // why keys cannot be arguments
	shut       bool   // what follows may be read otherwise, or not run
	branched   bool   // what follows may run not at all
	procedural bool   // what follows stands in a block of PL/SQL
	jumps      bool   // statements may run more than once
	bodies     int    // one more than the inserts before the end of the last routine's body; 0 for none
	explained  bool   // the statement is explained, and does not run
	ctes       []cte  // the names of the statement's WITH clause
	outer      with   // that clause
	enclosing  with   // of the statement around an INSERT in a WITH clause, what stands in front of that
	recursive  bool   // what stands there may name what stands behind
	inside     bool   // an INSERT inside another statement is being judged

	// temporary says that temporary tables may matter to the text, made are those
	// that it has made before, maybe the names, without a schema, of those that it
	// may have made; moved says that a statement before may have dropped or renamed
	// some, and began is where the last one begins. standing is nil where the
	// connection has none: see CompileBeside.
	temporary bool
	made      map[string][]name // by the table's name
	maybe     map[string]bool
	searches  bool // the text sets a search path, by which another table may come first
	moved     bool
	began     int
	standing  func(TableName) Standing

	guarded bool // a value is written so that the engine refuses a set: see scalars

	streams bool // the rows come as executions: see Plan.Load

	ofValues bool // VALUES is a part of a larger query, which the refusal is about

	blamed int // the offset of what a refusal is about, where that is not tok; else 0

	// settings is where the first setting of a SET STATEMENT stands, settingsOf the
	// offset of the statement behind it; 0 before there is one.
	settings, settingsOf int

	searched bool    // whether anywhere is known
	anywhere *Target // the first configured table that the text mentions

	// constants are the spans of VALUES rows all of whose values are constants,
	// for what is read of them a second time: see undisturbed.
	constants []token

	first   *firstParts // the memory of the plan and its first insert; nil before there is one
	lists   string      // what the last column list got, since the lists of a text are often alike
	inserts []Insert
	edits   []edit
	slots   []slot
	cuts    []upsertClause // with placeholders, which are not sent
	refusal *Refusal
}

// cte is a name that a WITH clause defines.
type cte struct {
	name string // folded
	body int    // where its definition begins
}

// Compile returns the plan for a query. Equal queries give equal plans.
func Compile(d *dialect.Dialect, lookup Lookup, query string) *Plan {
	// The plan may outlive the string that the query is a piece of.
	query = strings.Clone(query)
	p := &parser{reader: readerAt(d, query, 0), lookup: lookup}
	p.statementsOf()
	return p.plan()
}

// statementsOf reads all statements of the text.
func (p *parser) statementsOf() {
	p.several = ErrSeveral
	for p.tok.kind != tokEnd {
		if p.isPunct(';') {
			if p.d.Transactions.OneByOne {
				p.semicolons = append(p.semicolons, p.tok.start)
			}
			p.advance()
			continue
		}
		p.semicolons = p.semicolons[:0]
		if p.statements++; p.statements > 1 && p.d.Transactions.OneByOne {
			p.starts = append(p.starts, p.tok.start)
		}
		asked := p.params.count
		p.statement()
		if p.params.count > asked {
			p.asking++
		}
	}
}

// refuse notes why the INSERT cannot be filled; the first reason in the text
// stands.
func (p *parser) refuse(t *Target, offset int, reason Reason) {
	if p.refusal == nil {
		p.refusal = &Refusal{Target: t, Table: t.Table, Column: t.Keys[0].Column, Offset: offset, Reason: reason, ofValues: p.ofValues}
	}
}

// skipWords are the words that matter in a statement that is skipped: those that
// may begin an INSERT, or say how what follows is read, or whether and how often
// it runs.
var skipWords = newWordSet(`insert replace merge output quoted_identifier ansi_defaults noexec parseonly fmtonly
	showplan_all showplan_text showplan_xml rowcount sql_mode character_set_client goto declare if begin while return`)

// hurries reports whether nothing in the rest of the statement matters: the text is
// refused already, and only a semicolon ends the statement.
func (p *parser) hurries() bool {
	return p.refusal != nil && p.limit == 0 && !p.d.Grammar.NoSemicolon
}

// hurry moves to the end of the statement where the parser hurries.
func (p *reader) hurry() {
	for p.tok.kind != tokEnd && !p.isPunct(';') {
		p.prev = p.tok.end
		for p.pos < len(p.q) {
			c := p.q[p.pos]
			if classes[c]&(classPunct|classSpace) == 0 || c == ';' {
				break
			}
			if p.pos++; classes[c]&classPunct != 0 {
				p.prev = p.pos
			}
		}
		p.read()
	}
}

// statement reads one statement up to its semicolon.
func (p *parser) statement() {
	g := &p.d.Grammar
	p.ctes, p.outer = p.ctes[:0], with{}
	p.precedes()
	switch {
	case p.procedural && p.controls():
	case p.tok.kind == tokExec:
		p.skip(ErrExecutableComment)
	case p.isVerb():
		p.insert()
	case p.isWord("with"):
		p.with()
	case p.setsStatement():
		p.setStatement()
	case g.Merge && p.isWord("merge"):
		p.merge()
	case g.Copy && p.isWord("copy"):
		p.copy()
	case g.Load && p.isWord("load"):
		p.load()
	case g.Bulk && p.isInsertBulk():
		p.insertBulk()
	case g.Bulk && p.isWord("bulk"):
		p.skip(ErrBulk)
	case p.isAny("create", "alter", "drop", "grant", "revoke", "deny", "comment"):
		p.definition()
	case p.isAny("explain", "describe", "desc", "analyze"):
		p.explain()
	case p.isWord("prepare"):
		p.prepare()
	case g.Blocks && p.isAny("begin", "declare", "if", "while"), p.opensBlock() != plain:
		p.block()
	default:
		p.skip(p.beside())
	}
}

// beside is the reason for an INSERT that does not begin the statement.
func (p *parser) beside() Reason {
	if p.d.Grammar.NoSemicolon || p.several != ErrSeveral {
		return p.several
	}
	return ErrCTE
}

// skip moves to the end of the statement. An INSERT into a configured table
// found on the way is refused for the reason.
func (p *parser) skip(reason Reason) {
	if p.hurries() {
		p.hurry()
		return
	}
	for depth := 0; !p.atEnd(); p.advance() {
		if p.tok.kind == tokWord && !p.isIn(skipWords) {
			continue
		}
		p.passed()
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth <= 0 && reason == ErrSeveral && (p.begins() || p.opensBlock() != plain):
			return
		case depth > 0 && reason == ErrSeveral:
			p.nested(ErrCTE)
		default:
			p.nested(reason)
		}
	}
}
