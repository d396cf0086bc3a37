package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// ColumnDefinition is the text after the name of a column in SHOW CREATE TABLE of MySQL
// and MariaDB. MODIFY removes each part of it that the statement does not repeat: "ALTER
// TABLE Statement" of the MySQL 8.4 Reference Manual.
type ColumnDefinition struct {
	Type    string // "int(10) unsigned"
	Charset string // "CHARACTER SET ascii COLLATE ascii_bin"; may be empty

	// Attributes are the other parts, in order: "NOT NULL", "DEFAULT '5'",
	// "AUTO_INCREMENT", "COMMENT 'a text'". A longer attribute may be in several elements.
	Attributes []string
}

// ReadColumnDefinition reads the definition of a column. All names are spelled as in the
// catalog. It returns nil if the text of SHOW CREATE TABLE has no such column, for example
// the text of a view. The definition lacks attributes such as AUTO_INCREMENT if MariaDB's
// sql_mode contains NO_FIELD_OPTIONS, or the name of another engine.
func ReadColumnDefinition(ctx context.Context, d *dialect.Dialect, q Querier, schema, table, column string) (*ColumnDefinition, error) {
	name := d.QuoteIdent(table)
	if schema != "" {
		name = d.QuoteIdent(schema) + "." + name
	}
	rows, err := q.Rows(ctx, "SHOW CREATE TABLE "+name)
	if err != nil || len(rows) == 0 || len(rows[0]) < 2 {
		return nil, err
	}
	c := cells{row: rows[0]}
	text := c.text(1)
	return definitionIn(text, column), c.err
}

// definitionIn returns the definition of a column in the text of SHOW CREATE TABLE, nil if
// the text has no such column.
func definitionIn(text, column string) *ColumnDefinition {
	_, body, found := strings.Cut(text, "(\n")
	if !found {
		return nil // a view
	}
	for body != "" {
		item := body[:definitionEnd(body, ",")]
		if body = strings.TrimPrefix(body[len(item):], ","); strings.HasPrefix(body, ")") {
			body = "" // the options of the table follow
		}
		parts := definitionParts(item)
		if len(parts) > 1 && unquoted(parts[0]) == column {
			return definitionOf(parts[1:])
		}
	}
	return nil
}

// unquoted returns a name without its quotes.
func unquoted(name string) string {
	if name[0] != '`' && name[0] != '"' {
		return name
	}
	quote := name[:1]
	return strings.ReplaceAll(strings.Trim(name, quote), quote+quote, quote)
}

// definitionEnd returns the offset at which a part of a definition ends: at one of the
// bytes of ends outside of quotes, comments and parentheses, at the parenthesis that
// closes the whole, or at the end of the text.
func definitionEnd(text, ends string) int {
	depth := 0
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case depth == 0 && (c == ')' || strings.IndexByte(ends, c) >= 0):
			return i
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		i += definitionStep(text[i:])
	}
	return len(text)
}

// definitionStep returns the length of a quoted text or a comment that begins the text,
// else 1.
func definitionStep(text string) int {
	quote := text[0]
	switch {
	case strings.HasPrefix(text, "/*"):
		before, _, _ := strings.Cut(text, "*/")
		return min(len(before)+2, len(text))
	case quote != '\'' && quote != '"' && quote != '`':
		return 1
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] != quote:
		case i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(text)
}

// definitionParts returns the words of a definition. Quotes and parentheses with their
// content are a part of their word.
func definitionParts(item string) (parts []string) {
	const blanks = " \t\n"
	for item = strings.TrimLeft(item, blanks); item != ""; item = strings.TrimLeft(item, blanks) {
		end := max(definitionEnd(item, blanks), 1)
		parts = append(parts, item[:end])
		item = item[end:]
	}
	return parts
}

// definitionOf parses the words after the name of a column.
func definitionOf(words []string) *ColumnDefinition {
	c := &ColumnDefinition{Type: words[0]}
	for words = words[1:]; len(words) > 0; words = words[1:] {
		word := strings.ToLower(words[0])
		if !slices.Contains([]string{"unsigned", "signed", "zerofill", "precision", "varying"}, word) && !strings.HasPrefix(word, "/*") || strings.Contains(word, "invisible") {
			break
		}
		c.Type += " " + words[0]
	}
	for len(words) > 1 {
		n := 2
		switch word := strings.ToLower(words[0]); {
		case word == "character" && len(words) > 2:
			n = 3
		case word != "charset" && word != "collate":
			n = 0
		}
		if n == 0 {
			break
		}
		c.Charset = strings.TrimSpace(c.Charset + " " + strings.Join(words[:n], " "))
		words = words[n:]
	}
	for len(words) > 0 {
		n := 1
		switch strings.ToLower(words[0]) {
		case "not", "default", "comment":
			n = 2
		case "on":
			n = 3
		}
		n = min(n, len(words))
		c.Attributes = append(c.Attributes, strings.Join(words[:n], " "))
		words = words[n:]
	}
	return c
}

// With returns the definition with another type: kind, including a charset that kind names.
func (c *ColumnDefinition) With(kind string) *ColumnDefinition {
	other := definitionOf(definitionParts(kind))
	other.Attributes = c.Attributes
	return other
}

// NotNull returns the definition of a column that refuses NULL.
func (c *ColumnDefinition) NotNull() *ColumnDefinition {
	return c.without(func(word string) bool { return word == "null" || word == "not null" || word == "default null" }, "NOT NULL")
}

// Numbered returns the definition with AUTO_INCREMENT, and without a default, which the
// server refuses together with AUTO_INCREMENT.
func (c *ColumnDefinition) Numbered() *ColumnDefinition {
	return c.without(func(word string) bool {
		return word == "null" || word == "not null" || word == "auto_increment" || strings.HasPrefix(word, "default ")
	}, "NOT NULL", "AUTO_INCREMENT")
}

// Unnumbered returns the definition without AUTO_INCREMENT.
func (c *ColumnDefinition) Unnumbered() *ColumnDefinition {
	return c.without(func(word string) bool { return word == "auto_increment" })
}

// without returns the definition with the attributes in with, and without the attributes
// for which leaves returns true.
func (c *ColumnDefinition) without(leaves func(lower string) bool, with ...string) *ColumnDefinition {
	other := *c
	other.Attributes = append(with, slices.DeleteFunc(slices.Clone(c.Attributes), func(a string) bool { return leaves(strings.ToLower(a)) })...)
	return &other
}

// String returns the definition as it is written after the name of a column.
func (c *ColumnDefinition) String() string {
	parts := []string{c.Type}
	if c.Charset != "" {
		parts = append(parts, c.Charset)
	}
	return strings.Join(append(parts, c.Attributes...), " ")
}
