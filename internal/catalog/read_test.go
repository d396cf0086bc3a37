package catalog_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

// reads are tables as engines answer. The answers of SQL Server and Oracle are from their
// manuals, the others as their drivers give them in either protocol.
var reads = []struct {
	file          string
	d             *dialect.Dialect
	schema, table string
	answers       [][][]any
}{
	{"mysql", dialect.MySQL(), "", "orders", [][][]any{
		{},
		{{[]byte("shop"), []byte("Orders"), []byte("BASE TABLE"), []byte("InnoDB")}},
		{
			{"column", int64(1), "id", "bigint", "bigint unsigned", "auto_increment", nil, nil, nil, uint64(20), int64(0)},
			{"column", "2", "code", "varchar", "varchar(20)", "DEFAULT_GENERATED", "utf8mb4_0900_ai_ci", "uuid()", "20", nil, nil},
			{"column", "3", "total", "int", "int", "STORED GENERATED", nil, nil, nil, "10", "0"},
			{"index", int64(10000), "id", "PRIMARY", "BTREE", nil, nil, nil, int64(0), nil, nil},
			{"index", int64(10000), "code", "short", "BTREE", nil, nil, nil, int64(0), int64(5), int64(1)},
			{"index", int64(10000), "total", "short", "BTREE", nil, nil, nil, int64(0), nil, int64(2)},
			{"index", int64(10000), nil, "expression", "BTREE", nil, nil, nil, int64(0), nil, "1"},
			{"trigger", int64(0), nil, nil, nil, nil, nil, nil, int64(0), int64(1), nil},
			{"grant", int64(0), nil, nil, nil, nil, nil, nil, int64(1), nil, nil},
		},
	}},
	{"mysql_schema", dialect.MariaDB(), "shop", "orders", [][][]any{
		{},
		{{"Shop", "orders", "VIEW", nil}},
		{
			{"column", int64(1), "id", "uuid", "uuid", "", nil, nil, nil, nil, nil},
			{"trigger", int64(0), nil, nil, nil, nil, nil, nil, int64(0), nil, nil},
			{"grant", int64(0), nil, nil, nil, nil, nil, nil, int64(0), nil, nil},
		},
	}},
	{"mysql_same", dialect.MariaDB(), "shop", "orders", [][][]any{{
		{"table", int64(-1), "orders", "shop", "BASE TABLE", "InnoDB", nil, nil, nil, nil, nil},
		{"column", int64(1), "id", "bigint", "bigint(20)", "", nil, nil, nil, int64(19), int64(0)},
		{"index", int64(10000), "id", "PRIMARY", "BTREE", nil, nil, nil, int64(0), nil, int64(1)},
		{"trigger", int64(0), nil, nil, nil, nil, nil, nil, int64(0), int64(0), nil},
		{"grant", int64(0), nil, nil, nil, nil, nil, nil, int64(1), nil, nil},
	}}},
	{"postgres", dialect.PostgreSQL(), "sales", "orders", [][][]any{{
		{"sales", []byte("orders"), true, false, "true", true, false, "id", "integer", "int4", int64(-1), "N", "", "", "nextval('s'::regclass)", nil, "orders_pkey", true, int64(1), false},
		{"sales", "orders", true, false, true, true, false, "code", "character varying(20)", "varchar", "24", "S", "", "", nil, "default", nil, "t", "2", "f"},
		{"sales", "orders", true, false, true, true, false, "code", "character varying(20)", "varchar", "24", "S", "", "", nil, "default", "orders_code", false, "1", "f"},
		{"sales", "orders", true, false, true, true, false, "n", "numeric(10,2)", "numeric", "655366", "N", "", "", nil, nil, nil, nil, nil, nil},
	}}},
	{"postgres_empty", dialect.PostgreSQL(), "", "orders", [][][]any{{{"sales", "orders", false, false, false, false, false, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}}}},
	{"postgres_any", dialect.PostgreSQL(), "sales", "orders", [][][]any{{
		{"sales", "orders", true, false, true, true, false, "id", "integer", "int4", int64(-1), "N", "d", "", nil, nil, "orders_pkey", true, int64(1), true},
	}, {
		{int64(0), int64(0), "sales", []byte("orders"), "false", []byte("true"), "false", "true", "true", "false", nil, nil, nil},
		{int64(1), int64(1), "id", "integer", "int4", "-1", "N", "", "", "nextval('s'::regclass)", nil, nil, nil},
		{int64(1), "2", "code", "character varying(20)", "varchar", "24", "S", "", "", nil, "default", nil, nil},
		{int64(1), int64(3), "n", "numeric(10,2)", "numeric", "655366", "N", "", "", nil, nil, nil, nil},
		{int64(2), int64(1), "code", nil, "true", "2", nil, nil, nil, nil, nil, nil, nil},
		{int64(2), int64(2), "id", "orders_pkey", "true", "1", nil, nil, nil, nil, nil, nil, nil},
	}}},
	{"sqlite", dialect.SQLite(), "", "orders", [][][]any{
		{
			{"main", "id", "INTEGER", int64(0), int64(1), nil},
			{"main", "secret", "INT", int64(1), int64(0), nil},
		},
		{{"table", "Orders", "CREATE TABLE Orders(id INTEGER PRIMARY KEY AUTOINCREMENT)", nil, nil, nil, nil}},
	}},
	{"sqlserver", dialect.SQLServer(), "dbo", "odd]name", [][][]any{
		{{int64(245575913), "dbo", "odd]name", int64(0), nil}},
		{
			{"id", "int", int64(4), int64(10), int64(0), true, int64(0), nil, nil},
			{"g", "uniqueidentifier", int64(16), int64(0), int64(0), false, int64(0), "(newsequentialid())", nil},
			{"seq", "bigint", int64(8), int64(19), int64(0), false, int64(0), "(NEXT VALUE FOR [dbo].[s])", nil},
			{"tiny", "tinyint", int64(1), int64(3), int64(0), false, int64(0), nil, nil},
			{"small", "smallint", int64(2), int64(5), int64(0), false, int64(0), nil, nil},
			{"d", "decimal", int64(9), int64(19), int64(0), false, int64(0), nil, nil},
			{"d2", "numeric", int64(9), int64(10), int64(2), false, int64(0), nil, nil},
			{"f", "float", int64(8), int64(53), int64(0), false, int64(0), nil, nil},
			{"c", "nvarchar", int64(72), int64(0), int64(0), false, int64(0), nil, "Latin1_General_CI_AS"},
			{"v", "varchar", int64(36), int64(0), int64(0), false, int64(0), nil, "Latin1_General_BIN2"},
			{"m", "nvarchar", int64(-1), int64(0), int64(0), false, int64(0), nil, "Latin1_General_CI_AS"},
			{"t", "ntext", int64(16), int64(0), int64(0), false, int64(0), nil, "Latin1_General_CI_AS"},
			{"b", "binary", int64(16), int64(0), int64(0), false, int64(0), nil, nil},
			{"vb", "varbinary", int64(-1), int64(0), int64(0), false, int64(0), nil, nil},
			{"im", "image", int64(16), int64(0), int64(0), false, int64(0), nil, nil},
			{"computed", "int", int64(4), int64(10), int64(0), false, int64(1), nil, nil},
			{"rv", "timestamp", int64(8), int64(0), int64(0), false, int64(0), nil, nil},
			{"clr", nil, int64(892), int64(0), int64(0), false, int64(0), nil, nil},
		},
		{{"id", "PK_odd", int64(1), int64(1)}, {"g", nil, int64(1), int64(1)}, {"c", "UQ_c", int64(0), int64(2)}},
	}},
	{"sqlserver_temporary", dialect.SQLServer(), "dbo", "#mu", [][][]any{
		{{int64(-1524253373), "dbo", "#mu_______00000000001A", int64(0), int64(0)}},
		{{"id", "uniqueidentifier", int64(16), int64(0), int64(0), false, int64(0), nil, nil}, {"a", "int", int64(4), int64(10), int64(0), false, int64(0), nil, nil}},
		{{"id", "PK__#mu", int64(1), int64(1)}},
	}},
	{"sqlserver_view", dialect.SQLServer(), "", "v", [][][]any{{{"1", "dbo", "v", int64(1), int64(1)}}, {}, {}}},
	{"oracle", dialect.Oracle(), "", "ORDERS", [][][]any{
		{{"SHOP", "ORDERS", int64(0), "0", float64(1)}, {"PUBLIC", "ORDERS", int64(0), "1", int64(1)}},
		{
			{"ID", "NUMBER", "22", "0", nil, "0", "NO", "BY DEFAULT", `"SHOP"."ISEQ$$_1".nextval`},
			{"A", "NUMBER", "22", "0", nil, nil, "NO", "ALWAYS", `"SHOP"."ISEQ$$_2".nextval`},
			{"N10", "NUMBER", "22", "0", "10", "0", "NO", nil, []byte(`"SHOP"."S"."NEXTVAL" `)},
			{"N19", "NUMBER", "22", "0", "19", "0", "NO", nil, nil},
			{"N2", "NUMBER", "22", "0", "10", "2", "NO", nil, "7"},
			{"F", "FLOAT", "22", "0", "126", nil, "NO", nil, nil},
			{"V", "NUMBER", "22", "0", nil, nil, "YES", nil, `"N10"+1`},
			{"R", "RAW", "16", "0", nil, nil, "NO", nil, nil},
			{"C", "VARCHAR2", "144", "36", nil, nil, "NO", nil, nil},
			{"L", "CLOB", "4000", "0", nil, nil, "NO", nil, nil},
			{"B", "BLOB", "4000", "0", nil, nil, "NO", nil, nil},
			{"D", "DATE", "7", "0", nil, nil, "NO", nil, nil},
		},
		{
			{"ID", "ORDERS_IX", "ORDERS_PK", int64(1), int64(1)},
			{"C", nil, "ORDERS_UQ", int64(0), int64(1)},
			{"R", "R_UQ", "R_UQ", int64(1), int64(2)},
			{"SYS_NC00013$", "FUNCTIONS", nil, int64(1), int64(1)},
		},
	}},
	{"oracle_unknown", dialect.Oracle(), "SALES", "Orders", [][][]any{{{"SALES", "Orders", int64(1), "0", int64(0)}}, {}, {}}},
	{"oracle_trigger", dialect.Oracle(), "SALES", "ORDERS", [][][]any{{{"SALES", "ORDERS", int64(0), "2", int64(0)}}, {}, {}}},
}

