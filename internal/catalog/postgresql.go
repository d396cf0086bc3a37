package catalog

import (
	"cmp"
	"context"
)

// Queries for PostgreSQL 12 and later: "System Catalogs" of its manual, which every user
// may read. Names are compared with the names in the catalog and not resolved by
// to_regclass, which fails, and ends the transaction, in a schema that the user may not
// use.
const (
	// meantPostgreSQL is the condition that finds the table c in the schema n by the names
	// in $1 and $2. An empty $2 means the table that the search_path finds. A name is cut
	// to the length at which the engine cuts it (type name).
	meantPostgreSQL = `c.relname = CAST(CAST($1 AS text) AS name) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND CASE CAST($2 AS text) WHEN '' THEN pg_catalog.pg_table_is_visible(c.oid)
WHEN 'pg_temp' THEN n.oid = pg_catalog.pg_my_temp_schema()
ELSE n.nspname = CAST(CAST($2 AS text) AS name) END`

	// readPostgreSQLTable returns all facts about an ordinary table: a row for each column
	// and index that begins with it, each with the facts about the table. A new session
	// plans it in half the time of readAnyPostgreSQLTable, since it names fewer catalogs
	// (2.5 and 5.2 ms, seen on 15.18). Its last value reports whether the table has something
	// that only readAnyPostgreSQLTable describes.
	//
	// The numbers never change: pg_am.dat gives 403 to btree, and pg_collation.dat gives 100
	// and 950 to the collations "default" and "C", which are deterministic.
	//
	// Foreign tables have triggers of their own.
	readPostgreSQLTable = `SELECT CAST(n.nspname AS text), CAST(c.relname AS text),
EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgtype & 4 <> 0 AND g.tgenabled <> 'D'),
c.relispartition, c.relrowsecurity,
c.relkind = 'f' OR EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgtype & 20 <> 0 AND g.tgenabled <> 'D'),
EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhrelid = c.oid),
CAST(a.attname AS text), pg_catalog.format_type(a.atttypid, a.atttypmod), CAST(t.typname AS text), a.atttypmod, CAST(t.typcategory AS text),
CAST(a.attidentity AS text), CAST(a.attgenerated AS text),
(SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum),
CASE a.attcollation WHEN 100 THEN 'default' WHEN 950 THEN 'C' END,
CASE WHEN i.indisunique THEN CAST(x.relname AS text) END, i.indisvalid AND i.indpred IS NULL AND x.relam = 403, i.indnkeyatts,
c.relkind NOT IN ('r', 'f') OR c.relhasrules OR t.typtype = 'd' OR a.attidentity <> '' OR a.attcollation NOT IN (0, 100, 950)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indkey[0] = a.attnum
LEFT JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
WHERE ` + meantPostgreSQL + `
ORDER BY a.attnum, x.relname`

	// readAnyPostgreSQLTable returns all facts about a table of any kind: a row about the
	// table, a row for each column, and a row for each index. The first two values of each
	// row say which it is.
	//
	// Partitions and foreign tables have triggers of their own. For a domain, the type that
	// it is based on counts. A collation that is not deterministic may treat different
	// texts as equal ("Collation Support"). Errors about a row of a partition name the
	// partition's index.
	readAnyPostgreSQLTable = `WITH RECURSIVE found AS (
SELECT c.oid, n.nspname, c.relname, c.relkind IN ('v', 'm') AS is_view,
EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgtype & 4 <> 0 AND g.tgenabled <> 'D')
OR EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type = '3' AND r.ev_enabled <> 'D') AS inserted,
c.relispartition, c.relrowsecurity, c.relkind IN ('p', 'f')
OR EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgtype & 20 <> 0 AND g.tgenabled <> 'D')
OR EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type IN ('2', '3') AND r.ev_enabled <> 'D') AS written,
EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhrelid = c.oid) AS is_child
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE ` + meantPostgreSQL + `
LIMIT 1
), base AS (
SELECT a.attnum, a.atttypid AS typid, a.atttypmod AS typmod
FROM found JOIN pg_catalog.pg_attribute a ON a.attrelid = found.oid AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT b.attnum, t.typbasetype, t.typtypmod
FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typid
WHERE t.typtype = 'd'
), led AS (
SELECT i.indexrelid AS oid, i.indkey[0] AS attnum, i.indisunique AS is_unique,
i.indisvalid AND i.indpred IS NULL AND m.amname = 'btree' AS complete, i.indnkeyatts AS columns
FROM found JOIN pg_catalog.pg_index i ON i.indrelid = found.oid
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = x.relam
UNION ALL
SELECT h.inhrelid, led.attnum, led.is_unique, false, led.columns
FROM led JOIN pg_catalog.pg_inherits h ON h.inhparent = led.oid
WHERE led.is_unique
)
SELECT 0, CAST(0 AS bigint), CAST(nspname AS text), CAST(relname AS text), CAST(is_view AS text), CAST(inserted AS text), CAST(relispartition AS text),
CAST(relrowsecurity AS text), CAST(written AS text), CAST(is_child AS text), NULL, NULL, NULL
FROM found
UNION ALL
SELECT 1, a.attnum, CAST(a.attname AS text), pg_catalog.format_type(a.atttypid, a.atttypmod),
CAST(t.typname AS text), CAST(b.typmod AS text), CAST(t.typcategory AS text), CAST(a.attidentity AS text), CAST(a.attgenerated AS text),
pg_catalog.pg_get_expr(d.adbin, d.adrelid), CAST(l.collname AS text) || CASE WHEN l.collisdeterministic THEN '' ELSE ' (not deterministic)' END,
(SELECT pg_catalog.quote_ident(sn.nspname) || '.' || pg_catalog.quote_ident(sc.relname)
FROM pg_catalog.pg_depend p JOIN pg_catalog.pg_class sc ON sc.oid = p.objid AND sc.relkind = 'S'
JOIN pg_catalog.pg_namespace sn ON sn.oid = sc.relnamespace
WHERE a.attidentity <> '' AND p.refclassid = CAST('pg_catalog.pg_class' AS pg_catalog.regclass) AND p.refobjid = a.attrelid AND p.refobjsubid = a.attnum AND p.deptype = 'i' LIMIT 1),
(SELECT y.typdefault FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid AND y.typtype = 'd')
FROM base b
JOIN pg_catalog.pg_type t ON t.oid = b.typid AND t.typtype <> 'd'
JOIN found ON true
JOIN pg_catalog.pg_attribute a ON a.attrelid = found.oid AND a.attnum = b.attnum
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
UNION ALL
SELECT 2, row_number() OVER (ORDER BY x.relname), CAST(a.attname AS text), CASE WHEN led.is_unique THEN CAST(x.relname AS text) END,
CAST(led.complete AS text), CAST(led.columns AS text), NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM led
JOIN pg_catalog.pg_class x ON x.oid = led.oid
JOIN found ON true
JOIN pg_catalog.pg_attribute a ON a.attrelid = found.oid AND a.attnum = led.attnum
ORDER BY 1, 2`
)

