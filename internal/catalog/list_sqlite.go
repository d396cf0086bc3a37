package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// These queries return for all tables what the queries of sqlite.go return for one. They
// leave out views and virtual tables: a pragma about a view fails if a table that the view
// uses is gone, and would fail the whole query. A view or virtual table is read when it is
// looked for.
const (
	databasesSQLite = `SELECT d.name,
(SELECT e.name FROM pragma_database_list AS e WHERE e.file = d.file AND e.file <> '' AND e.seq < d.seq ORDER BY e.seq LIMIT 1)
FROM pragma_database_list AS d
ORDER BY CASE d.seq WHEN 1 THEN -1 ELSE d.seq END`

	// {schema} stands for the schema's name, quoted, and {name} for the same name as a
	// string.
	plainSQLite = `FROM {schema}.sqlite_master AS m, `
	onlyPlain   = ` WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite!_%' ESCAPE '!' AND m.sql NOT LIKE 'CREATE VIRTUAL%'`

	tableColumnsSQLite = `SELECT m.name, c.name, c.type, c.hidden, c.pk, c."notnull", c.dflt_value ` +
		plainSQLite + `pragma_table_xinfo(m.name, {name}) AS c` + onlyPlain + ` ORDER BY m.name, c.cid`

	tableTextsSQLite = `SELECT type, name, tbl_name, sql, {name} FROM {schema}.sqlite_master WHERE type IN ('table', 'trigger')
UNION ALL
SELECT type, name, tbl_name, sql, 'temp' FROM sqlite_temp_master WHERE type = 'trigger' AND {name} <> 'temp'`

	tableIndexesSQLite = `SELECT m.name, l.name, l."unique", l.origin, l.partial, x.name, x.coll, x.seqno, x.cid,
(SELECT COUNT(*) FROM pragma_index_info(l.name, {name})) ` +
		plainSQLite + `pragma_index_list(m.name, {name}) AS l, pragma_index_xinfo(l.name, {name}) AS x` + onlyPlain +
		` AND x."key" = 1 ORDER BY m.name, l.seq, x.seqno`

	tableKeysSQLite = `SELECT m.name, f.id, f."from", f."table", f."to" ` +
		plainSQLite + `pragma_foreign_key_list(m.name, {name}) AS f` + onlyPlain + ` ORDER BY m.name, f.id, f.seq`
)

// listSQLite lists the tables of all databases of the connection.
func listSQLite(ctx context.Context, q Querier, _ []string) (*Overview, error) {
	rows, err := q.Rows(ctx, databasesSQLite)
	if err != nil {
		return nil, err
	}
	all := &Overview{}
	seen := map[string]bool{} // the names of tables in the databases that were listed before
	for _, row := range rows {
		c := cells{row: row}
		schema, twin := c.text(0), c.text(1)
		l := &listing{tables: map[string]*Listed{}, ctx: ctx, q: q}
		l.listSchema(schema, twin)
		if l.err = cmp.Or(l.err, c.err); l.err != nil {
			return nil, l.err
		}
		for _, t := range l.o.Tables {
			name := strings.ToLower(t.Name)
			t.Visible = !seen[name]
			seen[name] = true
		}
		all.Tables = append(all.Tables, l.o.Tables...)
		all.ForeignKeys = append(all.ForeignKeys, l.o.ForeignKeys...)
	}
	return all, nil
}

