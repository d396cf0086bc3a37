package catalog

import (
	"context"
	"fmt"
	"strings"
)

// Queries for Oracle Database 12c and later: "Static Data Dictionary Views" of the Database
// Reference. Each placeholder needs an argument of its own, even if its number repeats.
// Empty text is NULL. Numbers are read as text, which is the same from every driver.
const (
	// A name that is no table of the schema may be a synonym of the schema, or
	// a public one ("Database Object Names and Qualifiers" of the SQL Language
	// Reference). A synonym of a synonym is not followed.
	//
	// ALL_TRIGGERS shows the user's own triggers, the triggers on the user's tables,
	// and with CREATE ANY TRIGGER all triggers.
	findOracle = `SELECT o.owner, o.object_name, CASE o.object_type WHEN 'TABLE' THEN 0 ELSE 1 END,
(SELECT TO_CHAR(COUNT(*)) FROM all_triggers g WHERE g.table_owner = o.owner AND g.table_name = o.object_name
AND g.status = 'ENABLED' AND g.triggering_event LIKE '%INSERT%'),
CASE WHEN o.owner = USER OR EXISTS (SELECT 1 FROM session_privs p WHERE p.privilege = 'CREATE ANY TRIGGER') THEN 1 ELSE 0 END
FROM (SELECT NVL(:1, SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')) AS owner, :2 AS name, 1 AS place FROM dual
UNION ALL
SELECT s.table_owner, s.table_name, CASE s.owner WHEN 'PUBLIC' THEN 3 ELSE 2 END FROM all_synonyms s
WHERE s.synonym_name = :3 AND s.db_link IS NULL
AND s.owner IN (NVL(:4, SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')), CASE WHEN :5 IS NULL THEN 'PUBLIC' END)) w
JOIN all_objects o ON o.owner = w.owner AND o.object_name = w.name
WHERE o.object_type IN ('TABLE', 'VIEW', 'MATERIALIZED VIEW')
ORDER BY w.place, o.object_type`

	// DATA_DEFAULT is a LONG, which no expression may use.
	columnsOracle = `SELECT c.column_name, c.data_type, TO_CHAR(c.data_length), TO_CHAR(c.char_length),
TO_CHAR(c.data_precision), TO_CHAR(c.data_scale), c.virtual_column, i.generation_type, c.data_default
FROM all_tab_cols c
LEFT JOIN all_tab_identity_cols i ON i.owner = c.owner AND i.table_name = c.table_name AND i.column_name = c.column_name
WHERE c.owner = :1 AND c.table_name = :2 AND c.hidden_column = 'NO'
ORDER BY c.column_id`

	// A constraint may use an index of another name, unique or not.
	// ORA-00001 names the constraint where there is one.
	indexesOracle = `SELECT k.column_name, CASE x.uniqueness WHEN 'UNIQUE' THEN x.index_name END, n.constraint_name,
CASE WHEN x.index_type IN ('NORMAL', 'NORMAL/REV', 'FUNCTION-BASED NORMAL', 'IOT - TOP')
AND x.status IN ('VALID', 'N/A') AND x.visibility = 'VISIBLE' THEN 1 ELSE 0 END,
(SELECT COUNT(*) FROM all_ind_columns o WHERE o.index_owner = x.owner AND o.index_name = x.index_name)
FROM all_ind_columns k
JOIN all_indexes x ON x.owner = k.index_owner AND x.index_name = k.index_name
LEFT JOIN all_constraints n ON n.owner = k.table_owner AND n.table_name = k.table_name
AND n.index_name = x.index_name AND n.constraint_type IN ('P', 'U')
WHERE k.table_owner = :1 AND k.table_name = :2 AND k.column_position = 1
ORDER BY x.index_name`
)

func readOracle(ctx context.Context, q Querier, schema, table string) (*Table, error) {
	rows, err := q.Rows(ctx, findOracle, schema, table, table, schema, schema)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	c := cells{row: rows[0]}
	t := &Table{Schema: c.text(0), Name: c.text(1), View: c.isSet(2)}
	switch {
	case c.number(3) > 0:
		t.InsertTriggers = Yes
	case c.isSet(4):
		t.InsertTriggers = No
	}
	if c.err != nil {
		return nil, c.err
	}
	if rows, err = q.Rows(ctx, columnsOracle, t.Schema, t.Name); err != nil {
		return nil, err
	}
	for _, row := range rows {
		c := cells{row: row}
		t.Columns = append(t.Columns, columnOfOracle(&c))
		if c.err != nil {
			return nil, c.err
		}
	}
	if rows, err = q.Rows(ctx, indexesOracle, t.Schema, t.Name); err != nil {
		return nil, err
	}
	for _, row := range rows {
		c := cells{row: row}
		index, constraint := c.text(1), c.text(2)
		t.led(c.text(0), index, c.isSet(3), c.number(4))
		if constraint != "" && constraint != index {
			t.led(c.text(0), constraint, c.isSet(3), c.number(4))
		}
		if c.err != nil {
			return nil, c.err
		}
	}
	return t, nil
}

// numberDigits is how many digits every NUMBER without a precision holds at least.
const numberDigits = 38

func columnOfOracle(c *cells) Column {
	kind := c.text(1)
	col := Column{Name: c.text(0), Type: kind, Generated: c.text(6) == "YES"}
	switch kind {
	case "NUMBER":
		digits := numberDigits
		if !c.isNull(4) {
			digits = c.number(4)
			col.Type = fmt.Sprintf("NUMBER(%d,%d)", digits, c.number(5))
		}
		if c.number(5) == 0 {
			col.integer(decimalBits(digits))
		}
		col.lossy = !col.Integer
	case "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE":
		col.rounds = true
	case "CHAR", "NCHAR", "VARCHAR2", "NVARCHAR2":
		col.Text, col.Length = true, c.number(3)
		col.Type = fmt.Sprintf("%s(%d)", kind, col.Length)
	case "CLOB", "NCLOB", "LONG":
		col.Text = true
	case "RAW":
		col.Binary, col.Length = true, c.number(2)
		col.Type = fmt.Sprintf("RAW(%d)", col.Length)
	case "BLOB", "LONG RAW":
		col.Binary = true
	}
	switch generation := c.text(7); {
	case generation == "ALWAYS":
		col.Identity, col.IdentityAlways = "GENERATED ALWAYS AS IDENTITY", true
	case generation != "":
		col.Identity = byDefault
	case !col.Generated && isNextval(strings.TrimSpace(c.text(8))):
		col.Identity = nextvalDefault
	}
	return col
}