func readPostgreSQL(ctx context.Context, q Querier, schema, table string) (*Table, error) {
	rows, err := q.Rows(ctx, readPostgreSQLTable, table, schema)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	t := &Table{InsertTriggers: No, KeyTriggers: No}
	for i, row := range rows {
		c := cells{row: row}
		if c.isSet(len(row) - 1) {
			return readAnyPostgreSQL(ctx, q, schema, table)
		}
		if i == 0 {
			t.factsOfPostgreSQL(&c, [7]int{0, 1, 2, 3, 4, 5, 6})
		}
		column := cells{row: row[7:16]}
		if name := column.text(0); name != "" && (i == 0 || t.named(name) == nil) {
			t.Columns = append(t.Columns, columnOfPostgreSQL(&column))
		}
		t.led(column.text(0), c.text(16), c.isSet(17), c.number(18))
		if err := cmp.Or(c.err, column.err); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// readAnyPostgreSQL does what readPostgreSQL does, for a table of any kind.
func readAnyPostgreSQL(ctx context.Context, q Querier, schema, table string) (*Table, error) {
	rows, err := q.Rows(ctx, readAnyPostgreSQLTable, table, schema)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	t := &Table{InsertTriggers: No, KeyTriggers: No}
	for _, row := range rows {
		part := cells{row: row}
		c := cells{row: row[2:]}
		switch part.number(0) {
		case 0:
			t.View = c.isSet(2)
			t.factsOfPostgreSQL(&c, [7]int{0, 1, 3, 4, 5, 6, 7})
		case 1:
			t.Columns = append(t.Columns, drawingColumnOfPostgreSQL(&c))
		default:
			t.led(c.text(0), c.text(1), c.isSet(2), c.number(3))
		}
		if err := cmp.Or(part.err, c.err); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// factsOfPostgreSQL sets the facts about the table itself. at holds their places in c: its
// schema, its name, whether code runs at an INSERT, whether it is a partition, whether it
// has row security, whether code runs at an INSERT or UPDATE, and whether it inherits.
func (t *Table) factsOfPostgreSQL(c *cells, at [7]int) {
	t.Schema, t.Name = c.text(at[0]), c.text(at[1])
	if c.isSet(at[2]) {
		t.InsertTriggers = Yes
	}
	t.Partition, t.RowSecurity = c.isSet(at[3]), c.isSet(at[4])
	if c.isSet(at[5]) {
		t.KeyTriggers = Yes
	}
	t.Child = c.isSet(at[6])
}

// numericDigits is how many digits before the point a numeric without a
// precision has: "Numeric Types" of the manual.
const numericDigits = 131072

func columnOfPostgreSQL(c *cells) Column {
	col := Column{Name: c.text(0), Type: c.text(1), Collation: c.text(8), Generated: c.text(6) != ""}
	// The modifier of a type holds its length, or precision and scale, plus
	// the 4 bytes of a header: numerictypmodin, anychar_typmodin.
	mod := c.number(3)
	switch kind := c.text(2); kind {
	case "int2":
		col.integer(15)
	case "int4":
		col.integer(31)
	case "int8":
		col.integer(63)
	case "numeric":
		switch {
		case mod < 4:
			col.integer(decimalBits(numericDigits))
		case (mod-4)&0x7ff == 0:
			col.integer(decimalBits((mod - 4) >> 16 & 0xffff))
		}
		col.lossy = !col.Integer
	case "float4", "float8":
		col.rounds = true
	case "uuid":
		col.UUID = true
	case "bytea":
		col.Binary = true
	case "name":
		col.Text, col.Length = true, 63
	case "money", "char", "bool", "bit", "varbit", "date", "time", "timetz", "timestamp", "timestamptz", "interval",
		"json", "jsonb", "xml", "inet", "cidr", "macaddr", "macaddr8", "tsvector", "tsquery",
		"point", "line", "lseg", "box", "path", "polygon", "circle":
		col.lossy = true // "char" holds one byte; char(n) has another name here, bpchar
	default:
		// Category S holds the types of strings, citext among them.
		col.Text = c.text(4) == "S"
		if (kind == "varchar" || kind == "bpchar") && mod > 4 {
			col.Length = mod - 4
		}
	}
	switch c.text(5) {
	case "a":
		col.Identity, col.IdentityAlways = "GENERATED ALWAYS AS IDENTITY", true
	case "d":
		col.Identity = byDefault
	default:
		if !col.Generated && isNextval(c.text(7)) {
			col.Identity = nextvalDefault
		}
	}
	col.Default = c.text(7)
	return col
}

// drawingColumnOfPostgreSQL does what columnOfPostgreSQL does, and sets the column's
// sequence and the default of its domain too.
func drawingColumnOfPostgreSQL(c *cells) Column {
	col := columnOfPostgreSQL(c)
	if len(c.row) > 10 {
		col.Sequence, col.Default = c.text(9), cmp.Or(col.Default, c.text(10))
	}
	return col
}
