package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// swapPostgreSQL swaps columns in one transaction. Only the values and the types of a column
// and its UUID column change places, so that indexes, constraints, comments and rights stay
// where they are: "ALTER TABLE" of the PostgreSQL 18 documentation, ALTER COLUMN … TYPE …
// USING, whose expressions read the row as it was before.
var swapPostgreSQL = &swapRules{
	limit: 63,
	begin: "SET LOCAL search_path = pg_catalog", // so that pg_get_constraintdef writes schemas
	refs: `SELECT CAST(n.nspname AS text), CAST(c.relname AS text), CAST(k.conname AS text), CAST(a.attname AS text), CAST(pn.nspname AS text), CAST(p.relname AS text), CAST(b.attname AS text), pg_get_constraintdef(k.oid)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class p ON p.oid = k.confrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace
CROSS JOIN LATERAL ROWS FROM (unnest(k.conkey), unnest(k.confkey)) WITH ORDINALITY AS u (child, parent, place)
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.child JOIN pg_attribute b ON b.attrelid = p.oid AND b.attnum = u.parent
WHERE k.contype = 'f' AND k.conparentid = 0 ORDER BY n.nspname, c.relname, k.conname, u.place`,
	names: "SELECT CAST(c.relname AS text) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = {schema}",
	again: func(p place, _, index string, statements []string) []string {
		if index == "" {
			return statements
		}
		// A CREATE INDEX CONCURRENTLY that was stopped leaves an index that is not valid.
		drop := fmt.Sprintf("DROP INDEX CONCURRENTLY IF EXISTS %s.%s", p.dialect.QuoteIdent(p.schema), p.dialect.QuoteIdent(index))
		return slices.Insert(statements, 1, drop)
	},
	differs: "{a} IS DISTINCT FROM {b}",
	read:    readPostgreSQL,
	fill: func(t *swapTable, between string) string {
		return fillBySelect(t, between, "UPDATE {table} c SET ", "{a} IS DISTINCT FROM {b}")
	},
	swap:    exchangePostgreSQL,
	stopped: "It is one transaction: if it was stopped, nothing has changed, and it can be run again.",
	drop: func(c *swapColumn) []string {
		return []string{c.sql("ALTER TABLE {table} DROP COLUMN IF EXISTS {old}")}
	},
}

// dependentsPostgreSQL returns what depends on a column, and keeps its type from being
// changed or reads it as an integer: views, rules, triggers of a column, policies, generated
// columns, functions, publications, CHECK constraints, and indexes of expressions.
const dependentsPostgreSQL = `SELECT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid)
FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refclassid = CAST('pg_catalog.pg_class' AS regclass) AND d.refobjid = CAST(CAST($1 AS text) AS regclass) AND a.attname = $2 AND (
d.classid IN (CAST('pg_catalog.pg_rewrite' AS regclass), CAST('pg_catalog.pg_trigger' AS regclass), CAST('pg_catalog.pg_policy' AS regclass), CAST('pg_catalog.pg_proc' AS regclass), CAST('pg_catalog.pg_publication_rel' AS regclass))
OR EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE d.classid = CAST('pg_catalog.pg_constraint' AS regclass) AND k.oid = d.objid AND k.contype = 'c')
OR EXISTS (SELECT 1 FROM pg_catalog.pg_attrdef f WHERE d.classid = CAST('pg_catalog.pg_attrdef' AS regclass) AND f.oid = d.objid AND f.adnum <> a.attnum)
OR EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE d.classid = CAST('pg_catalog.pg_class' AS regclass) AND i.indexrelid = d.objid AND a.attnum <> ALL (CAST(i.indkey AS smallint[]))))
ORDER BY 1`

// sequencesPostgreSQL returns the sequences that are owned by a column.
const sequencesPostgreSQL = `SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(s.relname)
FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class s ON s.oid = d.objid AND s.relkind = 'S' JOIN pg_catalog.pg_namespace n ON n.oid = s.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.classid = CAST('pg_catalog.pg_class' AS regclass) AND d.refclassid = d.classid AND d.deptype = 'a' AND d.refobjid = CAST(CAST($1 AS text) AS regclass) AND a.attname = $2`

