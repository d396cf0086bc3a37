package catalog

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
)

// Rule is a rewrite rule of PostgreSQL: "Rules on INSERT, UPDATE, and DELETE" of its
// manual.
type Rule struct {
	Name  string
	Table string // the table of the rule: the one that was asked for, or one that a view uses
}

// String returns the rule for an error: rule "audit" of "orders".
func (r Rule) String() string { return fmt.Sprintf("rule %q of %q", r.Name, r.Table) }

// insertRulePostgreSQL finds the rules that the engine applies to an INSERT under the
// session's session_replication_role. An INSERT into a view goes on to the tables that the
// view is made of, unless a trigger handles it, so that the rules of these tables are found
// too. A rule that does nothing, or only notifies, and has no condition, is left out, since
// it reads no row. In the stored tree of a rule, an action is a command, of which 1 to 4
// are SELECT, UPDATE, INSERT and DELETE: CmdType in src/include/nodes/nodes.h.
const insertRulePostgreSQL = `WITH RECURSIVE meant AS (
SELECT c.oid
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE ` + meantPostgreSQL + `
UNION
SELECT d.refobjid
FROM meant m
JOIN pg_catalog.pg_class v ON v.oid = m.oid AND v.relkind = 'v'
JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid AND r.ev_type = '1'
JOIN pg_catalog.pg_depend d ON d.objid = r.oid AND d.classid = CAST('pg_catalog.pg_rewrite' AS regclass)
AND d.refclassid = CAST('pg_catalog.pg_class' AS regclass)
WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgrelid = v.oid AND g.tgtype & 68 = 68 AND g.tgenabled <> 'D')
)
SELECT CAST(r.rulename AS text), CAST(c.relname AS text)
FROM meant m
JOIN pg_catalog.pg_class c ON c.oid = m.oid
JOIN pg_catalog.pg_rewrite r ON r.ev_class = m.oid
WHERE r.ev_type = '3'
AND r.ev_enabled IN ('A', CASE pg_catalog.current_setting('session_replication_role') WHEN 'replica' THEN 'R' ELSE 'O' END)
AND (CAST(r.ev_qual AS text) <> '<>' OR CAST(r.ev_action AS text) ~ ':commandType [1-4]')
ORDER BY r.rulename
LIMIT 1`

// InsertRule returns the first rule, by its name, that PostgreSQL applies to an INSERT into
// a table or view and that reads the rows, adds commands or replaces the INSERT. It returns
// the zero Rule if there is none, as on any other engine. The names are as for [Read]. It has
// to run on the connection of the INSERT.
func InsertRule(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string) (Rule, error) {
	query := engines[d.Family].insertRule
	if query == "" {
		return Rule{}, nil
	}
	rows, err := q.Rows(ctx, query, table, schema)
	if err != nil || len(rows) == 0 {
		return Rule{}, err
	}
	c := cells{row: rows[0]}
	rule := Rule{c.text(0), c.text(1)}
	return rule, c.err
}

// compositePostgreSQL finds columns whose type is composite, an array of such a type, or a
// domain of either.
const compositePostgreSQL = `WITH RECURSIVE base AS (
SELECT a.attname, a.attnum, a.atttypid AS typid
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE ` + meantPostgreSQL + `
UNION ALL
SELECT b.attname, b.attnum, CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END
FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typid
WHERE t.typtype = 'd' OR t.typcategory = 'A'
)
SELECT CAST(b.attname AS text)
FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typid AND t.typtype = 'c'
ORDER BY b.attnum`

// Composite returns the columns of a table or view of PostgreSQL whose type is composite,
// or is made of such a type, as the table has them. The names are as for [Read].
func Composite(ctx context.Context, q Querier, schema, table string) ([]string, error) {
	return names(ctx, q, always, compositePostgreSQL, table, schema)
}
