package nativecatalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
)

// Statements holds an engine's statements about its own sequences.
//
// In the texts, {sequence} stands for a quoted name, and {server} for an expression
// that identifies the server.
type Statements struct {
	find  Text // selects schema and name
	facts Text // selects increment, MAXVALUE, whether it cycles, whether sessions cache, the last value
	own   Text // selects, for a column, the values that the function reads expects

	// Start selects the value with which a sequence begins, on an engine that shows no
	// last value before the first draw. It is empty for other engines.
	Start Text

	// Cache selects, for the sequence whose name {sequence} is as a literal: how many
	// values a session draws in advance, whether the user may read the sequence, and the
	// user. It is empty if the engine numbers no columns by sequences.
	Cache string

	NoCycle string // how ALTER SEQUENCE spells NO CYCLE

	// Raise sets the sequence {sequence} so that its next value is {next} or greater;
	// {last} is the number before {next}. RaiseAboveKeys sets it above the keys:
	// {greatest} stands for a query for the greatest key of each column, each in
	// parentheses and after a comma. {literal} is the name as it stands between quotes.
	Raise, RaiseAboveKeys string

	// Draw selects the value, the increment, a text that distinguishes the sequence from
	// another one of the same name, and the server. {rows} stands for something with as
	// many rows as values are drawn.
	Draw   Text
	rows   func(count int64) string // returns the text for {rows}; nil if Draw makes the rows itself
	ranged bool                     // Draw returns one row for all values, which follow each other

	Clusters bool // the server may be a node of a cluster in which each node has values of its own

	// reads interprets a row of the query own: it returns the sequence from which a
	// column's default draws, empty if there is none, and whether the column uses a
	// sequence in another way.
	reads func(d *dialect.Dialect, own []any) (schema, name string, worked bool)
}

// Text is the text of a statement, with functions that return the arguments of its
// placeholders, in their order.
type Text struct {
	Text string
	args []func(Args) any
}

// Args holds the values from which the arguments of a [Text] are taken.
type Args struct {
	Name   Name
	Column store.Column
	Table  string // the quoted name of the column's table
	Count  int64
}

func schemaArg(a Args) any   { return a.Name.Schema }
func nameArg(a Args) any     { return a.Name.Name }
func quotedArg(a Args) any   { return a.Name.Quoted }
func countArg(a Args) any    { return a.Count }
func tableSchema(a Args) any { return a.Column.Schema }
func tableTitle(a Args) any  { return a.Column.Table }
func tableQuoted(a Args) any { return a.Table }
func columnTitle(a Args) any { return a.Column.Name }

// Bind returns the arguments of the statement's placeholders.
func (t Text) Bind(a Args) []any {
	var args []any
	for _, value := range t.args {
		args = append(args, value(a))
	}
	return args
}

// statements holds the statements of the families whose engines all have sequences.
// ownStatements holds the statements of single engines, by the dialect's name.
var (
	statements = map[dialect.Family]*Statements{
		dialect.FamilyPostgreSQL: &postgres,
		dialect.FamilySQLServer:  &sqlserver,
		dialect.FamilyOracle:     &oracle,
	}
	ownStatements = map[string]*Statements{dialect.MariaDB().Name: &mariadb}
)

// known returns the statements of an engine, nil if it has no sequences.
func known(d *dialect.Dialect) *Statements {
	if own := ownStatements[d.Name]; own != nil {
		return own
	}
	return statements[d.Family]
}

// StatementsOf returns the statements of an engine. If the engine has no sequences,
// only Raise and RaiseAboveKeys are set, as advice for people.
func StatementsOf(d *dialect.Dialect) *Statements {
	if e := known(d); e != nil {
		return e
	}
	return &Statements{Raise: restart, RaiseAboveKeys: restartAboveKeys}
}

const (
	restart          = "ALTER SEQUENCE {sequence} RESTART WITH {next}, unless it has given that by then"
	restartAboveKeys = "ALTER SEQUENCE {sequence} RESTART WITH <a number above all keys and above what the sequence has given>"
)

// DrawText returns the query that draws count values.
func (e *Statements) DrawText(sequence string, count int64) string {
	text := strings.ReplaceAll(e.Draw.Text, "{sequence}", sequence)
	if e.rows != nil {
		text = strings.Replace(text, "{rows}", e.rows(count), 1)
	}
	return text
}

