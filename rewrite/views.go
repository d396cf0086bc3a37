package rewrite

import "encoding/hex"

// Views returns an expression for the number of views that the queries whose rows are
// numbered in a temporary table may read: the columns of a view may be expressions, which
// are not in the text. Each name is compared with =, for which MySQL and MariaDB read the
// files of one table: see describeMySQL in package catalog.
func (pl *Plan) Views() string {
	schemas, tables := pl.relations()
	from := []string{"DATABASE()"}
	for _, s := range schemas {
		from = append(from, nameLiteral(s))
	}
	text := "0"
	for _, table := range tables {
		for _, schema := range from {
			text += " + (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = " + schema +
				" AND TABLE_NAME = " + nameLiteral(table) + " AND TABLE_TYPE LIKE '%VIEW')"
		}
	}
	return text
}

// nameLiteral returns a name as a string that is read alike under each sql_mode.
func nameLiteral(name string) string { return "_utf8mb4 X'" + hex.EncodeToString([]byte(name)) + "'" }

// relations returns the names, as the engine has them, of what the queries whose rows are
// numbered in a temporary table may read: of schemas and of tables, with some that are
// columns and aliases.
func (pl *Plan) relations() (schemas, tables []string) {
	for i := range pl.Inserts {
		q := pl.Inserts[i].Query
		if q == nil || !q.merged {
			continue
		}
		e := readerAt(pl.Dialect, pl.query[:q.main.end], q.main.start)
		var last token
		for ; e.tok.kind != tokEnd; e.advance() {
			before := e.text(last)
			names := last.kind == tokWord && feeding.has(before) || last.kind == tokPunct && (before == "," || before == "(") || before == "."
			if names && (e.tok.kind == tokWord || e.tok.kind == tokQuoted) {
				name := e.exact(e.text(e.tok), e.tok.kind)
				if n, _ := e.peek(); e.text(n) == "." {
					schemas = append(schemas, name)
				} else {
					tables = append(tables, name)
				}
			}
			last = e.tok
		}
	}
	return schemas, tables
}
