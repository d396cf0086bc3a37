package simdb

import (
	"fmt"
	"strings"
)

// statement is a SELECT, INSERT, UPDATE or DELETE of one table, or a SELECT without a
// table.
type statement struct {
	text  string // the text of the statement as it was sent
	verb  string
	table string // the name of the table; may be empty
	of    *table // the table, if it is one of keyfill's

	key       []expr   // the primary key, if the WHERE allows one row only; otherwise nil
	outputs   []output // the outputs of a SELECT, or of RETURNING
	where     expr     // the condition of WHERE; nil means all rows
	columns   []int    // the columns that an INSERT names
	values    []expr
	sets      []set // the assignments of an UPDATE, or of an INSERT whose row exists already
	conflicts bool  // whether an INSERT whose row exists already is no error
	look      *look // the parts of a query that firstLook matches; nil for other statements
}

// output is a value that a statement returns for each row. With most or least, it returns
// only the greatest or least of these values.
type output struct {
	value       expr
	most, least bool
}

type set struct {
	column int
	to     expr
}

// parser parses one statement. It panics at anything that it does not know: it must not
// answer a statement that it does not understand exactly.
type parser struct {
	text   string
	tokens []token
	places int // how many placeholders without a number were read
	of     *table
	parts  map[string]func(key int64) int64 // columns of the application's table that are computed from the key

	last  int          // the index of the column that the last value was; -1 if it was not a column
	equal map[int]expr // the values with which columns are compared by =
	other bool         // whether the comparisons in equal need not all hold, as after OR
}

func (p *parser) fail(what string) {
	panic(fmt.Sprintf("simdb: %s before %q in\n%s", what, p.tokens[0].text, p.text))
}

// is reports whether words or signs come next, and skips them if so.
func (p *parser) is(words ...string) bool {
	if !p.sees(words...) {
		return false
	}
	p.tokens = p.tokens[len(words):]
	return true
}

func (p *parser) sees(words ...string) bool {
	for i, w := range words {
		if i >= len(p.tokens) || p.tokens[i].text != w || p.tokens[i].kind != word && p.tokens[i].kind != sign {
			return false
		}
	}
	return true
}

func (p *parser) need(words ...string) {
	if !p.is(words...) {
		p.fail("no " + strings.Join(words, " "))
	}
}

// take skips a token, which must be of a kind, and returns its text.
func (p *parser) take(kind byte) string {
	t := p.tokens[0]
	if t.kind != kind {
		p.fail("something else is expected")
	}
	p.tokens = p.tokens[1:]
	return t.text
}

func parse(text string, parts map[string]func(key int64) int64) *statement {
	if s := lookOf(text, parts); s != nil {
		return s
	}
	return parseFrom(text, 0, parts)
}

// parseFrom parses a part of a statement, with places placeholders without a number before
// it.
func parseFrom(text string, places int, parts map[string]func(key int64) int64) *statement {
	p := &parser{text: text, tokens: lex(text), places: places, equal: map[int]expr{}, parts: parts}
	p.find()
	s := &statement{text: text, verb: p.take(word), of: p.of}
	switch s.verb {
	case "select":
		s.outputs = p.outputs()
		if p.is("from") {
			s.table = p.name()
			p.where(s)
		}
		p.is("for", "update")
	case "update":
		s.table = p.name()
		p.need("set")
		s.sets = p.sets()
		p.where(s)
		p.returning(s)
	case "delete":
		p.need("from")
		s.table = p.name()
		p.where(s)
	case "insert":
		p.insert(s)
	case "set":
		// These statements set session variables that change nothing in the simulated
		// database.
		if text != "SET autocommit = 1, wsrep_sync_wait = 1" && text != "SET autocommit = 1" {
			p.fail("an unknown setting")
		}
		p.tokens = p.tokens[len(p.tokens)-1:]
	default:
		p.fail("an unknown statement")
	}
	if p.tokens[0].kind != end {
		p.fail("the statement does not end")
	}
	return s
}

// find looks for the table first, since a column may be named before it.
func (p *parser) find() {
	for i, t := range p.tokens[:len(p.tokens)-1] {
		if t.kind == word && (t.text == "from" || t.text == "update" || t.text == "into") {
			rest := parser{text: p.text, tokens: p.tokens[i+1:]}
			p.of = tableOf(rest.name())
			return
		}
	}
}

// column returns the index of a column of the table.
func (p *parser) column(name string) int {
	i := p.of.column(name)
	if i < 0 {
		p.fail("no column " + name)
	}
	return i
}

// name parses the name of a table, and returns it without its schema.
func (p *parser) name() string {
	name := p.take(word)
	for p.is(".") {
		name = p.take(word)
	}
	return name
}

func (p *parser) where(s *statement) {
	if !p.is("where") {
		return
	}
	clear(p.equal)
	s.where = p.expr()
	if s.of == nil || p.other {
		return
	}
	for i := range s.of.keys {
		if p.equal[i] == nil {
			s.key = nil
			return
		}
		s.key = append(s.key, p.equal[i])
	}
}

func (p *parser) returning(s *statement) {
	if p.is("returning") {
		s.outputs = p.outputs()
	}
}

func (p *parser) outputs() (all []output) {
	for {
		var o output
		// With two arguments, MAX is another function.
		before, places := p.tokens, p.places
		if o.most, o.least = p.is("max", "("), p.is("min", "("); o.most || o.least {
			o.value = p.expr()
			if p.is(",") {
				p.tokens, p.places, o = before, places, output{}
			} else {
				p.need(")")
			}
		}
		if o.value == nil {
			o.value = p.expr()
		}
		all = append(all, o)
		if !p.is(",") {
			return all
		}
	}
}

func (p *parser) sets() (all []set) {
	for {
		column := p.take(word)
		p.need("=")
		all = append(all, set{p.column(column), p.expr()})
		if !p.is(",") {
			return all
		}
	}
}

func (p *parser) insert(s *statement) {
	p.need("into")
	s.table = p.name()
	p.need("(")
	for {
		s.columns = append(s.columns, p.column(p.take(word)))
		if !p.is(",") {
			break
		}
	}
	p.need(")", "values", "(")
	s.values = p.list()
	if len(s.values) != len(s.columns) {
		p.fail("as many values as columns are expected")
	}
	switch {
	case p.is("on", "duplicate", "key", "update"):
		s.conflicts = true
		s.sets = p.sets()
	case p.is("on", "conflict", "("):
		s.conflicts = true
		p.list()
		p.need("do")
		if !p.is("nothing") {
			p.need("update", "set")
			s.sets = p.sets()
		}
	}
	p.returning(s)
}

// list parses expressions up to a closing bracket.
func (p *parser) list() (all []expr) {
	if p.is(")") {
		return nil
	}
	for {
		all = append(all, p.expr())
		if p.is(")") {
			return all
		}
		p.need(",")
	}
}