// Ranges returns how many values, besides the first, one row of Draw stands for.
func (e *Statements) Ranges(count int64) int64 {
	if e.ranged {
		return count - 1
	}
	return 0
}

// PostgreSQL 12 and later: see "Sequence Manipulation Functions", pg_sequence and
// pg_depend in its manual. nextval in one session waits for an ALTER SEQUENCE in
// another. The default of a column depends on the sequence that it names by regclass;
// pg_get_serial_sequence returns the sequence of an identity column, or the one that is
// OWNED BY a column.
var postgres = Statements{
	NoCycle:        "NO CYCLE",
	Raise:          "SELECT setval('{literal}', GREATEST(last_value, {last})) FROM {sequence}",
	RaiseAboveKeys: "SELECT setval('{literal}', GREATEST(last_value{greatest})) FROM {sequence}",
	Start: Text{`SELECT seqstart FROM pg_catalog.pg_sequence WHERE seqrelid = CAST(CAST($1 AS text) AS regclass)`,
		[]func(Args) any{quotedArg}},
	Cache: `SELECT q.seqcache, CASE WHEN pg_catalog.has_sequence_privilege(q.seqrelid, 'SELECT') THEN 1 ELSE 0 END, CAST(quote_ident(current_user) AS text) FROM pg_catalog.pg_sequence q WHERE q.seqrelid = CAST({sequence} AS regclass)`,
	find: Text{`SELECT CAST(n.nspname AS text), CAST(c.relname AS text)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S' AND c.relname = CAST(CAST($1 AS text) AS name)
AND CASE CAST($2 AS text) WHEN '' THEN pg_catalog.pg_table_is_visible(c.oid)
ELSE n.nspname = CAST(CAST($2 AS text) AS name) END`,
		[]func(Args) any{nameArg, schemaArg}},
	facts: Text{`SELECT q.seqincrement, q.seqmax, CASE WHEN q.seqcycle THEN 1 ELSE 0 END,
CASE WHEN q.seqcache > 1 THEN 1 ELSE 0 END,
CASE WHEN pg_catalog.has_sequence_privilege(q.seqrelid, 'USAGE, SELECT') THEN pg_catalog.pg_sequence_last_value(q.seqrelid) END
FROM pg_catalog.pg_sequence q
WHERE q.seqrelid = CAST(CAST($1 AS text) AS regclass)`,
		[]func(Args) any{quotedArg}},
	own: Text{`SELECT CAST(sn.nspname AS text), CAST(q.relname AS text), pg_catalog.pg_get_expr(d.adbin, d.adrelid),
'nextval(' || quote_literal(CAST(CAST(q.oid AS regclass) AS text)) || '::regclass)'
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN pg_catalog.pg_class q ON q.relkind = 'S' AND q.oid = CASE WHEN d.oid IS NULL
THEN CAST(CAST(pg_catalog.pg_get_serial_sequence(quote_ident(n.nspname) || '.' || quote_ident(c.relname), a.attname) AS regclass) AS oid)
ELSE (SELECT MIN(r.refobjid) FROM pg_catalog.pg_depend r JOIN pg_catalog.pg_class s ON s.oid = r.refobjid AND s.relkind = 'S'
WHERE r.classid = CAST('pg_catalog.pg_attrdef' AS regclass) AND r.objid = d.oid AND r.refclassid = CAST('pg_catalog.pg_class' AS regclass)) END
LEFT JOIN pg_catalog.pg_namespace sn ON sn.oid = q.relnamespace
WHERE c.relname = CAST(CAST($1 AS text) AS name) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND CASE CAST($2 AS text) WHEN '' THEN pg_catalog.pg_table_is_visible(c.oid)
ELSE n.nspname = CAST(CAST($2 AS text) AS name) END AND a.attname = CAST(CAST($3 AS text) AS name)`,
		[]func(Args) any{tableTitle, tableSchema, columnTitle}},
	reads: func(_ *dialect.Dialect, own []any) (schema, name string, worked bool) {
		def, plain := store.Text(own[2]), store.Text(own[3])
		schema, name = store.Text(own[0]), store.Text(own[1])
		switch {
		case def == "", def == plain, isCast(def, plain):
			return schema, name, false
		case name != "", strings.Contains(strings.ToLower(def), "nextval"):
			return "", "", true
		}
		return "", "", false
	},
	// pg_sequence_parameters returns the parameters at the time of its call, after
	// nextval, whose lock keeps them unchanged. A SELECT from pg_sequence would return the
	// parameters from the time at which the statement began to wait for an ALTER SEQUENCE.
	Draw: Text{`SELECT nextval(CAST(CAST($1 AS text) AS regclass)),
(pg_catalog.pg_sequence_parameters(CAST(CAST($1 AS text) AS regclass))).increment,
CAST(CAST(CAST(CAST($1 AS text) AS regclass) AS oid) AS text), (SELECT {server})
FROM generate_series(1, CAST($2 AS bigint))`,
		[]func(Args) any{quotedArg, countArg}},
}