// TestRead compares the queries with their arguments, and what is made of the
// answers, with testdata.
func TestRead(t *testing.T) {
	for _, r := range reads {
		t.Run(r.file, func(t *testing.T) {
			q := &script{answers: r.answers}
			table, err := catalog.Read(context.Background(), r.d, q, r.schema, r.table)
			if err != nil {
				t.Fatal(err)
			}
			if len(q.log) != len(r.answers) || len(q.log) > 3 {
				t.Errorf("%d queries, want %d", len(q.log), len(r.answers))
			}
			got := map[string]string{"queries": strings.Join(q.log, "\n\n") + "\n", "table": describe(table)}
			name := filepath.Join("testdata", r.file+".txtar")
			if *update {
				a := &txtar.Archive{Files: []txtar.File{
					{Name: "queries", Data: []byte(got["queries"])}, {Name: "table", Data: []byte(got["table"])}}}
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(want.Files) != len(got) {
				t.Errorf("%s has %d sections", name, len(want.Files))
			}
			for _, f := range want.Files {
				if got[f.Name] != string(f.Data) {
					t.Errorf("%s: got\n%s\nwant\n%s", f.Name, got[f.Name], f.Data)
				}
			}
		})
	}
}

// TestReadNothing: no table is ErrNoTable with the name in its text, whatever
// the engine.
func TestReadNothing(t *testing.T) {
	for _, d := range dialect.All() {
		q := &script{}
		table, err := catalog.Read(context.Background(), d, q, "sales", "orders")
		if table != nil || !errors.Is(err, catalog.ErrNoTable) || !strings.HasPrefix(err.Error(), "sales.orders: there is no such table") {
			t.Errorf("%s: %v, %v", d.Name, table, err)
		}
	}
	other := *dialect.MySQL()
	other.Name, other.Family = "other", 0
	if _, err := catalog.Read(context.Background(), &other, &script{}, "", "orders"); err == nil {
		t.Error("the catalog of an engine that is not known was read")
	}
}

// TestReadFaults: the driver's error is returned as it is, whichever query
// fails, and a value that is not what was asked for is an error.
func TestReadFaults(t *testing.T) {
	refused := errors.New("refused")
	for _, r := range reads {
		for n := range r.answers {
			q := &script{answers: r.answers[:n], err: refused}
			table, err := catalog.Read(context.Background(), r.d, q, r.schema, r.table)
			if table != nil || err != refused {
				t.Errorf("%s: query %d fails: %v, %v; want %v", r.file, n+1, table, err, refused)
			}
			if len(r.answers[n]) == 0 {
				continue
			}
			for i := range r.answers[n][0] {
				q := &script{answers: append([][][]any{}, r.answers...)}
				row := append([]any{}, r.answers[n][0]...)
				row[i] = struct{}{}
				q.answers[n] = append([][]any{row}, r.answers[n][1:]...)
				table, err := catalog.Read(context.Background(), r.d, q, r.schema, r.table)
				if (err == nil) == (table == nil) {
					t.Errorf("%s: value %d of answer %d is odd: %v, %v", r.file, i+1, n+1, table, err)
				}
			}
		}
	}
}

// mainTable is the answer of SQLite about a table of the database main.
var mainTable = [][]any{
	{"index", "code", "NOCASE", int64(1), "u", int64(0), int64(1), int64(1)},
	{"index", "code", "BINARY", int64(0), "c", int64(1), int64(1), int64(0)},
	{"column", "code", "TEXT", int64(0), int64(0), nil, nil, int64(1)},
	{"column", "id", "INTEGER", int64(0), int64(1), nil, nil, int64(0)},
	{"table", "Orders", "CREATE TABLE Orders(id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT UNIQUE)", nil, nil, nil, nil, int64(0)},
	{"trigger", "orders_added", "CREATE TRIGGER orders_added AFTER INSERT ON Orders BEGIN SELECT 1; END", nil, nil, nil, nil, int64(0)},
}

// TestReadOutside: outside of a transaction one query reads a table of SQLite's database
// main. A temporary table of the same name, and a table of another database, are read as
// inside of a transaction.
func TestReadOutside(t *testing.T) {
	hidden := append([][]any{{"hidden", "orders", "CREATE TEMP TABLE orders(id INTEGER)", nil, nil, nil, nil, int64(0)}}, mainTable...)
	temporary := [][][]any{
		{{"temp", "id", "INTEGER", int64(0), int64(0), nil}},
		{{"table", "orders", "CREATE TEMP TABLE orders(id INTEGER)", nil, nil, nil, nil}},
	}
	const main = "main.Orders: triggers yes, view false\nid INTEGER: integer 63 AUTOINCREMENT rowid led unique Orders.id alone\ncode TEXT: text 0 led unique Orders.code alone collation BINARY\n"
	const temp = "temp.orders: triggers no, view false\nid INTEGER: integer 63\n"
	for _, c := range []struct {
		name, schema string
		answers      [][][]any
		queries      int
		want         string
	}{
		{"without a schema", "", [][][]any{mainTable}, 1, main},
		{"with its schema", "main", [][][]any{hidden}, 1, main},
		{"hidden", "", append([][][]any{hidden}, temporary...), 3, temp},
		{"elsewhere", "", append([][][]any{{}}, temporary...), 3, temp},
		{"another schema", "temp", temporary, 2, temp},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &script{answers: c.answers}
			table, err := catalog.ReadOutside(context.Background(), dialect.SQLite(), q, c.schema, "orders")
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(table); got != c.want || len(q.log) != c.queries {
				t.Errorf("%d queries, want %d:\n%s\nwant\n%s", len(q.log), c.queries, got, c.want)
			}
		})
	}
	failing := &failsFirst{script{answers: append([][][]any{{}}, temporary...)}}
	if table, err := catalog.ReadOutside(context.Background(), dialect.SQLite(), failing, "", "orders"); err != nil || describe(table) != temp {
		t.Errorf("main is locked: %v, %v", table, err)
	}
	for i := range mainTable[0] {
		odd := append([]any{}, mainTable[0]...)
		odd[i] = struct{}{}
		q := &script{answers: [][][]any{append([][]any{odd}, mainTable[1:]...)}}
		if table, err := catalog.ReadOutside(context.Background(), dialect.SQLite(), q, "", "orders"); (err == nil) == (table == nil) {
			t.Errorf("value %d is odd: %v, %v", i+1, table, err)
		}
	}
	q := &script{answers: [][][]any{{{"shop", "orders", "BASE TABLE", "InnoDB"}}, {}}}
	if _, err := catalog.ReadOutside(context.Background(), dialect.MySQL().WithExactTables(), q, "", "orders"); err != nil {
		t.Errorf("another engine: %v", err)
	}
}

