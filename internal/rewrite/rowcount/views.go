package rowcount

import (
	"encoding/hex"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
)

// Views returns an expression for the number of views that the queries whose rows are
// numbered in a temporary table may read. A view's columns may be expressions, which the
// text does not show. The expression compares each name with =, for which MySQL and MariaDB
// read the files of one table only: see describeMySQL in package catalog.
func Views(pl *plans.Plan) string {
	schemas, tables := relations(pl)
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

// nameLiteral returns a name as a string literal that has the same value under each
// sql_mode.
func nameLiteral(name string) string { return "_utf8mb4 X'" + hex.EncodeToString([]byte(name)) + "'" }

// relations returns the names, as the engine spells them, of the schemas and tables that
// the queries whose rows are numbered in a temporary table may read. Some of the names
// are columns or aliases.
func relations(pl *plans.Plan) (schemas, tables []string) {
	for i := range pl.Inserts {
		q := pl.Inserts[i].Query
		if q == nil || !q.Merged {
			continue
		}
		e := reader.At(pl.Dialect, pl.Changes.Query[:q.Parts.Main.End], q.Parts.Main.Start)
		var last scan.Token
		for ; e.Token.Kind != scan.End; e.Advance() {
			before := e.TextOf(last)
			names := last.Kind == scan.Word && selects.Feeding.Has(before) || last.Kind == scan.Punct && (before == "," || before == "(") || before == "."
			if names && (e.Token.Kind == scan.Word || e.Token.Kind == scan.Quoted) {
				name := e.Exact(e.TextOf(e.Token), e.Token.Kind)
				if n, _ := e.Peek(); e.TextOf(n) == "." {
					schemas = append(schemas, name)
				} else {
					tables = append(tables, name)
				}
			}
			last = e.Token
		}
	}
	return schemas, tables
}
