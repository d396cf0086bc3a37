package schemafile

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// alter reads the rest of a statement after ALTER TABLE, and reports whether it understands
// the statement.
func (r *reader) alter(s *statement) bool {
	s.accept("if", "exists")
	s.accept("only")
	t := r.table(s.qualified())
	if t == nil {
		return true // the script does not declare this table
	}
	s.accept("*")
	_ = s.accept("with", "check") || s.accept("with", "nocheck")
	understood := true
	for _, part := range parts(s.tokens[s.at:]) {
		understood = r.alteration(t, &statement{d: r.d, tokens: part}) && understood
	}
	return understood
}

// alteration reads one change of a table.
func (r *reader) alteration(t *catalog.Declaration, s *statement) bool {
	switch {
	case s.accept("add"):
		return r.add(t, s)
	case s.accept("drop"):
		r.dropPart(t, s)
	case s.accept("alter"):
		r.alterColumn(t, s)
	case s.accept("modify"):
		s.accept("column")
		if inner, ok := s.brackets(); ok { // Oracle
			s = &statement{d: r.d, tokens: inner}
		}
		return r.redefine(t, s, "")
	case s.accept("change"):
		s.accept("column")
		return r.redefine(t, s, s.name())
	case s.accept("rename"):
		r.rename(t, s)
	case s.accept("attach", "partition"):
		t.Split = true
		if part := r.table(s.qualified()); part != nil {
			part.Partition, part.Child = true, true
		}
	}
	return true
}

// add reads the rest of an ALTER TABLE after ADD.
func (r *reader) add(t *catalog.Declaration, s *statement) bool {
	if r.constraint(t, s) {
		return true
	}
	s.accept("column")
	s.accept("if", "not", "exists")
	if inner, ok := s.brackets(); ok { // several columns in brackets, in MySQL and Oracle
		understood := true
		for _, part := range parts(inner) {
			understood = r.element(t, &statement{d: r.d, tokens: part}) && understood
		}
		return understood
	}
	if s.isName() && r.columnAt(t, (&statement{d: r.d, tokens: s.tokens[s.at:]}).name()) >= 0 {
		return true // the table has the column already
	}
	_, ok := r.column(t, s)
	return ok
}

// dropPart reads the rest of an ALTER TABLE after DROP.
func (r *reader) dropPart(t *catalog.Declaration, s *statement) {
	switch {
	case s.accept("primary", "key"):
		t.Indexes = slices.DeleteFunc(t.Indexes, func(i catalog.DeclaredIndex) bool { return i.Primary })
		return
	case s.accept("constraint"), s.accept("index"), s.accept("key"), s.accept("foreign", "key"):
		s.accept("if", "exists")
		name := s.name()
		t.Indexes = slices.DeleteFunc(t.Indexes, func(i catalog.DeclaredIndex) bool {
			// PostgreSQL calls a primary key without a name table_pkey.
			return i.Name == name || i.Primary && i.Name == "" && name == t.Name+"_pkey"
		})
		r.references = slices.DeleteFunc(r.references, func(one reference) bool { return one.child == t && one.ref.Name == name && name != "" })
		return
	}
	s.accept("column")
	s.accept("if", "exists")
	name := s.name()
	if place := r.columnAt(t, name); place >= 0 {
		name = t.Columns[place].Name
		t.Columns = slices.Delete(t.Columns, place, place+1)
		t.Indexes = slices.DeleteFunc(t.Indexes, func(i catalog.DeclaredIndex) bool { return slices.Contains(i.Columns, name) })
		r.references = slices.DeleteFunc(r.references, func(one reference) bool { return one.child == t && slices.Contains(one.ref.Columns, name) })
	}
}

// alterColumn reads the rest of an ALTER TABLE after ALTER.
func (r *reader) alterColumn(t *catalog.Declaration, s *statement) {
	s.accept("column")
	place := r.columnAt(t, s.name())
	if place < 0 {
		return
	}
	c := &t.Columns[place]
	switch {
	case s.accept("set", "default"):
		c.Default = r.expression(s)
	case s.accept("drop", "default"):
		c.Default = ""
	case s.accept("set", "not", "null"):
		c.NotNull = true
	case s.accept("drop", "not", "null"):
		c.NotNull = false
	case s.accept("drop", "identity"):
		c.Numbered = ""
	case s.accept("add", "generated"):
		r.generated(c, s)
	case s.accept("set", "generated"):
		c.Numbered = "ALWAYS"
		if s.is("by", "default") {
			c.Numbered = "BY DEFAULT"
		}
	case s.accept("type"), s.accept("set", "data", "type"), r.d.Family == dialect.FamilySQLServer:
		before := *c
		*c = catalog.Declared{Name: before.Name}
		r.typeOf(c, s)
		c.NotNull, c.Default, c.Numbered = before.NotNull, before.Default, before.Numbered
	}
}

// redefine reads the new definition of a column. before is the column's old name if the
// statement is a CHANGE; otherwise it is empty.
func (r *reader) redefine(t *catalog.Declaration, s *statement, before string) bool {
	fresh := &catalog.Declaration{}
	name, ok := r.column(fresh, s)
	if before == "" {
		before = name
	}
	if place := r.columnAt(t, before); ok && place >= 0 {
		old := t.Columns[place].Name
		t.Columns[place] = fresh.Columns[0]
		renameColumn(t, old, name)
		t.Indexes = append(t.Indexes, fresh.Indexes...)
	}
	return ok
}

// rename reads the rest of an ALTER TABLE after RENAME.
func (r *reader) rename(t *catalog.Declaration, s *statement) {
	if s.accept("to") || s.accept("as") {
		_, t.Name = s.qualified()
		return
	}
	if s.isAny("constraint", "index", "key") {
		return
	}
	s.accept("column")
	before := s.name()
	if place := r.columnAt(t, before); s.accept("to") && place >= 0 {
		old, name := t.Columns[place].Name, s.name()
		t.Columns[place].Name = name
		renameColumn(t, old, name)
	}
}

// renameColumn renames a column in the indexes of its table.
func renameColumn(t *catalog.Declaration, before, name string) {
	for _, index := range t.Indexes {
		for i, column := range index.Columns {
			if column == before {
				index.Columns[i] = name
			}
		}
	}
}
