package schemafile

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// create reads the rest of a statement after CREATE. It reports whether the reader
// understands the statement, which is true of every statement that concerns no table.
func (r *reader) create(s *statement) bool {
	isUnique := false
	for !s.isEnd() {
		switch {
		case s.isAny("temporary", "temp"):
			return true // a temporary table is skipped, since it belongs to a session
		case s.accept("or"), s.accept("replace"), s.accept("unlogged"), s.accept("clustered"), s.accept("nonclustered"),
			s.accept("global"), s.accept("local"), s.accept("fulltext"), s.accept("spatial"), s.accept("bitmap"):
		case s.accept("unique"):
			isUnique = true
		case s.accept("definer"), s.accept("algorithm"):
			r.skipDefiner(s)
		case s.accept("sql", "security"):
			s.next()
		case s.accept("table"), s.accept("foreign", "table"):
			return r.createTable(s)
		case s.accept("index"):
			r.createIndex(s, isUnique)
			return true
		case s.accept("view"), s.accept("materialized", "view"), s.accept("recursive", "view"):
			r.createView(s)
			return true
		case s.accept("trigger"), s.accept("constraint", "trigger"):
			r.createTrigger(s)
			return true
		case s.accept("function"):
			r.createFunction(s)
			return true
		case s.accept("domain"):
			r.createDomain(s)
			return true
		case s.accept("collation"):
			r.createCollation(s)
			return true
		default:
			return true
		}
	}
	return true
}

// skipDefiner skips = user@host, and = CURRENT_USER.
func (r *reader) skipDefiner(s *statement) {
	s.accept("=")
	s.next()
	if s.accept("@") {
		s.next()
		return
	}
	// After some users the @ and the host are one token, which looks like a variable.
	for !s.isEnd() && strings.HasPrefix(s.tokens[s.at].text, "@") {
		s.next()
	}
}

// createTable reads the rest of a statement after CREATE TABLE.
func (r *reader) createTable(s *statement) bool {
	ifNot := s.accept("if", "not", "exists")
	schema, name := s.qualified()
	if name == "" {
		return false
	}
	if strings.IndexByte(r.d.Grammar.SessionNames, name[0]) >= 0 {
		return true
	}
	if before := r.table(schema, name); before != nil {
		if ifNot {
			return true
		}
		r.tables = slices.DeleteFunc(r.tables, func(t *catalog.Declaration) bool { return t == before })
	}
	if s.accept("partition", "of") {
		t := r.declare(schema, name)
		if parent := r.table(s.qualified()); parent != nil {
			t.Columns, t.Indexes = slices.Clone(parent.Columns), slices.Clone(parent.Indexes)
			parent.Split = true
		}
		t.Partition, t.Child = true, true
		return true
	}
	if s.accept("like") {
		return r.like(r.declare(schema, name), s)
	}
	inner, ok := s.brackets()
	if !ok {
		return false // CREATE TABLE … AS SELECT and CREATE TABLE … OF a type are not read
	}
	t := r.declare(schema, name)
	understood := true
	for _, part := range parts(inner) {
		understood = r.element(t, &statement{d: r.d, tokens: part}) && understood
	}
	r.options(t, s)
	return understood
}

// like reads the name of a table, and adds the columns of that table to t.
func (r *reader) like(t *catalog.Declaration, s *statement) bool {
	from := r.table(s.qualified())
	if from == nil {
		return false
	}
	t.Columns = append(t.Columns, from.Columns...)
	if r.d.Family == dialect.FamilyMySQL || s.is("including", "all") || s.is("including", "indexes") {
		t.Indexes = append(t.Indexes, from.Indexes...)
	}
	return true
}

// options reads the text after the columns of a table.
func (r *reader) options(t *catalog.Declaration, s *statement) {
	for !s.isEnd() {
		switch {
		case s.accept("inherits"):
			t.Child = true
			inner, _ := s.brackets()
			for _, part := range parts(inner) {
				if parent := r.table((&statement{d: r.d, tokens: part}).qualified()); parent != nil {
					t.Columns = append(inherited(parent), t.Columns...)
				}
			}
		case s.accept("partition", "by"):
			t.Split = true
		case s.accept("collate"):
			s.accept("=")
			if name := s.name(); name != "" {
				collate(t, name)
			}
		default:
			s.skip()
		}
	}
}

// inherited returns the columns that a table inherits from parent. A column in the primary
// key of parent cannot be NULL in that table either.
func inherited(parent *catalog.Declaration) []catalog.Declared {
	columns := slices.Clone(parent.Columns)
	for i := range columns {
		for _, index := range parent.Indexes {
			if index.Primary && slices.Contains(index.Columns, columns[i].Name) {
				columns[i].NotNull = true
			}
		}
	}
	return columns
}