// listSchema lists the tables of one database. l.tables has them by their names in lower
// case.
func (l *listing) listSchema(schema, twin string) {
	in := strings.NewReplacer("{schema}", dialect.SQLite().QuoteIdent(schema),
		"{name}", "'"+strings.ReplaceAll(schema, "'", "''")+"'").Replace
	table := func(name string) *Listed { return l.tables[strings.ToLower(name)] }
	primary := map[*Listed]map[int]string{}
	l.rows(in(tableColumnsSQLite), func(c *cells) {
		t := table(c.text(0))
		if t == nil {
			t = &Listed{Table: &Table{Schema: schema, Name: c.text(0), Twin: twin, InsertTriggers: No, KeyTriggers: No}}
			l.add(strings.ToLower(t.Name), t)
			primary[t] = map[int]string{}
		}
		const hiddenOfVirtual = 1
		if hidden := c.number(3); hidden != hiddenOfVirtual {
			col := columnOfSQLite(c.text(1), c.text(2))
			col.Generated = hidden != 0
			// A column without NOT NULL may be NULL, except a rowid and the primary key of
			// a table WITHOUT ROWID.
			t.describeColumn(col, !c.isSet(5), c.text(6))
		}
		if place := c.number(4); place > 0 {
			primary[t][place] = c.text(1)
		}
	})
	isAuto, keepsNoNull := map[*Listed]bool{}, map[*Listed]bool{}
	l.rows(in(tableTextsSQLite), func(c *cells) {
		t := table(c.text(2))
		if t == nil {
			return
		}
		words := wordsOfSQLite(c.text(3))
		if c.text(0) == "table" {
			isAuto[t] = slices.Contains(words, "autoincrement")
			text := strings.Join(words, " ")
			t.collateSQLite(c.text(3), words)
			t.ConflictClauses, keepsNoNull[t] = strings.Contains(text, "on conflict"), strings.Contains(text, "without rowid")
			return
		}
		event := slices.IndexFunc(words, func(w string) bool { return w == "insert" || w == "update" || w == "delete" })
		if event >= 0 && words[event] == "insert" {
			t.InsertTriggers = Yes
			t.Triggers = append(t.Triggers, Trigger{Schema: c.text(4), Name: c.text(1), Before: slices.Contains(words[:event], "before"), Body: c.text(3)})
		}
		if event >= 0 && words[event] != "delete" {
			t.KeyTriggers = Yes
		}
	})
	indexed := map[*Listed]bool{} // whether the primary key has an index of its own
	last := ""
	l.rows(in(tableIndexesSQLite), func(c *cells) {
		if t := table(c.text(0)); t != nil {
			indexed[t] = indexed[t] || c.text(3) == "pk"
			t.indexOfListed(c, &last)
		}
	})
	for _, t := range l.o.Tables {
		t.keyOfListed(primary[t], indexed[t], isAuto[t], keepsNoNull[t])
	}
	l.rows(in(tableKeysSQLite), func(c *cells) {
		to := c.text(4)
		if parent := table(c.text(3)); to == "" && parent != nil && len(parent.Primary) == 1 {
			to = parent.Primary[0]
		}
		l.refer("", strings.ToLower(c.text(0)), c.text(2), strings.ToLower(c.text(3)), to)
	})
}

// indexOfListed adds a column of an index to the table.
func (t *Listed) indexOfListed(c *cells, last *string) {
	column, isExpression := c.text(5), c.number(8) < 0
	if c.number(7) == 0 && !isExpression {
		unique := ""
		if c.isSet(2) {
			unique = t.Name + "." + column
		}
		if col := t.named(column); col != nil && col.Text && col.Collation == "" {
			col.Collation = c.text(6)
		}
		t.led(column, unique, !c.isSet(4), c.number(9))
	}
	if c.isSet(2) && !c.isSet(4) {
		if isExpression {
			column = ""
		}
		t.uniqueColumn(last, t.Name+"\x00"+c.text(1), column)
	}
}

// keyOfListed notes the primary key. primary has the names of its columns by their
// positions from 1.
func (t *Listed) keyOfListed(primary map[int]string, isIndexed, isAuto, keepsNoNull bool) {
	for place := 1; place <= len(primary); place++ {
		t.Primary = append(t.Primary, primary[place])
		if keepsNoNull {
			t.Nullable[primary[place]] = false
		}
	}
	if len(primary) != 1 || isIndexed {
		return
	}
	if col := t.named(t.Primary[0]); col != nil && strings.EqualFold(col.Type, "INTEGER") {
		col.RowID = true
		if isAuto {
			col.Identity = "AUTOINCREMENT"
		}
		t.Nullable[col.Name] = false
		t.led(col.Name, t.Name+"."+col.Name, true, 1)
		t.Unique = append(t.Unique, []string{col.Name})
	}
}