// failsFirst is a Querier whose first query fails.
type failsFirst struct{ script }

func (q *failsFirst) Rows(ctx context.Context, query string, args ...any) ([][]any, error) {
	rows, err := q.script.Rows(ctx, query, args...)
	if len(q.log) == 1 {
		err = errors.New("database is locked")
	}
	return rows, err
}

// TestReadPlace: one query returns a table of MySQL and the database of the session. If it
// cannot, the database alone is asked for.
func TestReadPlace(t *testing.T) {
	row := func(name, schema string) [][]any {
		return [][]any{
			{"table", int64(-1), name, schema, "BASE TABLE", "InnoDB", "shop", nil, nil, nil, nil},
			{"column", int64(1), "id", "bigint", "bigint", "", nil, nil, nil, nil, nil},
		}
	}
	place := [][]any{{"shop"}}
	for _, c := range []struct {
		name    string
		d       *dialect.Dialect
		answers [][][]any
		isRead  bool
	}{
		{"exact", dialect.MySQL(), [][][]any{row("orders", "shop")}, true},
		{"other case", dialect.MySQL(), [][][]any{row("Orders", "shop"), place}, false},
		{"missing", dialect.MariaDB(), [][][]any{{}, place}, false},
		{"names by case", dialect.MySQL().WithExactTables(), [][][]any{place}, false},
		{"another engine", dialect.PostgreSQL(), [][][]any{place}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &script{answers: c.answers}
			at, table, err := catalog.ReadPlace(context.Background(), c.d, q, "", "orders")
			if err != nil || at.Place != "shop" || (table != nil) != c.isRead || len(q.log) != len(c.answers) {
				t.Errorf("%+v, %v, %v after %d queries", at, table, err, len(q.log))
			}
		})
	}
}

