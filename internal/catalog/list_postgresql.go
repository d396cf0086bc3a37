package catalog

import (
	"context"
	"strings"
)

// These queries list all tables of some schemas. Their columns are in the order of the
// query of the same kind in postgresql.go, followed by further ones. $1 is an array of the
// names of schemas.
const (
	listedPostgreSQL = `(n.nspname = ANY (pg_catalog.current_schemas(false)) OR n.nspname = ANY (CAST(CAST($1 AS text) AS name[])))`

	tablesPostgreSQL = `SELECT CAST(c.oid AS text), CAST(n.nspname AS text), CAST(c.relname AS text), c.relkind IN ('v', 'm'),
EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgtype & 4 <> 0 AND g.tgenabled <> 'D')
OR EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type = '3' AND r.ev_enabled <> 'D'),
c.relispartition, c.relrowsecurity, c.relkind IN ('p', 'f')
OR EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgtype & 20 <> 0 AND g.tgenabled <> 'D')
OR EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type IN ('2', '3') AND r.ev_enabled <> 'D'),
EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhrelid = c.oid),
pg_catalog.pg_table_is_visible(c.oid), c.relkind = 'p'
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ` + listedPostgreSQL + `
ORDER BY n.nspname, c.relname`

	tableColumnsPostgreSQL = `WITH RECURSIVE base AS (
SELECT a.attrelid, a.attnum, a.atttypid AS typid, a.atttypmod AS typmod
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ` + listedPostgreSQL + `
UNION ALL
SELECT b.attrelid, b.attnum, t.typbasetype, t.typtypmod
FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typid
WHERE t.typtype = 'd'
)
SELECT CAST(a.attname AS text), pg_catalog.format_type(a.atttypid, a.atttypmod),
CAST(t.typname AS text), b.typmod, CAST(t.typcategory AS text), CAST(a.attidentity AS text), CAST(a.attgenerated AS text),
pg_catalog.pg_get_expr(d.adbin, d.adrelid), CAST(l.collname AS text) || CASE WHEN l.collisdeterministic THEN '' ELSE ' (not deterministic)' END,
(SELECT pg_catalog.quote_ident(sn.nspname) || '.' || pg_catalog.quote_ident(sc.relname)
FROM pg_catalog.pg_depend p JOIN pg_catalog.pg_class sc ON sc.oid = p.objid AND sc.relkind = 'S'
JOIN pg_catalog.pg_namespace sn ON sn.oid = sc.relnamespace
WHERE a.attidentity <> '' AND p.refclassid = CAST('pg_catalog.pg_class' AS pg_catalog.regclass) AND p.refobjid = a.attrelid AND p.refobjsubid = a.attnum AND p.deptype = 'i' LIMIT 1),
(SELECT y.typdefault FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid AND y.typtype = 'd'),
CAST(a.attrelid AS text), NOT a.attnotnull
FROM base b
JOIN pg_catalog.pg_type t ON t.oid = b.typid AND t.typtype <> 'd'
JOIN pg_catalog.pg_attribute a ON a.attrelid = b.attrelid AND a.attnum = b.attnum
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
ORDER BY a.attrelid, a.attnum`

	tableIndexesPostgreSQL = `WITH RECURSIVE led AS (
SELECT i.indrelid, i.indexrelid AS oid, i.indkey[0] AS attnum, i.indisunique AS is_unique,
i.indisvalid AND i.indpred IS NULL AND m.amname = 'btree' AS complete, i.indnkeyatts AS columns
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = x.relam
JOIN pg_catalog.pg_namespace n ON n.oid = x.relnamespace
WHERE ` + listedPostgreSQL + `
UNION ALL
SELECT led.indrelid, h.inhrelid, led.attnum, led.is_unique, false, led.columns
FROM led JOIN pg_catalog.pg_inherits h ON h.inhparent = led.oid
WHERE led.is_unique
)
SELECT CAST(a.attname AS text), CASE WHEN led.is_unique THEN CAST(x.relname AS text) END, led.complete, led.columns,
CAST(led.indrelid AS text)
FROM led
JOIN pg_catalog.pg_class x ON x.oid = led.oid
JOIN pg_catalog.pg_attribute a ON a.attrelid = led.indrelid AND a.attnum = led.attnum
ORDER BY led.indrelid, x.relname`

	uniquesPostgreSQL = `SELECT CAST(i.indrelid AS text), CAST(i.indexrelid AS text), i.indisprimary, CAST(a.attname AS text)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = x.relnamespace
CROSS JOIN LATERAL pg_catalog.unnest(CAST(i.indkey AS int2[])) WITH ORDINALITY AS k (attnum, place)
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts AND ` + listedPostgreSQL + `
ORDER BY i.indrelid, i.indexrelid, k.place`

	triggersPostgreSQL = `SELECT CAST(g.tgrelid AS text), CAST(g.tgname AS text), g.tgtype & 2 <> 0, p.prosrc
FROM pg_catalog.pg_trigger g
JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid
JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE NOT g.tgisinternal AND g.tgtype & 4 <> 0 AND g.tgenabled <> 'D' AND ` + listedPostgreSQL + `
ORDER BY g.tgrelid, g.tgname`

	foreignKeysPostgreSQL = `SELECT CAST(f.conname AS text), CAST(f.conrelid AS text), CAST(a.attname AS text), CAST(f.confrelid AS text), CAST(b.attname AS text)
FROM pg_catalog.pg_constraint f
JOIN pg_catalog.pg_namespace n ON n.oid = f.connamespace
CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(f.conkey), pg_catalog.unnest(f.confkey)) AS k (child, parent)
JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.child
JOIN pg_catalog.pg_attribute b ON b.attrelid = f.confrelid AND b.attnum = k.parent
WHERE f.contype = 'f' AND ` + listedPostgreSQL + `
ORDER BY f.conrelid, f.conname`
)

