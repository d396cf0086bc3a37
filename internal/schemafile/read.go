package schemafile

import (
	"io"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlscript"
)

// Unread is a statement about tables that the reader does not understand.
type Unread struct {
	Line int    // the line of the script in which it begins, from 1
	What string // its first words
}

// reader holds the declarations of the statements that were read so far.
type reader struct {
	d          *dialect.Dialect
	tables     []*catalog.Declaration // in the order of their declaration
	domains    map[string]*catalog.Declared
	loose      map[string]bool   // the names of collations in which two different texts may be equal
	bodies     map[string]string // the bodies of functions, by name, for triggers
	calls      []call
	references []reference
	unread     []Unread
}

// call is a trigger that calls a function, which the script may define later.
type call struct {
	table    *catalog.Declaration
	trigger  catalog.Trigger
	function string
}

// reference is a foreign key, whose parent the script may declare later.
type reference struct {
	child          *catalog.Declaration
	ref            catalog.DeclaredReference
	schema, parent string
}

// Read returns the tables that the scripts declare, one script after the other, and the
// statements about tables that it does not understand. It fails if a script cannot be read
// or split.
func Read(d *dialect.Dialect, scripts ...io.Reader) (*catalog.Overview, []Unread, error) {
	r := &reader{d: d, domains: map[string]*catalog.Declared{}, loose: map[string]bool{}, bodies: map[string]string{}}
	for _, script := range scripts {
		isDown := false
		for one, err := range sqlscript.Statements(d, script) {
			if err != nil {
				return nil, nil, err
			}
			if isDown = goesDown(one.Comments, isDown); !isDown {
				r.read(one)
			}
		}
	}
	r.bind()
	return catalog.Declare(d, r.tables), r.unread, nil
}

// goesDown reports whether the text after the comments is the part of a migration that
// undoes it. isDown says whether the text before the comments is in such a part.
func goesDown(comments string, isDown bool) bool {
	for line := range strings.Lines(comments) {
		words := strings.Fields(strings.ToLower(strings.TrimLeft(line, "-/* ")))
		if len(words) > 1 && (words[0] == "+goose" || words[0] == "+migrate") {
			switch words[1] {
			case "up":
				isDown = false
			case "down":
				isDown = true
			}
		}
	}
	return isDown
}

// read reads one statement.
func (r *reader) read(one sqlscript.Statement) {
	switch first := firstWord(one.Text); first {
	case "create", "alter", "drop", "rename", "comment", "/*!", "/*m!", "if":
	default:
		return // the statement defines no table, as an INSERT with the rows of a dump
	}
	s := &statement{d: r.d, tokens: tokensOf(r.d, one.Text)}
	understood := true
	switch {
	case s.accept("create"):
		understood = r.create(s)
	case s.accept("alter", "table"):
		understood = r.alter(s)
	case s.accept("drop", "table"):
		r.drop(s)
	case s.accept("rename", "table"):
		r.renameTables(s)
	}
	if !understood {
		r.unread = append(r.unread, Unread{Line: one.Line, What: firstWords(s.tokens)})
	}
}

// firstWord returns the first word of a text in lower case, or the characters that open a
// comment which the engine runs.
func firstWord(text string) string {
	if strings.HasPrefix(text, "/*") && strings.Contains(text[:min(len(text), 4)], "!") {
		return "/*!"
	}
	end := strings.IndexFunc(text, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
	if end < 0 {
		end = len(text)
	}
	return strings.ToLower(text[:end])
}

// firstWords returns the beginning of a statement up to its first bracket.
func firstWords(tokens []token) string {
	n := slices.IndexFunc(tokens, func(t token) bool { return t.text == "(" })
	if n < 0 || n > 6 {
		n = min(6, len(tokens))
	}
	return textOf(tokens[:n])
}

// table returns the declared table that a name means; nil if no such table is declared.
func (r *reader) table(schema, name string) *catalog.Declaration {
	for _, t := range r.tables {
		if r.d.FoldTable(t.Name, true) != r.d.FoldTable(name, true) {
			continue
		}
		if schema == "" && t.Visible || schema != "" && r.d.FoldTable(t.Schema, true) == r.d.FoldTable(schema, true) || t.Schema == "" && t.Visible && r.isHome(schema) {
			return t
		}
	}
	return nil
}

// isHome reports whether the engine finds a table of the schema by a name without a schema.
func (r *reader) isHome(schema string) bool {
	return schema == "" || r.d.HomeSchema != "" && r.d.Fold(schema, true) == r.d.HomeSchema
}

// declare adds a table, and returns it.
func (r *reader) declare(schema, name string) *catalog.Declaration {
	t := &catalog.Declaration{Schema: schema, Name: name, Visible: r.isHome(schema)}
	r.tables = append(r.tables, t)
	return t
}

// drop reads the rest of a statement after DROP TABLE.
func (r *reader) drop(s *statement) {
	s.accept("if", "exists")
	for {
		gone := r.table(s.qualified())
		r.tables = slices.DeleteFunc(r.tables, func(t *catalog.Declaration) bool { return t == gone })
		if !s.accept(",") {
			return
		}
	}
}

// renameTables reads the rest of a statement of MySQL after RENAME TABLE.
func (r *reader) renameTables(s *statement) {
	for {
		t := r.table(s.qualified())
		if !s.accept("to") {
			return
		}
		_, name := s.qualified()
		if t != nil && name != "" {
			t.Name = name
		}
		if !s.accept(",") {
			return
		}
	}
}

// bind sets the functions of the triggers and the parents of the foreign keys.
func (r *reader) bind() {
	for _, c := range r.calls {
		c.trigger.Body = r.bodies[c.function]
		c.table.Triggers = append(c.table.Triggers, c.trigger)
	}
	for _, one := range r.references {
		if one.ref.Parent = r.table(one.schema, one.parent); one.ref.Parent != nil {
			one.child.Refers = append(one.child.Refers, one.ref)
		}
	}
}
