package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// swapSQLite makes each table again, in one transaction: "Making Other Kinds Of Table
// Schema Changes" of https://www.sqlite.org/lang_altertable.html. The new table has the text
// of the old one with other types, so that constraints and foreign keys stay.
var swapSQLite = &swapRules{
	caselessTables: true, caselessColumns: true,
	refs: `SELECT 'main', m.name, f.id, f."from", 'main', f."table", f."to", ''
FROM main.sqlite_master m, pragma_foreign_key_list(m.name, 'main') f WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY m.name, f.id, f.seq`,
	names: "SELECT name FROM {index schema}.sqlite_master",
	again: func(_ place, _, _ string, statements []string) []string { return statements },
	atomic: func(statements []string) []string {
		return slices.Concat([]string{"BEGIN IMMEDIATE"}, statements, []string{"COMMIT"})
	},
	differs: "{a} IS NOT {b}",
	read:    readSQLite,
	fill: func(t *swapTable, between string) string {
		return fillBySelect(t, between, "UPDATE {table} AS c SET ", "{a} IS NOT {b}")
	},
	swap:    exchangeSQLite,
	stopped: "It is one transaction: if it was stopped, nothing has changed, and it can be run again. Change no table between this plan and the swap.",
	drop:    func(c *swapColumn) []string { return []string{c.sql("ALTER TABLE {table} DROP COLUMN {old}")} },
}

// readSQLite reads the texts of the table, its indexes and triggers, and makes the text of
// the table that replaces it.
func readSQLite(ctx context.Context, s *swap, t *swapTable) (problems []problem, _ error) {
	if t.schema != "main" {
		return []problem{{t.columns[0].of, t.name + " is in an attached database: open its file"}}, nil
	}
	rows, err := s.db.QueryContext(ctx, "SELECT type, name, sql FROM main.sqlite_master WHERE lower(tbl_name) = lower(?) AND sql IS NOT NULL ORDER BY type, name", t.name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	text := ""
	for rows.Next() {
		var kind, name, sql string
		if err := rows.Scan(&kind, &name, &sql); err != nil {
			return nil, err
		}
		if kind == "table" {
			text = sql
			continue
		}
		t.parts, t.kept = append(t.parts, sql), append(t.kept, name)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	var said map[*swapColumn]string
	t.text, said = t.rewritten(text)
	for _, c := range t.columns {
		if said[c] != "" {
			problems = append(problems, problem{c.of, said[c]})
		}
	}
	return problems, nil
}

// isolated returns the name of the table that replaces t, before it takes its name.
func (t *swapTable) isolated() string { return "keyfill_swap_" + t.name }

// sqliteToken is a token of CREATE TABLE.
type sqliteToken struct {
	start, end int
	text       string
	word       string // the word in lower case; empty for names in quotes, strings, numbers and signs
	depth      int    // in how many parentheses it is; a parenthesis is in itself
}

func sqliteTokens(text string) (tokens []sqliteToken) {
	s := scan.Scanner{Dialect: dialect.SQLite(), Text: text}
	depth := 0
	for token := s.Following(); token.Kind != scan.End && token.Kind != scan.Broken; token = s.Following() {
		one := sqliteToken{start: token.Start, end: token.End, text: text[token.Start:token.End]}
		if token.Kind == scan.Word {
			one.word = strings.ToLower(one.text)
		}
		if one.text == "(" {
			depth++
		}
		one.depth = depth
		if one.text == ")" {
			depth--
		}
		tokens = append(tokens, one)
	}
	return tokens
}

// sqliteEdit replaces a part of a text.
type sqliteEdit struct {
	start, end int
	text       string
}

// rewritten returns the text of CREATE TABLE with other types for the columns that become
// UUIDs, and without AUTOINCREMENT, for a table of another name. It says which columns it
// cannot change.
func (t *swapTable) rewritten(text string) (string, map[*swapColumn]string) {
	said := map[*swapColumn]string{}
	tokens := sqliteTokens(text)
	open := slices.IndexFunc(tokens, func(one sqliteToken) bool { return one.text == "(" })
	if open < 0 {
		return text, nil
	}
	name := 2 // after CREATE TABLE
	if tokens[name].word == "if" && tokens[name+1].word == "not" {
		name += 3
	}
	edits := []sqliteEdit{{tokens[name].start, tokens[open].start, t.dialect.QuoteIdent(t.isolated()) + " "}}
	for item, rest := []sqliteToken(nil), tokens[open+1:]; len(rest) > 0; {
		end := slices.IndexFunc(rest, func(one sqliteToken) bool { return one.depth == 1 && (one.text == "," || one.text == ")") })
		if end < 0 {
			break
		}
		if item, rest = rest[:end], rest[end+1:]; len(item) == 0 {
			continue
		}
		for _, c := range t.columns {
			if usesComputed(item, c.column.Name) {
				said[c] = fmt.Sprintf("a CHECK or a generated column of %s uses %s: the swap cannot change it", t.name, c)
			}
		}
		isConstraint := slices.Contains([]string{"constraint", "primary", "unique", "check", "foreign"}, item[0].word)
		i := slices.IndexFunc(t.columns, func(c *swapColumn) bool { return strings.EqualFold(c.column.Name, nameIn(item[0].text)) })
		if i >= 0 && !isConstraint {
			edits = append(edits, t.columns[i].retyped(item)...)
			if t.columns[i].root == t.columns[i] && slices.ContainsFunc(item, func(one sqliteToken) bool { return one.word == "default" }) {
				said[t.columns[i]] = fmt.Sprintf("%s has a default: drop it first", t.columns[i])
			}
		}
		if tokens[len(tokens)-len(rest)-1].text == ")" {
			break // the options of the table follow
		}
	}
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.start] + e.text)
		at = e.end
	}
	return b.String() + text[at:], said
}