func readPostgreSQL(ctx context.Context, s *swap, t *swapTable) (problems []problem, _ error) {
	for _, c := range t.columns {
		dependents, err := s.texts(ctx, dependentsPostgreSQL, t.sql(), c.column.Name)
		if err != nil {
			return nil, err
		}
		for _, one := range slices.Compact(dependents) {
			problems = append(problems, problem{c.of, fmt.Sprintf("%s uses %s: drop it before the plan, and create it again after the swap", one, c)})
		}
		sequences, err := s.texts(ctx, sequencesPostgreSQL, t.sql(), c.column.Name)
		if err != nil {
			return nil, err
		}
		for _, sequence := range sequences {
			t.parts = append(t.parts, c.sql("ALTER SEQUENCE "+sequence+" OWNED BY {table}.{new}"))
		}
	}
	return problems, nil
}

// texts returns the first column of the rows of a query.
func (s *swap) texts(ctx context.Context, query string, args ...any) (all []string, _ error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// fillBySelect returns an UPDATE that reads each UUID by a query of its own.
func fillBySelect(t *swapTable, between, update, differs string) string {
	var set, differ []string
	for _, c := range t.columns {
		if c.root == c {
			continue
		}
		query := c.sql("(SELECT r.{root new} FROM {root} r WHERE r.{root column} = c.{column})")
		set = append(set, c.sql("{new} = ")+query)
		differ = append(differ, strings.NewReplacer("{a}", c.sql("c.{new}"), "{b}", query).Replace(differs))
	}
	where := strings.Join(differ, " OR ")
	if between != "" {
		where = between + " AND (" + where + ")"
	}
	return strings.ReplaceAll(update, "{table}", t.sql()) + strings.Join(set, ", ") + " WHERE " + where
}

func exchangePostgreSQL(s *swap) []string {
	var locked, exchanged, unbound, bound, analyzed []string
	for _, r := range s.refs {
		if s.affected(r) {
			name := s.dialect.QuoteIdent(r.name)
			unbound = append(unbound, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", r.table.sql(), name))
			bound = append(bound, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", r.table.sql(), name, r.definition))
		}
	}
	for _, t := range s.tables {
		locked = append(locked, t.sql())
		analyzed = append(analyzed, "ANALYZE "+t.sql())
		var plain, types, names []string
		for _, c := range t.columns {
			plain = append(plain, c.sql("ALTER COLUMN {column} DROP IDENTITY IF EXISTS"), c.sql("ALTER COLUMN {column} DROP DEFAULT"), c.sql("ALTER COLUMN {new} DROP NOT NULL"))
			types = append(types, c.sql("ALTER COLUMN {new} TYPE "+c.column.Type+" USING {column}"), c.sql("ALTER COLUMN {column} TYPE "+c.of.uuidType()+" USING {new}"))
			names = append(names, c.sql("ALTER TABLE {table} RENAME COLUMN {new} TO {old}"))
		}
		alter := "ALTER TABLE " + t.sql() + " "
		exchanged = append(exchanged, t.parts...)
		exchanged = append(exchanged, alter+strings.Join(plain, ", "), alter+strings.Join(types, ", "))
		exchanged = append(exchanged, names...)
	}
	statements := []string{"BEGIN", "LOCK TABLE " + strings.Join(locked, ", ") + " IN ACCESS EXCLUSIVE MODE"}
	for _, guard := range s.guards() {
		statements = append(statements, fmt.Sprintf("DO $keyfill$ BEGIN IF (%s) > 0 THEN RAISE EXCEPTION '%%', %s; END IF; END $keyfill$", guard[0], s.literal("keyfill: "+guard[1])))
	}
	return slices.Concat(statements, unbound, exchanged, bound, []string{"COMMIT"}, analyzed)
}

// literal returns a text as a string of SQL.
func (s *swap) literal(text string) string { return literal(s.dialect, text) }