// TestReadAmbiguous: two tables that differ by case, neither as it is asked
// for. What only differs by accents does not count.
func TestReadAmbiguous(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  error
	}{
		{[]string{"Orders", "ORDERS"}, catalog.ErrAmbiguous},
		{[]string{"Orders", "örders"}, nil},
		{[]string{"örders"}, catalog.ErrNoTable},
	} {
		q := &script{answers: [][][]any{{}, {}, {}}}
		for _, name := range c.names {
			q.answers[1] = append(q.answers[1], []any{"shop", name, "BASE TABLE", "InnoDB"})
		}
		table, err := catalog.Read(context.Background(), dialect.MySQL(), q, "", "orders")
		if !errors.Is(err, c.want) || (table == nil) != (c.want != nil) {
			t.Errorf("%q: %v, %v; want %v", c.names, table, err, c.want)
		}
	}
}

func TestTableColumn(t *testing.T) {
	table := &catalog.Table{Name: "orders", Columns: []catalog.Column{{Name: "Id"}, {Name: "ID"}, {Name: "name"}}}
	for _, c := range []struct {
		d      *dialect.Dialect
		folded string
		want   *catalog.Column
	}{
		{dialect.MySQL(), "id", &table.Columns[0]},
		{dialect.SQLServer(), "name", &table.Columns[2]},
		{dialect.PostgreSQL(), "id", nil},
		{dialect.PostgreSQL(), "Id", &table.Columns[0]},
		{dialect.Oracle(), "ID", &table.Columns[1]},
		{dialect.Oracle(), "NAME", nil},
		{dialect.SQLite(), "missing", nil},
	} {
		if got := table.Column(c.d, c.folded); got != c.want {
			t.Errorf("%s: Column(%q) = %v, want %v", c.d.Name, c.folded, got, c.want)
		}
	}
}