// listPostgreSQL lists the tables of the search path's schemas and of the given schemas.
func listPostgreSQL(ctx context.Context, q Querier, schemas []string) (*Overview, error) {
	l := &listing{tables: map[string]*Listed{}, ctx: ctx, q: q, args: []any{arrayOf(schemas)}}
	l.rows(tablesPostgreSQL, func(c *cells) {
		t := &Table{Schema: c.text(1), Name: c.text(2), View: c.isSet(3), InsertTriggers: No, KeyTriggers: No}
		if c.isSet(4) {
			t.InsertTriggers = Yes
		}
		if c.isSet(7) {
			t.KeyTriggers = Yes
		}
		t.Partition, t.RowSecurity, t.Child = c.isSet(5), c.isSet(6), c.isSet(8)
		l.add(c.text(0), &Listed{Table: t, Visible: c.isSet(9), Split: c.isSet(10)})
	})
	l.rows(tableColumnsPostgreSQL, func(c *cells) {
		if t := l.tables[c.text(11)]; t != nil {
			t.describeColumn(drawingColumnOfPostgreSQL(c), c.isSet(12), c.text(7))
		}
	})
	l.rows(tableIndexesPostgreSQL, func(c *cells) {
		if t := l.tables[c.text(4)]; t != nil {
			t.led(c.text(0), c.text(1), c.isSet(2), c.number(3))
		}
	})
	last := ""
	l.rows(uniquesPostgreSQL, func(c *cells) {
		t := l.tables[c.text(0)]
		if t == nil {
			return
		}
		t.uniqueColumn(&last, c.text(1), c.text(3))
		if c.isSet(2) {
			t.Primary = append(t.Primary, c.text(3))
		}
	})
	l.rows(triggersPostgreSQL, func(c *cells) {
		if t := l.tables[c.text(0)]; t != nil {
			t.Triggers = append(t.Triggers, Trigger{Name: c.text(1), Before: c.isSet(2), Body: c.text(3)})
		}
	})
	l.rows(foreignKeysPostgreSQL, func(c *cells) {
		l.refer(c.text(0), c.text(1), c.text(2), c.text(3), c.text(4))
	})
	return &l.o, l.err
}

// arrayOf writes names as an array of PostgreSQL: "Array Input and Output Syntax".
func arrayOf(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)+`"`)
	}
	return "{" + strings.Join(quoted, ",") + "}"
}
