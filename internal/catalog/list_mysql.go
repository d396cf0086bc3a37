package catalog

import (
	"context"
	"strings"
)

// These queries list all tables of some schemas. Their columns are in the order of the
// query describeMySQL, followed by further ones. Each statement compares table_schema with
// constants, so that no other schema is read. {schemas} stands for the placeholders of the
// schemas, whose names the server compares by its own rules: a folded name is found too.
const (
	tablesMySQL = `SELECT CAST(table_schema AS CHAR), CAST(table_name AS CHAR), CAST(table_type AS CHAR),
COALESCE(table_schema = DATABASE(), 0), COALESCE(create_options LIKE '%partitioned%', 0), COALESCE(engine = 'InnoDB', 0)
FROM information_schema.tables
WHERE table_schema IN ({schemas})
ORDER BY 1, 2`

	columnsMySQL = `SELECT 'column', ordinal_position, CAST(column_name AS CHAR),
CAST(data_type AS CHAR), CAST(column_type AS CHAR), CAST(extra AS CHAR),
CAST(collation_name AS CHAR), CAST(column_default AS CHAR),
character_maximum_length, numeric_precision, numeric_scale,
CAST(table_schema AS CHAR), CAST(table_name AS CHAR), CASE is_nullable WHEN 'YES' THEN 1 ELSE 0 END
FROM information_schema.columns
WHERE table_schema IN ({schemas})
ORDER BY table_schema, table_name, ordinal_position`

	indexesMySQL = `SELECT 'index', 10000, CAST(column_name AS CHAR), CAST(index_name AS CHAR), CAST(index_type AS CHAR),
NULL, NULL, NULL, non_unique, sub_part, seq_in_index, CAST(table_schema AS CHAR), CAST(table_name AS CHAR)
FROM information_schema.statistics
WHERE table_schema IN ({schemas}) AND (seq_in_index = 1 OR non_unique = 0)
ORDER BY table_schema, table_name, index_name, seq_in_index`

	triggersMySQL = `SELECT CAST(event_object_schema AS CHAR), CAST(event_object_table AS CHAR), CAST(trigger_name AS CHAR),
CASE WHEN event_manipulation LIKE '%INSERT%' THEN 1 ELSE 0 END, CASE action_timing WHEN 'BEFORE' THEN 1 ELSE 0 END, CAST(action_statement AS CHAR)
FROM information_schema.triggers
WHERE event_object_schema IN ({schemas}) AND event_manipulation <> 'DELETE'
ORDER BY 1, 2, 3`

	foreignKeysMySQL = `SELECT CAST(k.table_schema AS CHAR), CAST(k.table_name AS CHAR), CAST(k.constraint_name AS CHAR), CAST(k.column_name AS CHAR),
CAST(k.referenced_table_schema AS CHAR), CAST(k.referenced_table_name AS CHAR), CAST(k.referenced_column_name AS CHAR)
FROM information_schema.key_column_usage k
WHERE k.table_schema IN ({schemas}) AND k.referenced_table_name IS NOT NULL
ORDER BY 1, 2, 3, k.ordinal_position`
)

// listMySQL lists the tables of the session's database and of the given schemas.
func listMySQL(ctx context.Context, q Querier, schemas []string) (*Overview, error) {
	home, err := one(ctx, q, "SELECT DATABASE()")
	if err != nil {
		return nil, err
	}
	if home != "" {
		schemas = append([]string{home}, schemas...)
	}
	l := &listing{tables: map[string]*Listed{}, ctx: ctx, q: q, args: arguments(schemas)}
	if len(schemas) == 0 {
		return &l.o, nil
	}
	in := func(query string) string {
		return strings.ReplaceAll(query, "{schemas}", placeholders(len(schemas)))
	}
	l.rows(in(tablesMySQL), func(c *cells) {
		kind := c.text(2)
		if kind == "SEQUENCE" {
			return
		}
		l.add(c.text(0)+"\x00"+c.text(1), &Listed{
			Table:   &Table{Schema: c.text(0), Name: c.text(1), View: strings.HasSuffix(kind, "VIEW"), Transactional: c.isSet(5)},
			Visible: c.isSet(3), Split: c.isSet(4),
		})
	})
	l.rows(in(columnsMySQL), func(c *cells) {
		if t := l.tables[c.text(11)+"\x00"+c.text(12)]; t != nil {
			t.describeColumn(columnOfMySQL(c), c.isSet(13), c.text(7))
		}
	})
	last := ""
	l.rows(in(indexesMySQL), func(c *cells) {
		t := l.tables[c.text(11)+"\x00"+c.text(12)]
		if t == nil {
			return
		}
		t.indexOfMySQL(c)
		if c.number(8) != 0 || !c.isNull(9) {
			return
		}
		t.uniqueColumn(&last, c.text(11)+"\x00"+c.text(12)+"\x00"+c.text(3), c.text(2))
		if c.text(3) == "PRIMARY" {
			t.Primary = append(t.Primary, c.text(2))
		}
	})
	l.rows(in(triggersMySQL), func(c *cells) {
		t := l.tables[c.text(0)+"\x00"+c.text(1)]
		if t == nil {
			return
		}
		if c.isSet(3) {
			t.InsertTriggers = Yes
			t.Triggers = append(t.Triggers, Trigger{Name: c.text(2), Before: c.isSet(4), Body: c.text(5)})
		}
		if c.isSet(4) {
			t.KeyTriggers = Yes
		}
	})
	l.rows(in(foreignKeysMySQL), func(c *cells) {
		l.refer(c.text(2), c.text(0)+"\x00"+c.text(1), c.text(3), c.text(4)+"\x00"+c.text(5), c.text(6))
	})
	for _, t := range l.o.Tables {
		t.aloneInMySQL()
	}
	return &l.o, l.err
}

// listing collects an overview. After an error it sends no more queries.
type listing struct {
	o      Overview
	tables map[string]*Listed // by the key that the engine has for a table, such as an oid

	ctx  context.Context
	q    Querier
	args []any
	err  error
}

// rows sends a query, and calls f with each row of the answer.
func (l *listing) rows(query string, f func(*cells)) {
	if l.err != nil {
		return
	}
	rows, err := l.q.Rows(l.ctx, query, l.args...)
	if err != nil {
		l.err = err
		return
	}
	for _, row := range rows {
		c := cells{row: row}
		f(&c)
		if c.err != nil {
			l.err = c.err
			return
		}
	}
}

func (l *listing) add(key string, t *Listed) {
	l.tables[key] = t
	l.o.Tables = append(l.o.Tables, t)
}

// refer adds a column of a foreign key, if both of its tables are listed.
func (l *listing) refer(name, child, column, parent, parentColumn string) {
	from, to := l.tables[child], l.tables[parent]
	if from != nil && to != nil {
		l.o.ForeignKeys = append(l.o.ForeignKeys, ForeignKey{Name: name, Table: from, Column: column, Parent: to, ParentColumn: parentColumn})
	}
}