// isCast reports whether expr is the expression plain, cast to a type without a length
// that could cut the value.
func isCast(expr, plain string) bool {
	kind, found := strings.CutPrefix(expr, "("+plain+")::")
	return found && !strings.ContainsFunc(kind, func(c rune) bool {
		return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.ContainsRune(` ."_`, c))
	})
}

// MariaDB 10.3 and later: see "CREATE SEQUENCE" and "SEQUENCE Functions" in its
// Knowledge Base. A sequence is read like a table of one row. INCREMENT BY 0 stands for
// the server's auto_increment_increment, which keyfill does not compare. The default of
// a column names the sequence with its database (10.11).
var mariadb = Statements{
	Clusters:       true,
	NoCycle:        "NOCYCLE",
	Raise:          "SELECT SETVAL({sequence}, {last})",
	RaiseAboveKeys: "SELECT SETVAL({sequence}, <the greatest key>)",
	find: Text{`SELECT table_schema, table_name
FROM information_schema.tables
WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ? AND table_type = 'SEQUENCE'`,
		[]func(Args) any{schemaArg, nameArg}},
	facts: Text{`SELECT increment, maximum_value, cycle_option, 0, next_not_cached_value - increment FROM {sequence}`, nil},
	own: Text{`SELECT column_default
FROM information_schema.columns
WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ? AND column_name = ?`,
		[]func(Args) any{tableSchema, tableTitle, columnTitle}},
	reads: func(d *dialect.Dialect, own []any) (schema, name string, worked bool) {
		return readDefault(d, store.Text(own[0]), "nextval(", ")")
	},
	Draw: Text{`SELECT NEXTVAL({sequence}), q.increment, '', {server} FROM {sequence} q{rows} LIMIT ?`,
		[]func(Args) any{countArg}},
	rows: func(count int64) string {
		var b strings.Builder
		for i := range len(strconv.FormatInt(count-1, 10)) {
			if count > 1 {
				fmt.Fprintf(&b, "\nCROSS JOIN (SELECT 1%s) d%d", strings.Repeat(" UNION ALL SELECT 1", 9), i)
			}
		}
		return b.String()
	},
}

// SQL Server 2016 and later: see sys.sequences, sp_sequence_get_range, which returns all
// values at once, and "NEXT VALUE FOR (Transact-SQL)". The database caches the values, not
// each session, so all sessions get them in order.
var sqlserver = Statements{
	Raise: restart, RaiseAboveKeys: restartAboveKeys,
	NoCycle: "NO CYCLE",
	find: Text{`SELECT s.name, q.name
FROM sys.sequences q
JOIN sys.schemas s ON s.schema_id = q.schema_id
WHERE q.object_id = OBJECT_ID(@p1)`,
		[]func(Args) any{quotedArg}},
	facts: Text{`SELECT CONVERT(bigint, q.increment), CONVERT(bigint, q.maximum_value), CONVERT(int, q.is_cycling), 0,
CASE WHEN q.is_exhausted = 1 THEN CONVERT(bigint, q.maximum_value) ELSE CONVERT(bigint, q.current_value) END
FROM sys.sequences q
WHERE q.object_id = OBJECT_ID(@p1)`,
		[]func(Args) any{quotedArg}},
	own: Text{`SELECT d.definition
FROM sys.columns c
JOIN sys.default_constraints d ON d.object_id = c.default_object_id
WHERE c.object_id = OBJECT_ID(@p1) AND c.name = @p2`,
		[]func(Args) any{tableQuoted, columnTitle}},
	reads: func(d *dialect.Dialect, own []any) (schema, name string, worked bool) {
		return readDefault(d, store.Text(own[0]), "(next value for ", ")")
	},
	Draw: Text{`DECLARE @first sql_variant;
EXEC sys.sp_sequence_get_range @sequence_name = @p1, @range_size = @p2, @range_first_value = @first OUTPUT;
SELECT CONVERT(bigint, @first), CONVERT(bigint, q.increment), CONVERT(nvarchar(20), q.object_id), {server}
FROM sys.sequences q
WHERE q.object_id = OBJECT_ID(@p1);`,
		[]func(Args) any{quotedArg, countArg}},
	ranged: true,
}