// collate sets the collation of the text columns of a table that have none of their own.
func collate(t *catalog.Declaration, name string) {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Collation == "" && (strings.Contains(c.Type, "char") || strings.Contains(c.Type, "text")) && !strings.Contains(c.Type, "binary") {
			c.Collation = name
		}
	}
}

// element reads one part of the brackets of a CREATE TABLE: a column, or a constraint.
func (r *reader) element(t *catalog.Declaration, s *statement) bool {
	if s.isEnd() {
		return true
	}
	if s.accept("like") {
		return r.like(t, s)
	}
	if r.constraint(t, s) {
		return true
	}
	_, ok := r.column(t, s)
	return ok
}

// constraint reads a constraint or an index of a table, and reports whether the next tokens
// are a constraint or an index.
func (r *reader) constraint(t *catalog.Declaration, s *statement) bool {
	begin := s.at
	name := ""
	if s.accept("constraint") && !s.isAny("primary", "unique", "foreign", "check") {
		name = s.name()
	}
	switch {
	case s.accept("primary", "key"):
		t.Indexes = append(t.Indexes, catalog.DeclaredIndex{Name: name, Unique: true, Primary: true, Columns: r.indexed(s)})
	case s.is("unique") && !s.isColumnNamed():
		s.next()
		_ = s.accept("key") || s.accept("index")
		s.accept("nulls", "not", "distinct")
		t.Indexes = append(t.Indexes, catalog.DeclaredIndex{Name: name, Unique: true, Columns: r.indexed(s)})
	case s.accept("foreign", "key"):
		r.foreignKey(t, s, name)
	case s.isAny("key", "index") && !s.isColumnNamed():
		s.next()
		t.Indexes = append(t.Indexes, catalog.DeclaredIndex{Columns: r.indexed(s)})
	case s.is("check", "("), s.is("exclude"), s.is("period", "for"), s.isAny("fulltext", "spatial") && !s.isColumnNamed():
	default:
		s.at = begin
		return false
	}
	return true
}

// isColumnNamed reports whether the next word, which could begin a constraint, is the name
// of a column: a type follows it, as in "key text".
func (s *statement) isColumnNamed() bool {
	if s.at+1 >= len(s.tokens) {
		return true
	}
	after := s.tokens[s.at+1]
	if after.kind != scan.Word {
		return false
	}
	switch strings.ToLower(after.text) {
	case "key", "index", "clustered", "nonclustered", "nulls", "using":
		return false
	}
	if s.at+2 >= len(s.tokens) {
		return true // key text
	}
	third := s.tokens[s.at+2]
	if third.text != "(" {
		return !strings.EqualFold(third.text, "using")
	}
	// key varchar(8) is a column, and key name (column) an index.
	return s.at+3 < len(s.tokens) && isDigits(s.tokens[s.at+3].text)
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// indexed skips the text before the columns of an index, and reads the columns. The name of
// a column is empty if only its beginning is in the index, or if it is an expression.
func (r *reader) indexed(s *statement) (columns []string) {
	for !s.isEnd() && !s.is("(") {
		s.next()
	}
	inner, _ := s.brackets()
	for _, part := range parts(inner) {
		p := &statement{d: r.d, tokens: part}
		name := p.name()
		if p.is("(") || p.is(".") {
			name = ""
		}
		columns = append(columns, name)
	}
	return columns
}

// foreignKey reads the text after FOREIGN KEY.
func (r *reader) foreignKey(t *catalog.Declaration, s *statement, name string) {
	columns := r.indexed(s)
	if s.accept("references") {
		r.refers(t, s, name, columns)
	}
}

// refers reads the text after REFERENCES.
func (r *reader) refers(t *catalog.Declaration, s *statement, name string, columns []string) {
	schema, parent := s.qualified()
	var to []string
	if s.is("(") {
		to = r.indexed(s)
	}
	r.references = append(r.references, reference{t, catalog.DeclaredReference{Name: name, Columns: columns, To: to}, schema, parent})
}

// createIndex reads the rest of a statement after CREATE INDEX.
func (r *reader) createIndex(s *statement, isUnique bool) {
	s.accept("concurrently")
	s.accept("if", "not", "exists")
	name := ""
	if !s.is("on") {
		_, name = s.qualified()
	}
	for !s.isEnd() && !s.accept("on") {
		s.next()
	}
	s.accept("only")
	t := r.table(s.qualified())
	if t == nil {
		return
	}
	isTree := !s.is("using") || s.is("using", "btree")
	index := catalog.DeclaredIndex{Name: name, Unique: isUnique, Columns: r.indexed(s), Partial: !isTree}
	for !s.isEnd() {
		if s.accept("where") {
			index.Partial = true
		}
		s.skip()
	}
	t.Indexes = append(t.Indexes, index)
}

// createView declares a view. No policy fills INSERTs into a view.
func (r *reader) createView(s *statement) {
	s.accept("if", "not", "exists")
	if schema, name := s.qualified(); name != "" && r.table(schema, name) == nil {
		r.declare(schema, name).View = true
	}
}
