package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/plan"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

const (
	longTable  = "measurements_of_the_third_generation_of_sensors_in_warehouse_07"
	longColumn = "product_that_was_measured_by_the_third_generation_of_the_sensor"
)

// swapSchema are twelve tables with foreign keys, and two without a key that is numbered.
// {id} stands for a key that the engine numbers, {int} for an integer, and "Order" is a
// name in the quotes of the engine. Each table has a note, which no two rows share.
var swapSchema = []string{
	`CREATE TABLE countries ({id}, note VARCHAR(60) NOT NULL UNIQUE)`,
	`CREATE TABLE customers ({id}, country_id {int}, note VARCHAR(60) NOT NULL UNIQUE,
 CONSTRAINT customers_country FOREIGN KEY (country_id) REFERENCES countries (id) ON DELETE SET NULL ON UPDATE CASCADE)`,
	`CREATE TABLE profiles (customer_id {int} NOT NULL PRIMARY KEY, note VARCHAR(60) NOT NULL UNIQUE,
 CONSTRAINT profiles_customer FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE)`,
	`CREATE TABLE employees ({id}, manager_id {int}, country_id {int} NOT NULL, note VARCHAR(60) NOT NULL UNIQUE,
 CONSTRAINT employees_manager FOREIGN KEY (manager_id) REFERENCES employees (id) ON DELETE SET NULL,
 CONSTRAINT employees_country FOREIGN KEY (country_id) REFERENCES countries (id))`,
	`CREATE TABLE products ({id}, note VARCHAR(60) NOT NULL UNIQUE)`,
	`CREATE TABLE "Order" ({id}, customer_id {int} NOT NULL, employee_id {int}, "Ship To" {int}, bill_to {int}, no {int} NOT NULL, note VARCHAR(60) NOT NULL UNIQUE,
 CONSTRAINT order_no UNIQUE (customer_id, no),
 CONSTRAINT order_customer FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE,
 CONSTRAINT order_employee FOREIGN KEY (employee_id) REFERENCES employees (id) ON DELETE SET NULL,
 CONSTRAINT order_ship FOREIGN KEY ("Ship To") REFERENCES countries (id),
 CONSTRAINT order_bill FOREIGN KEY (bill_to) REFERENCES countries (id))`,
	`CREATE INDEX order_by_employee ON "Order" (employee_id, no)`,
	`CREATE TABLE order_lines (order_id {int} NOT NULL, line_no {int} NOT NULL, product_id {int} NOT NULL, note VARCHAR(60) NOT NULL UNIQUE,
 PRIMARY KEY (order_id, line_no),
 CONSTRAINT lines_order FOREIGN KEY (order_id) REFERENCES "Order" (id) ON DELETE CASCADE,
 CONSTRAINT lines_product FOREIGN KEY (product_id) REFERENCES products (id))`,
	`CREATE TABLE shipments ({id}, order_id {int}, line_no {int}, note VARCHAR(60) NOT NULL UNIQUE,
 CONSTRAINT shipments_line FOREIGN KEY (order_id, line_no) REFERENCES order_lines (order_id, line_no) ON DELETE CASCADE ON UPDATE CASCADE)`,
	`CREATE TABLE tags ({id}, note VARCHAR(60) NOT NULL UNIQUE)`,
	`CREATE TABLE product_tags (product_id {int} NOT NULL, tag_id {int} NOT NULL, note VARCHAR(60) NOT NULL UNIQUE,
 PRIMARY KEY (product_id, tag_id),
 CONSTRAINT tags_product FOREIGN KEY (product_id) REFERENCES products (id) ON DELETE CASCADE,
 CONSTRAINT tags_tag FOREIGN KEY (tag_id) REFERENCES tags (id) ON DELETE CASCADE)`,
	`CREATE TABLE ` + longTable + ` ({id}, ` + longColumn + ` {int}, note VARCHAR(60) NOT NULL UNIQUE,
 CONSTRAINT long_product FOREIGN KEY (` + longColumn + `) REFERENCES products (id))`,
	`CREATE TABLE returns ({id}, shipment_id {int} NOT NULL, note VARCHAR(60) NOT NULL UNIQUE,
 CONSTRAINT returns_shipment FOREIGN KEY (shipment_id) REFERENCES shipments (id) ON DELETE CASCADE)`,
	`CREATE TABLE settings (note VARCHAR(60) NOT NULL PRIMARY KEY)`,
	`CREATE TABLE schema_migrations (version {int} NOT NULL PRIMARY KEY)`,
}

