package statements_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// goldenTables creates the tables of the golden cases.
func goldenTables(t *testing.T, s *harness.Scratch) {
	t.Helper()
	script(t, s, goldenScript(t, s.Dialect.Name))
}

func goldenScript(t *testing.T, dialect string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldenDir, "schema", dialect+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// script executes statements that end with the line.
func script(t *testing.T, s *harness.Scratch, text string) {
	t.Helper()
	for statement := range strings.SplitSeq(text, ";\n") {
		if strings.TrimSpace(statement) != "" {
			harness.Exec(t, s.Raw, statement)
		}
	}
}

// handTables creates the same tables as goldenTables, but in these the engine
// writes the keys: a key column is unique instead of a primary key, and triggers
// put the next number of the key where an INSERT leaves NULL, or zero where that
// is no key. So the original texts store what they would with keys by hand, and
// no code of keyfill is part of it.
func handTables(t *testing.T, s *harness.Scratch, keys []handKey) {
	t.Helper()
	script(t, s, strings.NewReplacer("PRIMARY KEY NOT NULL", "UNIQUE", "PRIMARY KEY", "UNIQUE").Replace(goldenScript(t, s.Dialect.Name)))
	// fill is 0 for a key that is not filled, 1 for one that is where it is
	// NULL, 2 for one that is where it is zero, too.
	harness.Exec(t, s.Raw, "CREATE TABLE kf_keys (name varchar(100) PRIMARY KEY, base bigint, used bigint, fill int)")
	for i, k := range keys {
		harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO kf_keys VALUES ('%s', %d, 0, 0)", k.name(), k.base))
		for _, statement := range handTrigger(s, k, i) {
			harness.Exec(t, s.Raw, statement)
		}
	}
}

// handKey is a key column that the engine fills, with keys above a number of its
// own.
type handKey struct {
	table, column string
	integer       bool
	base          int64
}

func (k handKey) name() string { return k.table + "." + k.column }

// key returns the n-th key of the column, counted from 1, as text.
func (k handKey) key(n int64) string {
	if k.integer {
		return fmt.Sprint(k.base + n)
	}
	return fmt.Sprintf("eeeeeeee-0000-7000-8000-%012d", k.base+n)
}

// handTrigger returns what makes the engine fill a key.
func handTrigger(s *harness.Scratch, k handKey, n int) []string {
	column, table := s.Dialect.QuoteIdent(k.column), quoted(s, k.table)
	var (
		row  = "NEW." + column
		this = "kf_keys WHERE name = '" + k.name() + "'"
		used = "UPDATE kf_keys SET used = used + 1 WHERE name = '" + k.name() + "'"
		next = "base + used"
		hole = fmt.Sprintf("((SELECT fill FROM %[1]s) > 0 AND %[2]s IS NULL OR (SELECT fill FROM %[1]s) > 1 AND %[3]s)", this, row, isZero(s, row, k))
	)
	switch {
	case s.IsPostgres():
		if !k.integer {
			next = "'eeeeeeee-0000-7000-8000-' || lpad((base + used)::text, 12, '0')"
		}
		return []string{
			fmt.Sprintf("CREATE FUNCTION kf_fill_%d() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN IF %s THEN %s; %s := (SELECT %s FROM %s); END IF; RETURN NEW; END $f$",
				n, hole, used, row, next, this),
			fmt.Sprintf("CREATE TRIGGER kf_fill_%d BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION kf_fill_%[1]d()", n, table),
		}
	case s.Dialect.Name == "mariadb":
		if !k.integer {
			next = "CONCAT('eeeeeeee-0000-7000-8000-', LPAD(base + used, 12, '0'))"
		}
		return []string{fmt.Sprintf("CREATE TRIGGER kf_fill_%d BEFORE INSERT ON %s FOR EACH ROW BEGIN IF %s THEN %s; SET %s = (SELECT %s FROM %s); END IF; END",
			n, table, hole, used, row, next, this)}
	}
	if !k.integer {
		next = "'eeeeeeee-0000-7000-8000-' || printf('%012d', base + used)"
	}
	// A trigger of SQLite cannot change the row before it is stored, but it can
	// count it, stored or not: https://www.sqlite.org/lang_createtrigger.html.
	return []string{
		fmt.Sprintf("CREATE TRIGGER kf_count_%d BEFORE INSERT ON %s WHEN %s BEGIN %s; END", n, table, hole, used),
		fmt.Sprintf("CREATE TRIGGER kf_fill_%d AFTER INSERT ON %s WHEN %[3]s BEGIN UPDATE %[2]s SET %[4]s = (SELECT %[5]s FROM %[6]s) WHERE rowid = NEW.rowid; END",
			n, table, hole, column, next, this),
	}
}

// isZero is a condition: the value is what programs send for a key not set.
func isZero(s *harness.Scratch, value string, k handKey) string {
	if k.integer {
		return value + " = 0"
	}
	zeros := strings.Repeat("0", 32)
	texts := fmt.Sprintf("IN ('', '%[1]s', '%[2]s', '%[3]s', 'cus_%[2]s', 'shop_cus_%[2]s')", zeros, zeros[:26], "00000000-0000-0000-0000-000000000000")
	switch {
	case s.IsPostgres():
		return value + "::text " + texts
	case s.Dialect.Name == "mariadb":
		return "(" + value + " " + texts + " OR HEX(" + value + ") = '" + zeros + "')"
	}
	return "(" + value + " " + texts + " OR " + value + " = X'" + zeros + "')"
}

// quoted returns a table's name in quotes.
func quoted(s *harness.Scratch, table string) string {
	var parts []string
	for part := range strings.SplitSeq(table, ".") {
		parts = append(parts, s.Dialect.QuoteIdent(part))
	}
	return strings.Join(parts, ".")
}

// goldenTable is a table as it is in the database.
type goldenTable struct {
	name    string // with the schema where that is not the normal one
	columns []string
}

// catalogQueries give all columns of all tables by dialect.
var catalogQueries = map[string]string{
	"mariadb": "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position",
	"postgres": `SELECT CASE table_schema WHEN 'public' THEN '' ELSE table_schema || '.' END || table_name, column_name FROM information_schema.columns
		WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY table_schema, table_name, ordinal_position`,
	"sqlite": "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid",
}

// goldenCatalog returns the tables of a database that this test did not make.
func goldenCatalog(t *testing.T, s *harness.Scratch) []goldenTable {
	t.Helper()
	rows, err := s.Raw.Query(catalogQueries[s.Dialect.Name])
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var tables []goldenTable
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(table, "kf_") {
			continue
		}
		if len(tables) == 0 || tables[len(tables)-1].name != table {
			tables = append(tables, goldenTable{name: table})
		}
		last := &tables[len(tables)-1]
		last.columns = append(last.columns, column)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return tables
}

// orderRows gives the tables a column that says in which order the rows came,
// which an INSERT does not see. In SQLite that is the rowid.
func orderRows(t *testing.T, s *harness.Scratch, tables []goldenTable) {
	t.Helper()
	column := "kf_row bigserial"
	switch s.Dialect.Name {
	case "sqlite":
		return
	case "mariadb":
		// An AUTO_INCREMENT would change LAST_INSERT_ID().
		harness.Exec(t, s.Raw, "CREATE SEQUENCE kf_order")
		column = "kf_row bigint INVISIBLE DEFAULT (NEXT VALUE FOR kf_order)"
	}
	for _, table := range tables {
		harness.Exec(t, s.Raw, "ALTER TABLE "+quoted(s, table.name)+" ADD COLUMN "+column)
	}
}

// dumpQuery returns a query for all rows of the tables: table, order, and the
// values as texts in a JSON array.
func dumpQuery(s *harness.Scratch, tables []goldenTable) string {
	shape := map[string]struct{ order, array, value string }{
		"mariadb":  {"kf_row", "JSON_ARRAY(%s)", "CAST(%s AS CHAR)"},
		"postgres": {"kf_row", "json_build_array(%s)::text", "%s::text"},
		"sqlite":   {"rowid", "json_array(%s)", "quote(%s)"},
	}[s.Dialect.Name]
	var parts []string
	for _, table := range tables {
		var values []string
		for _, c := range table.columns {
			values = append(values, fmt.Sprintf(shape.value, s.Dialect.QuoteIdent(c)))
		}
		parts = append(parts, fmt.Sprintf("SELECT '%s', %s, %s FROM %s", table.name, shape.order,
			fmt.Sprintf(shape.array, strings.Join(values, ", ")), quoted(s, table.name)))
	}
	return strings.Join(parts, " UNION ALL ")
}

// dump returns all rows, a table's in the order in which they came. A value that is a key
// is written as its name: names has them by their texts.
func dump(ctx context.Context, x executor, query string, names map[string]string) ([]string, error) {
	rows, err := x.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	type row struct {
		table string
		order int64
		text  string
	}
	var all []row
	for rows.Next() {
		var (
			r      row
			array  string
			values []*string
		)
		if err := rows.Scan(&r.table, &r.order, &array); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(array), &values); err != nil {
			return nil, fmt.Errorf("%s: %w", array, err)
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, keyNamed(v, names))
		}
		r.text = r.table + ": " + strings.Join(texts, " | ")
		all = append(all, r)
	}
	slices.SortFunc(all, func(x, y row) int {
		if x.table != y.table {
			return strings.Compare(x.table, y.table)
		}
		return int(x.order - y.order)
	})
	var texts []string
	for _, r := range all {
		texts = append(texts, r.text)
	}
	return texts, rows.Err()
}

// keyNamed returns a value as text, a key as its name.
func keyNamed(v *string, names map[string]string) string {
	if v == nil {
		return "NULL"
	}
	if name := names[strings.Trim(*v, "'")]; name != "" {
		return name
	}
	return fmt.Sprintf("%q", *v)
}