// retyped returns the edits that make the definition of a column one of UUIDs.
func (c *swapColumn) retyped(item []sqliteToken) []sqliteEdit {
	n := 1 // the first token after the type
	for n < len(item) && !slices.Contains([]string{"constraint", "primary", "not", "null", "unique", "check", "default", "collate", "references", "generated", "as"}, item[n].word) {
		n++
	}
	kind := " " + c.of.uuidType()
	isNotNull := false
	edits := []sqliteEdit{{item[0].end, item[n-1].end, ""}}
	for i, one := range item[n:] {
		isNotNull = isNotNull || one.word == "null" && item[n+i-1].word == "not"
		if one.word == "autoincrement" {
			edits = append(edits, sqliteEdit{one.start, one.end, ""})
		}
	}
	if !isNotNull && (c.root == c || c.column.RowID) {
		kind += " NOT NULL"
	}
	edits[0].text = kind
	return edits
}

// usesComputed reports whether an expression in a part of CREATE TABLE, of a CHECK or of a
// generated column, has a name.
func usesComputed(item []sqliteToken, name string) bool {
	inside := 0 // the depth of the expression; 0 outside
	for i, one := range item {
		switch {
		case inside == 0 && one.text == "(" && i > 0 && (item[i-1].word == "check" || item[i-1].word == "as"):
			inside = one.depth
		case inside > 0 && one.text == ")" && one.depth == inside:
			inside = 0
		case inside > 0 && strings.EqualFold(nameIn(one.text), name):
			return true
		}
	}
	return false
}

// nameIn returns the name that a token writes, without its quotes.
func nameIn(token string) string {
	if len(token) > 1 && strings.ContainsRune("\"`['", rune(token[0])) {
		quote := token[len(token)-1:]
		return strings.ReplaceAll(token[1:len(token)-1], quote+quote, quote)
	}
	return token
}

func exchangeSQLite(s *swap) []string {
	// With legacy_alter_table the new table may take its name while views and triggers
	// name the old one, and no foreign key of another table follows the renaming.
	statements := []string{"PRAGMA foreign_keys = OFF", "PRAGMA legacy_alter_table = ON", "BEGIN IMMEDIATE"}
	refuse := func(query, text string) {
		statements = append(statements, fmt.Sprintf("CREATE TEMP TABLE keyfill_swap (n INTEGER CONSTRAINT %s CHECK (n = 0))", s.dialect.QuoteIdent(text)),
			"INSERT INTO temp.keyfill_swap "+query, "DROP TABLE temp.keyfill_swap")
	}
	var tables []string
	for _, t := range s.tables {
		tables = append(tables, s.literal(t.name))
		var columns, kept []string
		for _, c := range t.Columns {
			columns = append(columns, s.literal(c.Name))
		}
		for _, c := range t.columns {
			columns = append(columns, s.literal(c.added))
			if c.root == c {
				kept = append(kept, s.literal(c.of.index))
			}
		}
		for _, name := range t.kept {
			kept = append(kept, s.literal(name))
		}
		refuse(fmt.Sprintf("SELECT COUNT(*) FROM pragma_table_xinfo(%s, 'main') WHERE name NOT IN (%s)", s.literal(t.name), strings.Join(columns, ", ")),
			fmt.Sprintf("%s has columns that this plan does not have: print it again", t.name))
		refuse(fmt.Sprintf("SELECT COUNT(*) FROM main.sqlite_master WHERE lower(tbl_name) = lower(%s) AND type IN ('index', 'trigger') AND sql IS NOT NULL AND name NOT IN (%s)", s.literal(t.name), strings.Join(append(kept, "''"), ", ")),
			fmt.Sprintf("%s has indexes or triggers that this plan does not have: print it again", t.name))
	}
	for _, guard := range s.guards() {
		refuse(guard[0], guard[1])
	}
	for _, t := range s.tables {
		quote := s.dialect.QuoteIdent
		isolated := quote("main") + "." + quote(t.isolated())
		statements = append(statements, t.text)
		var into, from []string
		for _, c := range t.Columns {
			if c.Generated {
				continue
			}
			if i := slices.IndexFunc(t.columns, func(o *swapColumn) bool { return o.column.Name == c.Name }); i >= 0 {
				into, from = append(into, quote(c.Name), quote(t.columns[i].old)), append(from, quote(t.columns[i].added), quote(c.Name))
				statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", isolated, quote(t.columns[i].old), oldTypeSQLite(&c)))
				continue
			}
			into, from = append(into, quote(c.Name)), append(from, quote(c.Name))
		}
		statements = append(statements,
			fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", isolated, strings.Join(into, ", "), strings.Join(from, ", "), t.sql()),
			"DROP TABLE "+t.sql(),
			fmt.Sprintf("ALTER TABLE %s RENAME TO %s", isolated, quote(t.name)))
		statements = append(statements, t.parts...)
	}
	refuse(fmt.Sprintf(`SELECT COUNT(*) FROM pragma_foreign_key_check WHERE "table" IN (%s)`, strings.Join(tables, ", ")), "rows refer to rows that are not there: mend what PRAGMA foreign_key_check lists")
	return append(statements, "COMMIT", "PRAGMA legacy_alter_table = OFF", "PRAGMA foreign_keys = ON")
}

// oldTypeSQLite returns the type of the column that keeps the integers.
func oldTypeSQLite(c *catalog.Column) string {
	if c.Type == "" {
		return ""
	}
	return strings.TrimSpace(c.Type)
}