// swapReference is a column that refers to a key: the table, its column, the table that it
// refers to, and the column of that.
type swapReference struct{ table, column, parent, refers string }

var swapReferences = []swapReference{
	{"customers", "country_id", "countries", "id"},
	{"profiles", "customer_id", "customers", "id"},
	{"employees", "manager_id", "employees", "id"},
	{"employees", "country_id", "countries", "id"},
	{`"Order"`, "customer_id", "customers", "id"},
	{`"Order"`, "employee_id", "employees", "id"},
	{`"Order"`, `"Ship To"`, "countries", "id"},
	{`"Order"`, "bill_to", "countries", "id"},
	{"order_lines", "order_id", `"Order"`, "id"},
	{"order_lines", "product_id", "products", "id"},
	{"shipments", "order_id", `"Order"`, "id"},
	{"product_tags", "product_id", "products", "id"},
	{"product_tags", "tag_id", "tags", "id"},
	{longTable, longColumn, "products", "id"},
	{"returns", "shipment_id", "shipments", "id"},
}

// swapKeys are the tables with keys of their own, parents first.
var swapKeys = []string{"countries", "customers", "employees", "products", `"Order"`, "shipments", "tags", longTable, "returns"}

// swapInserts add rows to the tables. {n} is a number that makes the notes of the rows.
// {key of TABLE} is the key of the row with that number.
var swapInserts = []string{
	`INSERT INTO countries (note) VALUES ('{n}')`,
	`INSERT INTO customers (country_id, note) SELECT {half countries}, '{n}'`,
	`INSERT INTO profiles (customer_id, note) SELECT {customers}, '{n}'`,
	`INSERT INTO employees (manager_id, country_id, note) SELECT (SELECT m.id FROM employees m WHERE m.note = 'row 0'), {countries}, '{n}'`,
	`INSERT INTO products (note) VALUES ('{n}')`,
	`INSERT INTO "Order" (customer_id, employee_id, "Ship To", bill_to, no, note) SELECT {customers}, {half employees}, {countries}, {half countries}, 7, '{n}'`,
	`INSERT INTO order_lines (order_id, line_no, product_id, note) SELECT {"Order"}, 3, {products}, '{n}'`,
	`INSERT INTO shipments (order_id, line_no, note) SELECT {half "Order"}, 3, '{n}'`,
	`INSERT INTO tags (note) VALUES ('{n}')`,
	`INSERT INTO product_tags (product_id, tag_id, note) SELECT {products}, {tags}, '{n}'`,
	`INSERT INTO returns (shipment_id, note) SELECT {shipments}, '{n}'`,
}

