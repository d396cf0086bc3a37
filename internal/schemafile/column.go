package schemafile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// column reads a column with its constraints, and adds it to the table. ok is false if it
// is not understood.
func (r *reader) column(t *catalog.Declaration, s *statement) (name string, ok bool) {
	c := catalog.Declared{Name: s.name()}
	if c.Name == "" {
		return "", false
	}
	r.typeOf(&c, s)
	t.Columns = append(t.Columns, c)
	r.attributes(t, len(t.Columns)-1, s)
	return c.Name, c.Type != "" || r.d.LooseTypes
}

// attributeWords begin the text after the type of a column.
var attributeWords = []string{
	"not", "null", "default", "primary", "unique", "key", "references", "check", "collate", "constraint", "auto_increment",
	"autoincrement", "identity", "generated", "as", "comment", "on", "character", "charset", "storage", "compression", "invisible",
	"visible", "column_format", "srid", "with", "without", "sparse", "rowguidcol", "persisted", "virtual", "stored", "ascii",
	"unicode", "masked", "encoding", "encode", "first", "after", "enable", "disable", "deferrable", "initially", "using",
}

// typeOf reads the type of a column into c.
func (r *reader) typeOf(c *catalog.Declared, s *statement) {
	var words []string
	if s.isName() && !s.isAny(attributeWords...) || s.isAny("character") {
		if s.tokens[s.at].kind == scan.Word {
			words = append(words, s.word())
			for s.accept(".") { // pg_catalog.int4
				words = []string{strings.ToLower(s.name())}
			}
		} else {
			words = append(words, strings.ToLower(s.name()))
			for s.accept(".") {
				words = []string{strings.ToLower(s.name())}
			}
		}
	}
	for s.isAny("varying", "precision", "large", "byte", "raw") || len(words) > 0 && words[0] == "national" && s.isAny("char", "character", "varchar") || len(words) > 0 && words[0] == "long" && s.isAny("varchar") {
		words = append(words, s.word())
	}
	c.Type = strings.Join(words, " ")
	if inner, ok := s.brackets(); ok {
		c.Sizes = sizesOf(inner)
		if len(c.Sizes) == 0 && len(inner) == 1 {
			c.Words = append(c.Words, strings.ToLower(inner[0].text)) // (max)
		}
	}
	if s.is("with", "time", "zone") || s.is("without", "time", "zone") {
		c.Type += " " + s.word() + " " + s.word() + " " + s.word()
	}
	for s.isAny("unsigned", "signed", "zerofill") {
		if word := s.word(); word != "signed" {
			c.Words = append(c.Words, word)
		}
	}
	for s.accept("[") { // an array of PostgreSQL
		c.Type += "[]"
		for !s.isEnd() && !s.accept("]") {
			s.next()
		}
	}
	if domain := r.domains[c.Type]; domain != nil {
		from := *domain
		from.Name, from.Words = c.Name, nil
		*c = from
	}
}

// sizesOf returns the numbers in brackets after a type; none if the brackets hold
// anything else.
func sizesOf(inner []token) (sizes []int) {
	for _, part := range parts(inner) {
		if len(part) == 0 {
			return nil
		}
		n, err := strconv.Atoi(part[0].text) // VARCHAR2(10 CHAR) of Oracle has a word after the number
		if err != nil {
			return nil
		}
		sizes = append(sizes, n)
	}
	return sizes
}

// attributes reads the text after the type of a column. place is the column's index in the
// table.
func (r *reader) attributes(t *catalog.Declaration, place int, s *statement) {
	c := &t.Columns[place]
	constraint := ""
	for !s.isEnd() {
		switch {
		case s.accept("constraint"):
			constraint = s.name()
			continue
		case s.accept("not", "null"):
			c.NotNull = true
		case s.accept("default"):
			c.Default = r.expression(s)
		case s.accept("primary", "key"):
			t.Indexes = append(t.Indexes, catalog.DeclaredIndex{Name: constraint, Unique: true, Primary: true, Columns: []string{c.Name}})
		case s.accept("unique"):
			s.accept("key")
			t.Indexes = append(t.Indexes, catalog.DeclaredIndex{Name: constraint, Unique: true, Columns: []string{c.Name}})
		case s.accept("auto_increment"):
			c.Numbered = "AUTO_INCREMENT"
		case s.accept("autoincrement"):
			c.Numbered = "AUTOINCREMENT"
		case s.accept("identity"):
			c.Numbered = "IDENTITY"
			s.brackets()
		case s.accept("generated"):
			r.generated(c, s)
		case s.accept("as"):
			if _, ok := s.brackets(); ok {
				c.Computed = true
			}
		case s.accept("collate"):
			if _, name := s.qualified(); name != "" {
				c.Collation = name
				if r.loose[name] {
					c.Collation += catalog.NotDeterministic
				}
			}
		case s.accept("references"):
			r.refers(t, s, constraint, []string{c.Name})
		case s.is("key") && r.d.Family == dialect.FamilyMySQL: // KEY alone means PRIMARY KEY
			s.next()
			t.Indexes = append(t.Indexes, catalog.DeclaredIndex{Unique: true, Primary: true, Columns: []string{c.Name}})
		case s.accept("comment"):
			s.next()
		default:
			s.skip()
		}
		constraint = ""
	}
}

// generated reads the text after GENERATED.
func (r *reader) generated(c *catalog.Declared, s *statement) {
	how := "ALWAYS"
	if s.accept("by", "default") {
		how = "BY DEFAULT"
		s.accept("on", "null")
	} else {
		s.accept("always")
	}
	s.accept("as")
	if s.accept("identity") {
		c.Numbered = how
		s.brackets()
		return
	}
	s.brackets()
	c.Computed = true
}

// expression reads the expression after DEFAULT, and returns its text.
func (r *reader) expression(s *statement) string {
	begin := s.at
	for !s.isEnd() {
		isFirst := s.at == begin
		if !isFirst && s.isAny(attributeWords...) && !s.is("with", "time") && !s.is("without", "time") && !s.is("character", "varying") && !s.isBehindCast() {
			break
		}
		s.skip()
	}
	return textOf(s.tokens[begin:s.at])
}

// isBehindCast reports whether the token before the next one precedes the name of a type,
// as in 'a'::character varying.
func (s *statement) isBehindCast() bool { return s.at > 0 && s.tokens[s.at-1].text == ":" }

// columnAt returns the index of a column in a table, or -1 if the table does not have it.
func (r *reader) columnAt(t *catalog.Declaration, name string) int {
	return slices.IndexFunc(t.Columns, func(c catalog.Declared) bool {
		return r.d.Fold(c.Name, true) == r.d.Fold(name, true)
	})
}
