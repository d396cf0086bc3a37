package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/rewrite"
)

// testPolicy is one that suits every dialect.
const testPolicy = `version: 1
tables:
  orders: {column: id}
  codes:  {column: code, source: ulid}
  numbers: {column: id, source: {kind: sequence}}
  pairs:  {keys: [{column: id}, {column: code, source: ulid}]}
  lines:  {column: id, source: uuidv4, unsupported: unfilled}
  sheets: {column: id, source: uuidv4}
`

// answer is a line of "explain --json".
type answer struct {
	ID json.RawMessage `json:"id"`
	explain.Explanation
}

// explainJSON explains the lines and returns the answers, which must have the fields of
// an Explanation and no others.
func explainJSON(t *testing.T, dialectName, lines string) []answer {
	t.Helper()
	out := keyfillOut(t, lines, "explain", "--config", writeFile(t, "keyfill.yaml", testPolicy), "--dialect", dialectName, "--json")
	var answers []answer
	for line := range strings.Lines(out) {
		var a answer
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&a); err != nil {
			t.Fatalf("answer %q: %v", line, err)
		}
		if a.Slots == nil {
			t.Errorf("slots are null in %q", line)
		}
		answers = append(answers, a)
	}
	return answers
}

var (
	uuidv7Text = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	uuidv7Hex  = regexp.MustCompile(`[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}`)
	atEndText  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{12}`)
	ulidText   = regexp.MustCompile(`[0-9A-HJKMNP-TV-Z]{26}`)
)

// withoutKeys returns text with a word instead of each key.
func withoutKeys(text string) string {
	for _, key := range []*regexp.Regexp{uuidv7Text, atEndText, uuidv7Hex} {
		text = key.ReplaceAllString(text, "KEY")
	}
	return ulidText.ReplaceAllString(text, "ULID")
}

func slot(arg, row int) explain.Slot { return explain.Slot{Arg: arg, Row: row} }

type slots = []explain.Slot

// TestExplainJSON has each outcome and each way of placing a key.
func TestExplainJSON(t *testing.T) {
	one, two := new(1), new(2)
	for _, tt := range []struct {
		name    string
		dialect string
		sql     string
		want    explain.Explanation // SQL "" is the statement itself
	}{
		{"placeholders in the middle", "mysql", "INSERT INTO orders (a, b) VALUES (?, ?), (?, ?)", explain.Explanation{
			Action: "fill", SQL: "INSERT INTO orders (a, b, `id`) VALUES (?, ?, ?), (?, ?, ?)",
			Table: "orders", Column: "id", Rows: two, Slots: slots{slot(3, 1), slot(6, 2)},
		}},
		{"SET", "mariadb", "insert into orders set a = ?, b = ?", explain.Explanation{
			Action: "fill", SQL: "insert into orders set a = ?, b = ?, `id` = ?",
			Table: "orders", Column: "id", Rows: one, Slots: slots{slot(3, 1)},
		}},
		{"numbered placeholders", "postgres", "INSERT INTO orders (a) VALUES ($1), ($1) RETURNING id", explain.Explanation{
			Action: "fill", SQL: `INSERT INTO orders (a, "id") VALUES ($1, $2), ($1, $3) RETURNING id`,
			Table: "orders", Column: "id", Rows: two, Slots: slots{slot(2, 1), slot(3, 2)},
		}},
		{"one of two with a key of its own", "sqlite", "INSERT INTO orders (id, a) VALUES (NULL, ?), ('x', ?)", explain.Explanation{
			Action: "fill", SQL: "INSERT INTO orders (id, a) VALUES (?, ?), ('x', ?)",
			Table: "orders", Column: "id", Rows: two, Slots: slots{slot(1, 1)},
		}},
		{"OUTPUT", "sqlserver", "INSERT INTO orders (a) OUTPUT inserted.id VALUES (@p1)", explain.Explanation{
			Action: "fill", SQL: "INSERT INTO orders (a, [id]) OUTPUT inserted.id VALUES (@p1, @p2)",
			Table: "orders", Column: "id", Rows: one, Slots: slots{slot(2, 1)},
		}},
		{"placeholders by colon", "oracle", "INSERT INTO orders (a) VALUES (:1)", explain.Explanation{
			Action: "fill", SQL: `INSERT INTO orders (a, "ID") VALUES (:1, :2)`,
			Table: "ORDERS", Column: "ID", Rows: one, Slots: slots{slot(2, 1)},
		}},
		{"two key columns", "sqlite", "INSERT INTO pairs (a) VALUES (?)", explain.Explanation{
			Action: "fill", SQL: `INSERT INTO pairs (a, "id", "code") VALUES (?, ?, ?)`,
			Table: "pairs", Column: "id", Rows: one,
			Slots: slots{{Arg: 2, Row: 1, Column: "id"}, {Arg: 3, Row: 1, Column: "code"}},
		}},
		{"literal", "mysql", "INSERT INTO orders (a) VALUES ('<&>'), ('é')", explain.Explanation{
			Action: "fill", SQL: "INSERT INTO orders (a, `id`) VALUES ('<&>', 'KEY'), ('é', 'KEY')",
			Table: "orders", Column: "id", Rows: two, Literal: true,
		}},
		{"literal of another alphabet", "mariadb", "INSERT INTO codes (a) VALUES (1)", explain.Explanation{
			Action: "fill", SQL: "INSERT INTO codes (a, `code`) VALUES (1, 'ULID')",
			Table: "codes", Column: "code", Rows: one, Literal: true,
		}},
		{"literal of PostgreSQL", "postgres", "INSERT INTO orders (a) VALUES (1)", explain.Explanation{
			Action: "fill", SQL: `INSERT INTO orders (a, "id") VALUES (1, 'KEY')`,
			Table: "orders", Column: "id", Rows: one, Literal: true,
		}},
		{"literal of SQL Server", "sqlserver", "INSERT orders (a) VALUES (1)", explain.Explanation{
			Action: "fill", SQL: "INSERT orders (a, [id]) VALUES (1, 'KEY')",
			Table: "orders", Column: "id", Rows: one, Literal: true,
		}},
		{"literal of Oracle", "oracle", "INSERT INTO orders (a) VALUES (1)", explain.Explanation{
			Action: "fill", SQL: `INSERT INTO orders (a, "ID") VALUES (1, HEXTORAW('KEY'))`,
			Table: "ORDERS", Column: "ID", Rows: one, Literal: true,
		}},
		{"keep", "sqlite", "  INSERT INTO orders (id, a) VALUES ('x', 1)", explain.Explanation{
			Action: "keep", Table: "orders", Column: "id", Rows: one, Offset: 2,
		}},
		{"decided at execution", "postgres", "INSERT INTO orders (id, a) VALUES ($1, $2)", explain.Explanation{
			Action: "keep", Table: "orders", Column: "id", Rows: one, Reason: "decided at execution",
		}},
		{"keep from a query", "mysql", "INSERT INTO orders (id, a) SELECT b, c FROM d", explain.Explanation{
			Action: "keep", Table: "orders", Column: "id",
		}},
		{"pass of another table", "oracle", "INSERT INTO others (a) VALUES (1)", explain.Explanation{Action: "pass"}},
		{"pass of another statement", "sqlserver", "SELECT 1", explain.Explanation{Action: "pass"}},
		{"pass of nothing", "mariadb", "", explain.Explanation{Action: "pass"}},
		{"refuse", "sqlite", "INSERT INTO sheets (a) SELECT b FROM c", explain.Explanation{
			Action: "refuse", Table: "sheets", Column: "id", Reason: rewrite.ErrSelect.Error(), Offset: 23,
		}},
		{"refuse a bulk load", "mysql", "LOAD DATA INFILE 'f' INTO TABLE orders (a)", explain.Explanation{
			Action: "refuse", Table: "orders", Column: "id", Reason: rewrite.ErrBulk.Error(),
		}},
		{"unfilled", "sqlite", "INSERT INTO lines (a) SELECT b FROM c", explain.Explanation{
			Action: "refuse", Table: "lines", Column: "id", Reason: "unfilled: " + rewrite.ErrSelect.Error(), Offset: 22,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line, err := json.Marshal(map[string]any{"id": tt.name, "sql": tt.sql, "at": "ignored"})
			if err != nil {
				t.Fatal(err)
			}
			answers := explainJSON(t, tt.dialect, string(line)+"\n")
			if len(answers) != 1 {
				t.Fatalf("%d answers, want 1", len(answers))
			}
			got, want := answers[0], tt.want
			if want.SQL == "" {
				want.SQL = tt.sql
			}
			if want.Slots == nil {
				want.Slots = slots{}
			}
			got.SQL = withoutKeys(got.SQL)
			if !reflect.DeepEqual(got.Explanation, want) {
				t.Errorf("explain(%q)\n got %s\nwant %s", tt.sql, asJSON(got.Explanation), asJSON(want))
			}
			if id := fmt.Sprintf("%q", tt.name); string(got.ID) != id {
				t.Errorf("id is %s, want %s", got.ID, id)
			}
		})
	}
}

func asJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte(err.Error())
	}
	return b.Bytes()
}

// TestExplainEveryDialect makes sure that each name is taken, from the command
// line and from the policy.
func TestExplainEveryDialect(t *testing.T) {
	for _, d := range dialect.All() {
		own := writeFile(t, "keyfill.yaml", "dialect: "+d.Name+"\n"+testPolicy)
		for _, args := range [][]string{
			{"explain", "--config", own},
			{"explain", "--config", own, "--dialect", d.Name},
			{"explain", "--config", writeFile(t, "keyfill.yaml", testPolicy), "--dialect", d.Name},
		} {
			out := keyfillOut(t, "", append(args, "INSERT INTO orders (a) VALUES (1)")...)
			if !strings.HasPrefix(out, "action  fill") {
				t.Errorf("keyfill %q: %s", args, out)
			}
		}
	}
}

func TestExplainFromEnvironment(t *testing.T) {
	t.Setenv("KEYFILL_CONFIG", writeFile(t, "elsewhere.yaml", testPolicy))
	keyfillOut(t, "", "explain", "--dialect", "mysql", "SELECT 1")

	t.Setenv("KEYFILL_CONFIG", "")
	path := writeFile(t, "keyfill.yaml", testPolicy)
	t.Chdir(strings.TrimSuffix(path, "keyfill.yaml"))
	keyfillOut(t, "", "explain", "--dialect", "mysql", "SELECT 1")
}

func TestExplainText(t *testing.T) {
	manyRows := "INSERT INTO orders (a) VALUES (?)" + strings.Repeat(", (?)", 9)
	for _, tt := range []struct {
		name string
		sql  string
		want string
	}{
		{"fill", "INSERT INTO orders (a) VALUES (?)", `action  fill: the statement gets its keys from keyfill
table   orders
column  id
rows    1
keys    argument 2 (row 1)
sent    INSERT INTO orders (a, "id") VALUES (?, ?)
`},
		{"literal, several lines", "INSERT INTO orders (a)\nVALUES ('\xff')\n", `action  fill: the statement gets its keys from keyfill
table   orders
column  id
rows    1
keys    in the text; each execution gets new ones
sent    ` + `
INSERT INTO orders (a, "id")
VALUES ('` + "\xff" + `', 'KEY')
`},
		{"two key columns", "INSERT INTO pairs (a) VALUES (?)", `action  fill: the statement gets its keys from keyfill
table   pairs
column  id
rows    1
keys    argument 2 (row 1, id), argument 3 (row 1, code)
sent    INSERT INTO pairs (a, "id", "code") VALUES (?, ?, ?)
`},
		{"rows of a query", "INSERT INTO numbers (a) SELECT b FROM t WHERE c = ?", `action  fill: the statement gets its keys from keyfill
table   numbers
column  id
keys    argument 2 (all rows are counted with it), argument 3 (all rows are counted with it)
depends on the version of the server (rows are numbered from SQLite 3.38 on)
sent    INSERT INTO numbers (a, "id") WITH kf (c1) AS (SELECT b FROM t WHERE c = ?) SELECT c1, CASE WHEN ROW_NUMBER() OVER () <= ? THEN ? + ROW_NUMBER() OVER () ELSE json_extract('{}', 'more rows than were counted: ' || ROW_NUMBER() OVER ()) END FROM kf
`},
		{"many rows", manyRows, `action  fill: the statement gets its keys from keyfill
table   orders
column  id
rows    10
keys    argument 2 (row 1), argument 4 (row 2), argument 6 (row 3), argument 8 (row 4), ` +
			`argument 10 (row 5), argument 12 (row 6), argument 14 (row 7), argument 16 (row 8) and 2 more
sent    INSERT INTO orders (a, "id") VALUES (?, ?)` + strings.Repeat(", (?, ?)", 9) + "\n"},
		{"keep", "INSERT INTO orders (id) VALUES ('x')", `action  keep: the statement brings its own key
table   orders
column  id
rows    1
sent    INSERT INTO orders (id) VALUES ('x')
`},
		{"decided at execution", "INSERT INTO orders (id) VALUES (?)", `action  keep: a placeholder stands in the key's place; its value decides
table   orders
column  id
rows    1
reason  decided at execution
sent    INSERT INTO orders (id) VALUES (?)
`},
		{"pass", "DELETE FROM orders", `action  pass: no INSERT into a configured table
sent    DELETE FROM orders
`},
		{"refuse", "INSERT INTO sheets (a)\n  SELECT b FROM c", `action  refuse: the statement is an error, before anything is sent
table   sheets
column  id
reason  ` + rewrite.ErrSelect.Error() + `
at      byte 25: line 2, column 3
sent    nothing
`},
		{"unfilled", "INSERT INTO lines (a) SELECT b FROM c", `action  refuse: the statement cannot be filled and goes out without a key
table   lines
column  id
reason  unfilled: ` + rewrite.ErrSelect.Error() + `
at      byte 22: line 1, column 23
sent    INSERT INTO lines (a) SELECT b FROM c
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"explain", "--config", writeFile(t, "keyfill.yaml", testPolicy), "--dialect", "sqlite"}
			if got := withoutKeys(keyfillOut(t, tt.sql, args...)); got != tt.want {
				t.Errorf("from standard input:\n%s\nwant:\n%s", got, tt.want)
			}
			if got := withoutKeys(keyfillOut(t, "", append(args, tt.sql)...)); got != tt.want {
				t.Errorf("from the argument:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

// TestExplainSibling: what MySQL refuses and MariaDB takes says so, and the other way.
func TestExplainSibling(t *testing.T) {
	const hint = "hint    on MariaDB the outcome is fill: if that is the server, say the dialect mariadb"
	config := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  orders: {column: id, source: uuidv7}\n")
	for _, tt := range []struct{ dialect, statement, want string }{
		{"mysql", "INSERT INTO orders (a) VALUES (1) RETURNING id", hint},
		{"mysql", "INSERT INTO orders (a) VALUES (1", ""},
		{"mysql", "INSERT INTO orders (a) VALUES (1)", ""},
		{"mariadb", "INSERT INTO orders (a) VALUES (1) AS n ON DUPLICATE KEY UPDATE a = n.a", "hint    on MySQL the outcome is fill: if that is the server, say the dialect mysql"},
		{"postgres", "INSERT INTO orders VALUES (1)", ""},
	} {
		out := keyfillOut(t, "", "explain", "--config", config, "--dialect", tt.dialect, tt.statement)
		if tt.want == "" && strings.Contains(out, "hint ") || !strings.Contains(out, tt.want) {
			t.Errorf("%s, %s: %s, want %q", tt.dialect, tt.statement, out, tt.want)
		}
	}
	out := keyfillOut(t, "INSERT INTO orders (a) VALUES (1) RETURNING id;", "explain", "--config", config, "--dialect", "mysql", "--summary")
	if !strings.Contains(out, "on MariaDB the outcome is fill") {
		t.Errorf("--summary: %s", out)
	}
}

// TestExplainReads: an explanation names what asks the session for a number that keyfill makes.
func TestExplainReads(t *testing.T) {
	config := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  orders: {column: id, source: {kind: sequence}}\n  people: {column: id, source: uuidv7}\n")
	for _, tt := range []struct{ dialect, statement, want string }{
		{"postgres", "SELECT lastval()", "lastval()"},
		{"postgres", "INSERT INTO lines (of) VALUES (lastval())", "lastval()"},
		{"postgres", "INSERT INTO people (parent) VALUES (currval('orders_id_seq'))", "currval()"},
		{"sqlserver", "INSERT INTO orders (a) VALUES (1); SELECT SCOPE_IDENTITY()", "SCOPE_IDENTITY()"},
		{"postgres", "SELECT currval('people_id_seq')", ""},
		{"mysql", "SELECT LAST_INSERT_ID()", ""},
	} {
		out := keyfillOut(t, "", "explain", "--config", config, "--dialect", tt.dialect, tt.statement)
		_, reads, _ := strings.Cut(out, "\nreads   ")
		if reads, _, _ = strings.Cut(reads, ", which"); reads != tt.want {
			t.Errorf("%s, %s: %s, want %q", tt.dialect, tt.statement, out, tt.want)
		}
		line, err := json.Marshal(map[string]string{"sql": tt.statement})
		if err != nil {
			t.Fatal(err)
		}
		out = keyfillOut(t, string(line), "explain", "--config", config, "--dialect", tt.dialect, "--json")
		var ex explain.Explanation
		if err := json.Unmarshal([]byte(out), &ex); err != nil || strings.Join(ex.Reads, ", ") != tt.want {
			t.Errorf("--json: %s, %v, want %q", out, err, tt.want)
		}
	}
}

// TestExplainDepends: without a database an explanation names what the database decides.
func TestExplainDepends(t *testing.T) {
	config := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  orders: {column: id, source: {kind: sequence}}\n  people: {column: id, source: uuidv7}\n")
	for _, tt := range []struct{ dialect, statement, action, want string }{
		{"mariadb", "INSERT INTO orders (a) SELECT a / 3 FROM t", "fill", "the table, since the INSERT is refused unless the key has AUTO_INCREMENT"},
		{"mariadb", "INSERT INTO orders (a) SELECT a FROM t", "fill", "binlog_format"},
		{"mariadb", "INSERT INTO people (a) SELECT a FROM t", "fill", "the version of the server (UUID_v7() makes the keys from MariaDB 11.7 on)"},
		{"postgres", "INSERT INTO people (a) SELECT a FROM t", "fill", "the version of the server (uuidv7() makes the keys from PostgreSQL 18.0 on)"},
		{"postgres", "INSERT INTO orders (a) VALUES (unnest(ARRAY[1, 2]))", "fill", "the table, since the INSERT is refused if it has a rule"},
		{"postgres", "INSERT INTO orders VALUES (1)", "refuse", "the columns of the table"},
		{"postgres", `INSERT INTO orders (a) VALUES ('\'), (''') --')`, "refuse", "the setting by which the session reads text"},
		{"postgres", "INSERT INTO orders (a) VALUES (1)", "fill", ""},
		{"mysql", "INSERT INTO people (a) VALUES (1)", "fill", ""},
	} {
		out := keyfillOut(t, "", "explain", "--config", config, "--dialect", tt.dialect, tt.statement)
		_, depends, found := strings.Cut(out, "\ndepends on ")
		depends, _, _ = strings.Cut(depends, "\n")
		if !strings.HasPrefix(out, "action  "+tt.action) || found != (tt.want != "") || !strings.Contains(depends, tt.want) {
			t.Errorf("%s, %s: %s, want %q", tt.dialect, tt.statement, out, tt.want)
		}
		line, err := json.Marshal(map[string]string{"sql": tt.statement})
		if err != nil {
			t.Fatal(err)
		}
		out = keyfillOut(t, string(line), "explain", "--config", config, "--dialect", tt.dialect, "--json")
		var ex explain.Explanation
		if err := json.Unmarshal([]byte(out), &ex); err != nil || ex.Depends != depends {
			t.Errorf("--json: %s, %v, want %q", out, err, depends)
		}
	}
}