// inSwap returns SQL of the tables in the words of an engine.
func (p *planned) inSwap(text string) string {
	words := map[string][]string{
		"sqlite": {"{id}", "id INTEGER PRIMARY KEY AUTOINCREMENT", "{int}", "INTEGER"},
		"mysql":  {"{id}", "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'the key'", "{int}", "BIGINT", `"`, "`"},
		"pgx":    {"{id}", "id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "{int}", "BIGINT"},
	}
	return strings.NewReplacer(words[p.driver]...).Replace(text)
}

// insertSwap returns the INSERTs of rows with the number n.
func (p *planned) insertSwap(n int) (queries []string) {
	for _, query := range swapInserts {
		words := []string{"{n}", fmt.Sprintf("row %d", n)}
		for _, table := range swapKeys {
			key := fmt.Sprintf("(SELECT k.id FROM %s k WHERE k.note = 'row %d')", table, n)
			half := key
			if n%2 == 1 {
				half = "NULL"
			}
			words = append(words, "{"+table+"}", key, "{half "+table+"}", half)
		}
		queries = append(queries, p.inSwap(strings.NewReplacer(words...).Replace(query)))
	}
	return queries
}

// client runs a file as an operator does, by the engine's own client.
func (p *planned) client(t *testing.T, file string) (string, error) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cmd *exec.Cmd
	switch p.driver {
	case "pgx":
		cmd = exec.Command("psql", "-X", "-q", "-f", file, p.dsn)
	case "mysql":
		cfg, err := mysql.ParseDSN(p.dsn)
		if err != nil {
			t.Fatal(err)
		}
		host, port, _ := strings.Cut(cfg.Addr, ":")
		cmd = exec.Command("mariadb", "--no-defaults", "--host="+host, "--port="+port, "--user="+cfg.User, "--protocol=tcp", cfg.DBName)
		cmd.Stdin = bytes.NewReader(text)
	default:
		name, _, _ := strings.Cut(strings.TrimPrefix(p.dsn, "file:"), "?")
		cmd = exec.Command("sqlite3", name)
		cmd.Stdin = bytes.NewReader(text)
	}
	if cmd.Err != nil {
		testdb.Skip(t, cmd.Path, "not installed")
	}
	cmd.Env = append(os.Environ(), "MYSQL_PWD=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// planFiles prints a plan into a folder and returns its steps.
func (p *planned) planFiles(t *testing.T, args ...string) []plan.Step {
	t.Helper()
	return p.steps(t, append(args, "--dir", filepath.Join(t.TempDir(), "plan"))...)
}

// runStep runs the file or the commands of a step.
func (p *planned) runStep(t *testing.T, s plan.Step) {
	t.Helper()
	if strings.HasSuffix(s.File, ".sql") {
		if out, err := p.client(t, s.File); err != nil {
			t.Fatalf("%s: %v: %s", s.File, err, out)
		}
	}
	for _, line := range s.Run {
		if r := keyfillRun(t, "", words(line)[1:]...); r.code != 0 {
			t.Fatalf("%s: %s%s", line, r.out, r.errOut)
		}
	}
}

// filledBy opens the database with the policy of a file.
func (p *planned) filledBy(t *testing.T, file string, queries ...string) {
	t.Helper()
	cfg, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := keyfill.OpenDB(database.NewConnector(p.raw.Driver(), p.dsn), keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range queries {
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// bound returns the foreign keys, keys and indexes of the database, a line each.
func (p *planned) bound(t *testing.T) string {
	t.Helper()
	query := map[string]string{
		"sqlite": `SELECT m.name || ' ' || f.seq || ' ' || f."from" || ' ' || f."table" || ' ' || COALESCE(f."to", '') || ' ' || f.on_update || ' ' || f.on_delete
FROM sqlite_schema m, pragma_foreign_key_list(m.name) f UNION ALL
SELECT m.name || ' ' || CASE l.origin WHEN 'c' THEN l.name ELSE l.origin END || ' ' || l."unique" || ' ' || x.seqno || ' ' || x.name FROM sqlite_schema m, pragma_index_list(m.name) l, pragma_index_info(l.name) x
WHERE m.name NOT LIKE 'copy%' AND l.origin <> 'pk' UNION ALL
SELECT m.name || ' ' || c.name || ' ' || c."notnull" FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.name NOT LIKE 'copy%' AND c.name <> 'id' AND c.name NOT LIKE '%!_old' ESCAPE '!' ORDER BY 1`,
		"mysql": `SELECT CONCAT_WS(' ', k.table_name, k.constraint_name, k.ordinal_position, k.column_name, k.referenced_table_name, k.referenced_column_name, r.update_rule, r.delete_rule)
FROM information_schema.key_column_usage k LEFT JOIN information_schema.referential_constraints r ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name AND r.table_name = k.table_name
WHERE k.table_schema = DATABASE() AND k.table_name NOT LIKE 'copy%' UNION ALL
SELECT CONCAT_WS(' ', table_name, index_name, seq_in_index, column_name, non_unique) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name NOT LIKE 'copy%' UNION ALL
SELECT CONCAT_WS(' ', table_name, column_name, is_nullable, column_comment) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name NOT LIKE 'copy%' AND column_name NOT LIKE '%\_old' ORDER BY 1`,
		"pgx": `SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace UNION ALL
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%uuid' UNION ALL
SELECT table_name || ' ' || column_name || ' ' || is_nullable FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE 'copy%' AND column_name NOT LIKE '%\_old' ORDER BY 1`,
	}[p.driver]
	rows, err := p.raw.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if rows.Err() != nil || len(lines) == 0 {
		t.Fatalf("no constraints are listed: %v", rows.Err())
	}
	return strings.Join(lines, "\n")
}

// rows returns the answer of a query that counts.
func (p *planned) rows(t *testing.T, query string) (n int) {
	t.Helper()
	query = p.inSwap(query)
	if err := p.raw.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// copied returns the name of the copy of a table.
func copied(table string) string {
	return `"copy_` + strings.Trim(table, `"`)[:min(40, len(strings.Trim(table, `"`)))] + `"`
}

// TestPlanSwap: twelve tables with foreign keys go from integers to UUIDs by the files of
// keyfill plan uuid --all, which the engine's client runs, while programs insert up to the
// swap. Then each child refers to the row to which its integer referred.
func TestPlanSwap(t *testing.T) {
	for _, layout := range testturn.Some(t, []string{"", "binary"}, 1) {
		t.Run("layout "+layout, func(t *testing.T) {
			eachPlanned(t, func(t *testing.T, p *planned) {
				for _, query := range swapSchema {
					p.exec(t, p.inSwap(query))
				}
				for n := range 6 {
					p.exec(t, p.insertSwap(n)...)
				}
				before := p.bound(t)
				args := []string{"uuid", "--all"}
				if layout != "" {
					args = append(args, "--layout", layout)
				}
				steps := p.planFiles(t, args...)
				names := []string{}
				swapAt := 0
				for i, s := range steps {
					if s.File != "" {
						names = append(names, filepath.Base(s.File))
					}
					if strings.HasSuffix(s.File, "-swap.sql") {
						swapAt = i
					}
				}
				first, last := steps[1].File, steps[swapAt+1].File
				n := 6
				for i, s := range steps {
					if i == swapAt {
						for _, table := range append([]string{"profiles", "order_lines", "product_tags"}, swapKeys...) {
							p.exec(t, p.inSwap("CREATE TABLE "+copied(table)+" AS SELECT * FROM "+table))
						}
					}
					p.runStep(t, s)
					switch {
					case i == 0 || i == 1: // old programs do not see the column
						p.exec(t, p.insertSwap(n)...)
						n++
						fallthrough
					case i < swapAt-1: // programs with keyfill
						p.filledBy(t, first, p.insertSwap(n)...)
						n++
					}
					if i == swapAt-1 && strings.Contains(steps[i].Title, "Then run the step before") {
						p.runStep(t, steps[i-1])
					}
					if i == swapAt {
						p.swapped(t, n, layout)
					}
				}
				if after := p.bound(t); after != before {
					t.Errorf("constraints and indexes before:\n%s\nafter:\n%s", before, after)
				}
				p.filledBy(t, last, p.insertSwap(n)...)
				for _, table := range swapKeys[:7] {
					if got := p.rows(t, "SELECT COUNT(id) FROM "+table); got != n+1 {
						t.Errorf("%s has %d keys, want %d", table, got, n+1)
					}
				}
				if _, err := p.raw.Exec(p.inSwap(`DELETE FROM countries`)); err == nil && p.driver != "sqlite" {
					t.Error("a row that others refer to can be deleted")
				}
				t.Logf("%d rows a table; %v", n+1, names)
			})
		})
	}
}

// swapped compares each row with the copy from before the swap.
func (p *planned) swapped(t *testing.T, n int, layout string) {
	t.Helper()
	for _, table := range swapKeys {
		if got, want := p.rows(t, "SELECT COUNT(DISTINCT id) FROM "+table), p.rows(t, "SELECT COUNT(*) FROM "+copied(table)); got != want || want != n && table != longTable {
			t.Errorf("%s has %d UUIDs, want %d, and %d rows were inserted", table, got, want, n)
		}
		length := map[string]string{"sqlite": "LENGTH(id)", "mysql": "OCTET_LENGTH(id)", "pgx": "LENGTH(CAST(id AS text))"}[p.driver]
		want := 36
		if layout == "binary" {
			length, want = strings.Replace(length, "CAST(id AS text)", "id", 1), 16
		}
		if got := p.rows(t, fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s <> %d", table, length, want)); got != 0 {
			t.Errorf("%d keys of %s are no UUIDs", got, table)
		}
		if got := p.rows(t, fmt.Sprintf("SELECT COUNT(*) FROM %s n JOIN %s o ON o.note = n.note AND o.id = n.id_old", table, copied(table))); table != longTable && got != n {
			t.Errorf("%s kept %d integers, want %d", table, got, n)
		}
	}
	for _, r := range swapReferences {
		query := strings.NewReplacer("{child}", r.table, "{child copy}", copied(r.table), "{parent}", r.parent, "{parent copy}", copied(r.parent), "{column}", r.column, "{refers}", r.refers).Replace(
			`SELECT COUNT(*) FROM {child} n JOIN {child copy} o ON o.note = n.note LEFT JOIN {parent copy} op ON op.{refers} = o.{column} LEFT JOIN {parent} np ON np.note = op.note
WHERE (n.{column} IS NULL AND np.{refers} IS NULL AND o.{column} IS NULL) OR n.{column} = np.{refers}`)
		if got, want := p.rows(t, query), p.rows(t, "SELECT COUNT(*) FROM "+copied(r.table)); got != want || p.rows(t, "SELECT COUNT(*) FROM "+r.table) != want {
			t.Errorf("%d of %d rows of %s have the UUID of their parent in %s", got, want, r.table, r.column)
		}
	}
}