// Oracle Database 12c and later: see ALL_SEQUENCES and ALL_TAB_IDENTITY_COLS in the
// Database Reference, and "Sequence Pseudocolumns" in the SQL Language Reference:
// NEXTVAL stands in the outer select list. A sequence that belongs to one session alone
// counts as one that sessions cache. DATA_DEFAULT is a LONG, and names the sequence
// with its owner. LAST_NUMBER is the first number that is not cached.
var oracle = Statements{
	Raise: restart, RaiseAboveKeys: restartAboveKeys,
	NoCycle: "NOCYCLE",
	find: Text{`SELECT q.sequence_owner, q.sequence_name
FROM all_sequences q
WHERE q.sequence_owner = NVL(:1, SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')) AND q.sequence_name = :2`,
		[]func(Args) any{schemaArg, nameArg}},
	facts: Text{`SELECT TO_CHAR(q.increment_by), TO_CHAR(LEAST(q.max_value, 9223372036854775807)), CASE q.cycle_flag WHEN 'Y' THEN 1 ELSE 0 END,
CASE q.session_flag WHEN 'Y' THEN 1 ELSE 0 END, TO_CHAR(LEAST(q.last_number - q.increment_by, 9223372036854775807))
FROM all_sequences q
WHERE q.sequence_owner = :1 AND q.sequence_name = :2`,
		[]func(Args) any{schemaArg, nameArg}},
	own: Text{`SELECT c.owner, i.sequence_name, c.data_default
FROM all_tab_cols c
LEFT JOIN all_tab_identity_cols i ON i.owner = c.owner AND i.table_name = c.table_name AND i.column_name = c.column_name
WHERE c.owner = NVL(:1, SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')) AND c.table_name = :2 AND c.column_name = :3`,
		[]func(Args) any{tableSchema, tableTitle, columnTitle}},
	reads: func(d *dialect.Dialect, own []any) (schema, name string, worked bool) {
		if name := store.Text(own[1]); name != "" {
			return store.Text(own[0]), name, false
		}
		def := strings.TrimSpace(store.Text(own[2]))
		for _, end := range []string{`."nextval"`, ".nextval"} {
			if schema, name, worked = readDefault(d, def, "", end); name != "" {
				return schema, name, false
			}
		}
		return "", "", worked
	},
	Draw: Text{`SELECT TO_CHAR({sequence}.NEXTVAL), TO_CHAR(q.increment_by), '', SYS_CONTEXT('USERENV', 'DB_UNIQUE_NAME')
FROM all_sequences q
CROSS JOIN (SELECT LEVEL AS n FROM dual CONNECT BY LEVEL <= :1) r
WHERE q.sequence_owner = :2 AND q.sequence_name = :3`,
		[]func(Args) any{countArg, schemaArg, nameArg}},
}

// readDefault returns the sequence that a column's default names between the texts
// before and after, which are in lower case. worked reports that the default draws from
// a sequence in another form.
func readDefault(d *dialect.Dialect, def, before, after string) (schema, name string, worked bool) {
	lower := strings.ToLower(def)
	if len(lower) != len(def) || !strings.Contains(lower, "nextval") && !strings.Contains(lower, "next value for") {
		return "", "", false
	}
	if !strings.HasPrefix(lower, before) || !strings.HasSuffix(lower, after) || len(def) < len(before)+len(after) {
		return "", "", true
	}
	schema, name, err := SplitName(d, def[len(before):len(def)-len(after)])
	return schema, name, err != nil
}
