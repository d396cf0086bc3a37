package schemafile

import (
	"io"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlscript"
)

// Unread is a statement about tables that is not understood.
type Unread struct {
	Line int    // of the script, from 1
	What string // its first words
}

// reader holds the declarations of the statements so far.
type reader struct {
	d          *dialect.Dialect
	tables     []*catalog.Declaration // in their order
	domains    map[string]*catalog.Declared
	loose      map[string]bool   // collations that take two texts for one
	bodies     map[string]string // of functions, for triggers
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

// Read returns the tables that scripts declare, one after the other, and the statements
// about tables that are not understood. It fails where a script cannot be read or split.
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

// goesDown reports whether the comments before a statement begin the part of a migration
// that takes it back.
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
		return // rows of a dump among them, which are not looked at
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

// firstWord returns the first word of a text in lower case, or what opens a comment that
// the engine runs.
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

// table returns the declared table of a name, nil if there is none.
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

// isHome reports whether a name without a schema is found in a schema.
func (r *reader) isHome(schema string) bool {
	return schema == "" || r.d.HomeSchema != "" && r.d.Fold(schema, true) == r.d.HomeSchema
}

// declare adds a table, and returns it.
func (r *reader) declare(schema, name string) *catalog.Declaration {
	t := &catalog.Declaration{Schema: schema, Name: name, Visible: r.isHome(schema)}
	r.tables = append(r.tables, t)
	return t
}

// drop reads a DROP TABLE after these words.
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

// renameTables reads a RENAME TABLE of MySQL after these words.
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

// bind gives the triggers their functions and the foreign keys their parents.
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
