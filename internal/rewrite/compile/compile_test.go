package compile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// TestCompileBytes holds what the text of a golden archive cannot: carriage
// returns, NUL, bad UTF-8, tabs at the ends of lines, marks and wide spaces.
func TestCompileBytes(t *testing.T) {
	my, pg, lite, ms, ora := dialect.MySQL(), dialect.PostgreSQL(), dialect.SQLite(), dialect.SQLServer(), dialect.Oracle()
	const pass, refused = "pass", "refused"
	tests := []struct {
		name string
		d    *dialect.Dialect
		in   string
		want string // the bound text, or pass or refused
	}{
		{"line ends of Windows", pg,
			"INSERT INTO orders\r\n(a)\r\nVALUES\r\n($1)\r\n",
			"INSERT INTO orders\r\n(a, \"id\")\r\nVALUES\r\n($1, $2)\r\n"},
		{"comment ends with a line of Windows", my,
			"INSERT INTO orders (a) -- b\r\nVALUES (?)",
			"INSERT INTO orders (a, `id`) -- b\r\nVALUES (?, ?)"},
		{"carriage return ends a comment", pg,
			"INSERT INTO orders (a) -- b\rVALUES ($1)",
			"INSERT INTO orders (a, \"id\") -- b\rVALUES ($1, $2)"},
		{"carriage return ends a comment in SQL Server", ms,
			"INSERT INTO orders (a) -- b\rVALUES (@p1)",
			"INSERT INTO orders (a, [id]) -- b\rVALUES (@p1, @p2)"},
		{"carriage return does not end a comment", my,
			"INSERT INTO orders (a) VALUES (?) -- \r, (?)",
			"INSERT INTO orders (a, `id`) VALUES (?, ?) -- \r, (?)"},
		{"carriage return does not end a comment of SQLite", lite,
			"SELECT 1 -- \r; INSERT INTO orders (a) VALUES (1)", pass},
		{"carriage return ends a comment before an INSERT", pg,
			"SELECT 1 -- \r; INSERT INTO orders (a) VALUES (1)",
			"SELECT 1 -- \r; INSERT INTO orders (a, \"id\") VALUES (1, $1)"},
		{"tabs at the ends of lines", pg,
			"INSERT INTO orders\t\n(a)\t\nVALUES ($1)\t\n\t",
			"INSERT INTO orders\t\n(a, \"id\")\t\nVALUES ($1, $2)\t\n\t"},
		{"form feed and vertical tab", pg,
			"INSERT\fINTO\vorders(a)VALUES($1)",
			"INSERT\fINTO\vorders(a, \"id\")VALUES($1, $2)"},
		{"control characters are white space", ms,
			"INSERT\x01INTO\x1forders(a)VALUES(@p1)",
			"INSERT\x01INTO\x1forders(a, [id])VALUES(@p1, @p2)"},
		{"NUL in a string", pg,
			"INSERT INTO orders (a) VALUES ('x\x00y')",
			"INSERT INTO orders (a, \"id\") VALUES ('x\x00y', $1)"},
		{"NUL in the row", pg, "INSERT INTO orders (a) VALUES (\x00)", refused},
		{"NUL at the end", pg, "INSERT INTO orders (a) VALUES (1)\x00", refused},
		{"NUL in front", pg, "\x00INSERT INTO orders (a) VALUES (1)", pass},
		{"bad UTF-8 in a string", pg,
			"INSERT INTO orders (a) VALUES ('\xff\xfe')",
			"INSERT INTO orders (a, \"id\") VALUES ('\xff\xfe', $1)"},
		{"bad UTF-8 in a name", pg,
			"INSERT INTO orders (a\xff) VALUES ($1)",
			"INSERT INTO orders (a\xff, \"id\") VALUES ($1, $2)"},
		{"bad UTF-8 in a comment", my,
			"INSERT INTO orders (a) /* \xc3 */ VALUES (?)",
			"INSERT INTO orders (a, `id`) /* \xc3 */ VALUES (?, ?)"},
		{"half a character behind the table", pg, "INSERT INTO orders\xe3\x80 (a) VALUES ($1)", pass},
		{"byte order mark", lite,
			"\ufeffINSERT INTO orders (a) VALUES (?)",
			"\ufeffINSERT INTO orders (a, \"id\") VALUES (?, ?)"},
		{"byte order mark inside a name", lite, "INSERT INTO orders\ufeff (a) VALUES (?)", pass},
		{"byte order mark is a name", pg, "\ufeffINSERT INTO orders (a) VALUES ($1)", pass},
		{"no-break space", ms,
			"INSERT\u00a0INTO\u00a0orders\u00a0(a)\u3000VALUES\u202f(@p1\u00a0)",
			"INSERT\u00a0INTO\u00a0orders\u00a0(a, [id])\u3000VALUES\u202f(@p1, @p2\u00a0)"},
		{"no-break space in front", ms,
			"\u00a0INSERT orders(a)VALUES(@p1)",
			"\u00a0INSERT orders(a, [id])VALUES(@p1, @p2)"},
		{"ideographic space", ora,
			"INSERT\u3000INTO orders (a) VALUES (:a\u3000)",
			"INSERT\u3000INTO orders (a, \"ID\") VALUES (:a, :kf1\u3000)"},
		{"no-break space is a letter", my, "INSERT\u00a0INTO orders (a) VALUES (?)", pass},
		{"no-break space in a string", ms,
			"INSERT orders(a)VALUES('\u00a0')",
			"INSERT orders(a, [id])VALUES('\u00a0', @p1)"},
		{"delimiter of several bytes", ora,
			"INSERT INTO orders (a) VALUES (q'→it's→')",
			"INSERT INTO orders (a, \"ID\") VALUES (q'→it's→', :1)"},
		{"a surrogate pair in a name", pg,
			"INSERT INTO orders (U&\"\\d83d\\de00\") VALUES ($1)",
			"INSERT INTO orders (U&\"\\d83d\\de00\", \"id\") VALUES ($1, $2)"},
		{"nothing behind a prefix", pg, "INSERT INTO orders (a) VALUES (E", refused},
		{"nothing behind q'", ora, "INSERT INTO orders (a) VALUES (q'", refused},
		{"a space behind q'", ora, "INSERT INTO orders (a) VALUES (q' x ')", refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := compiled(t, tt.d, tt.in)
			got := bind.Text(p, false)
			switch p.Action {
			case plans.Pass:
				got = pass
			case plans.Refuse:
				got = refused
			}
			if got != tt.want {
				t.Errorf("Compile(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// TestCompileOther holds what no golden case may, because the engine rejects
// it, or has it in a version that is not common yet.
func TestCompileOther(t *testing.T) {
	pg, my := dialect.PostgreSQL(), dialect.MySQL()
	tests := []struct {
		name     string
		d        *dialect.Dialect
		in, want string
	}{
		{"fewer values are the engine's error", pg,
			"INSERT INTO orders (a, b) VALUES ($1)",
			`INSERT INTO orders (a, b, "id") VALUES ($1, $2)`},
		{"numbers with gaps", pg,
			"INSERT INTO orders (a, b) VALUES ($3, $1)",
			`INSERT INTO orders (a, b, "id") VALUES ($3, $1, $4)`},
		{"digits with underscores", pg,
			"INSERT INTO orders (a) VALUES (1_000)",
			`INSERT INTO orders (a, "id") VALUES (1_000, $1)`},
		{"RETURNING of old and new", pg,
			"INSERT INTO orders (a) VALUES ($1) RETURNING WITH (OLD AS o, NEW AS n) n.id",
			`INSERT INTO orders (a, "id") VALUES ($1, $2) RETURNING WITH (OLD AS o, NEW AS n) n.id`},
		{"DELAYED", my,
			"INSERT DELAYED INTO orders (a) VALUES (?)",
			"INSERT DELAYED INTO orders (a, `id`) VALUES (?, ?)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bind.Text(compiled(t, tt.d, tt.in), false); got != tt.want {
				t.Errorf("Compile(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// What the plan says of the INSERT decides what is reported of its keys.
func TestCompileInsert(t *testing.T) {
	my, pg, lite, ms, ora := dialect.MySQL(), dialect.PostgreSQL(), dialect.SQLite(), dialect.SQLServer(), dialect.Oracle()
	tests := []struct {
		d         *dialect.Dialect
		query     string
		rows      int
		conflict  plans.Conflict
		returning bool
	}{
		{my, "INSERT INTO orders (a) VALUES (1), (2)", 2, plans.ConflictError, false},
		{my, "INSERT IGNORE INTO orders (a) VALUES (1)", 1, plans.ConflictSkip, false},
		{my, "REPLACE INTO orders (a) VALUES (1)", 1, plans.ConflictReplace, false},
		{my, "INSERT INTO orders (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2", 1, plans.ConflictUpdate, false},
		{my, "INSERT INTO orders SET a = 1", 1, plans.ConflictError, false},
		{my, "INSERT INTO orders VALUES (), ()", 2, plans.ConflictError, false},
		{dialect.MariaDB(), "INSERT INTO orders (a) VALUES (1) RETURNING id", 1, plans.ConflictError, true},
		{pg, "INSERT INTO orders (a) VALUES (1) ON CONFLICT DO NOTHING", 1, plans.ConflictSkip, false},
		{pg, "INSERT INTO orders (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2 RETURNING id", 1, plans.ConflictUpdate, true},
		{pg, "INSERT INTO orders (a) VALUES (1) ON CONFLICT DO NOTHING RETURNING duplicate", 1, plans.ConflictSkip, true},
		{pg, "INSERT INTO orders DEFAULT VALUES", 1, plans.ConflictError, false},
		{pg, "INSERT INTO orders (a) VALUES ('returning')", 1, plans.ConflictError, false},
		{pg, "INSERT INTO orders (id) SELECT 1", -1, plans.ConflictError, false},
		{pg, "INSERT INTO orders (id) SELECT 1 RETURNING id", -1, plans.ConflictError, true},
		{lite, "INSERT OR IGNORE INTO orders (a) VALUES (1)", 1, plans.ConflictSkip, false},
		{lite, "INSERT OR FAIL INTO orders (a) VALUES (1)", 1, plans.ConflictSkip, false},
		{lite, "INSERT OR REPLACE INTO orders (a) VALUES (1)", 1, plans.ConflictReplace, false},
		{lite, "INSERT OR ROLLBACK INTO orders (a) VALUES (1)", 1, plans.ConflictError, false},
		{lite, "INSERT INTO orders (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2 ON CONFLICT DO NOTHING", 1, plans.ConflictUpdate, false},
		{ms, "INSERT INTO orders (a) OUTPUT inserted.id VALUES (1)", 1, plans.ConflictError, true},
		{ms, "INSERT INTO orders (a) OUTPUT inserted.id INTO audit VALUES (1)", 1, plans.ConflictError, false},
		{ms, "INSERT INTO orders (a) OUTPUT inserted.id INTO audit OUTPUT inserted.a VALUES (1)", 1, plans.ConflictError, true},
		{ora, "INSERT INTO orders (a) VALUES (1) RETURNING id INTO :1", 1, plans.ConflictError, true},
	}
	for _, tt := range tests {
		p := compiled(t, tt.d, tt.query)
		if len(p.Inserts) != 1 {
			t.Errorf("%s: Compile(%q) = %s with %d INSERTs (%v)", tt.d.Name, tt.query, p.Action, len(p.Inserts), p.Refusal)
			continue
		}
		in := p.Inserts[0]
		if in.Rows != tt.rows || in.Upsert.Conflict != tt.conflict || in.Returning != tt.returning || in.Offset != 0 {
			t.Errorf("%s: Compile(%q): %d rows, conflict %d, returning %v, at %d, want %d, %d, %v, at 0", tt.d.Name, tt.query,
				in.Rows, in.Upsert.Conflict, in.Returning, in.Offset, tt.rows, tt.conflict, tt.returning)
		}
	}
}

// The update part of an upsert decides whether a row that was there keeps its key,
// and whether the count of affected rows tells what was inserted.
func TestCompileUpdatePart(t *testing.T) {
	my, pg, lite := dialect.MySQL(), dialect.PostgreSQL(), dialect.SQLite()
	const changes, leaves, neither = "changes the key", "leaves the row", "neither"
	for _, tt := range []struct {
		d          *dialect.Dialect
		part, want string
	}{
		{my, "ON DUPLICATE KEY UPDATE a = 1", neither},
		{my, "ON DUPLICATE KEY UPDATE id = id", leaves},
		{my, "ON DUPLICATE KEY UPDATE `orders`.`id` = `id`", leaves},
		{my, "ON DUPLICATE KEY UPDATE `ID`=`ID`, id = orders.id", leaves},
		{my, "ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)", leaves},
		{my, "ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), a = 1", neither},
		{my, "ON DUPLICATE KEY UPDATE a = 1, id = id", neither},
		{my, "ON DUPLICATE KEY UPDATE a = id", neither},
		{my, "ON DUPLICATE KEY UPDATE id = VALUES(id)", changes},
		{my, "ON DUPLICATE KEY UPDATE a = 1, id = id + 1", changes},
		{my, "ON DUPLICATE KEY UPDATE id = id, id = 7", changes},
		{my, "ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(7)", changes},
		{my, "AS new ON DUPLICATE KEY UPDATE id = new.id", changes},
		{dialect.MariaDB(), "ON DUPLICATE KEY UPDATE id = id RETURNING id", leaves},
		{dialect.MariaDB(), "ON DUPLICATE KEY UPDATE a = 1 RETURNING a, id", neither},
		{pg, "ON CONFLICT (a) DO UPDATE SET a = excluded.a WHERE orders.id > 5 RETURNING id", neither},
		{pg, "ON CONFLICT (id) WHERE id > 5 DO UPDATE SET a = 1", neither},
		{pg, "ON CONFLICT (a) DO UPDATE SET a = 1, id = excluded.id", changes},
		{pg, "ON CONFLICT (a) DO UPDATE SET (a, id) = (1, 2)", changes},
		{pg, "ON CONFLICT (a) DO UPDATE SET (a, b) = (1, 2)", neither},
		{lite, "ON CONFLICT (a) DO UPDATE SET a = 1 ON CONFLICT (b) DO UPDATE SET id = 5", changes},
		{lite, "ON CONFLICT (a) DO UPDATE SET id = id", leaves},
	} {
		query := "INSERT INTO orders (a) VALUES (1) " + tt.part
		p := compiled(t, tt.d, query)
		if len(p.Inserts) != 1 {
			t.Fatalf("%s: Compile(%q): %v", tt.d.Name, query, p.Refusal)
		}
		in, got := &p.Inserts[0], neither
		switch {
		case in.Upsert.UpdatesKey && in.Upsert.LeavesRow:
			got = "both"
		case in.Upsert.UpdatesKey:
			got = changes
		case in.Upsert.LeavesRow:
			got = leaves
		}
		if got != tt.want || in.Name.TableText != "orders" || in.Upsert.Replaces {
			t.Errorf("%s: Compile(%q): %s, table %q, replaces %v, want %s", tt.d.Name, query, got, in.Name.TableText, in.Upsert.Replaces, tt.want)
		}
	}
	for _, query := range []string{"REPLACE INTO orders (a) VALUES (1) ON CONFLICT DO NOTHING", "INSERT OR REPLACE INTO main.orders (a) VALUES (1)"} {
		if p := compiled(t, lite, query); !p.Inserts[0].Upsert.Replaces {
			t.Errorf("Compile(%q) replaces nothing", query)
		}
	}
}

// Every refusal is an error of its cause that names table and place.
func TestRefusal(t *testing.T) {
	p := compiled(t, dialect.PostgreSQL(), "INSERT INTO orders (a) SELECT b FROM u")
	var err error = p.Refusal
	if !errors.Is(err, rewrite.ErrSelect) || p.Refusal.Table != "orders" || p.Refusal.Column != "id" || p.Refusal.Offset != 23 {
		t.Errorf("the refusal is %#v", p.Refusal)
	}
	if !strings.HasPrefix(err.Error(), `table "orders": byte 23: the rows come from a query`) {
		t.Errorf("the refusal reads %q", err)
	}
}

// many returns n texts one behind the other, each with its number.
func many(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Texts that make a naive reader recurse or run for ever.
func TestCompileDeep(t *testing.T) {
	const n = 100_000
	r := strings.Repeat
	texts := map[string]string{
		"brackets":            "INSERT INTO orders (id) VALUES (" + r("(", n) + "NULL" + r(")", n) + ")",
		"open brackets":       "INSERT INTO orders (id) VALUES (" + r("(", n),
		"casts":               "INSERT INTO orders (id) VALUES (" + r("CAST(", n) + "NULL" + r(" AS int)", n) + ")",
		"colon casts":         "INSERT INTO orders (id) VALUES ($1" + r("::int", n) + ")",
		"comments":            r("/*", n) + r("*/", n) + "INSERT INTO orders (a) VALUES (1)",
		"executable comments": r("/*!", n) + "INSERT INTO orders (a) VALUES (1)" + r("*/", n),
		"inserts":             r("INSERT INTO orders (id) SELECT ", n/10),
		"kept inserts":        "SELECT " + r("INSERT INTO orders (id) VALUES (1) ", n/10),
		"merges":              r("MERGE INTO orders USING ", n/10),
		"outputs":             r("OUTPUT a INTO b ", n/10),
		"withs":               r("WITH a AS (", n/10),
		"semicolons":          r(";", n),
		"points":              "INSERT INTO " + r("a.", n) + "orders (a) VALUES (1)",
		"signs":               "INSERT INTO orders (id) VALUES (" + r("-", n) + "0)",
		"subscripts":          "INSERT INTO orders (a" + r("[1]", n) + ") VALUES (1)",
		"row aliases":         "INSERT INTO orders (a) VALUES (1) AS n(" + r("kf_id_,", n) + "a)",
		"names":               "INSERT INTO orders (a, b) VALUES (" + r(":kf", n) + ", :kf)",
		"prepared texts":      r(`PREPARE a FROM "PREPARE b FROM '`, n/10),
		"definers":            "CREATE " + r("DEFINER = a@b ", n/10) + "TRIGGER x INSERT INTO orders (a) VALUES (1)",
		"long row":            "INSERT INTO orders (a) VALUES (1), (" + r("1,", n) + "1)",
		"hidden inserts":      r("/*! INSERT */", n/10),
		"temporary tables":    many("CREATE TEMPORARY TABLE t%d (a INT); INSERT INTO t%[1]d (a) VALUES (1);", n/10),
		"queries":             many("INSERT INTO shipments (a) SELECT %d;", n/5),
		"quotes":              "/*! INSERT */ " + r(`"`, n) + r("`", n) + r("[", n),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			for _, d := range dialect.All() {
				start := time.Now()
				p := compiled(t, d, text, "orders key=id:integer fill=missing,null,default,zero", "shipments key=id:counted")
				// A second does on a quiet machine, six were seen under the race detector
				// on a busy one.
				if took := time.Since(start); took > time.Minute {
					t.Errorf("%s: %d bytes took %v (%s)", d.Name, len(text), took, p.Action)
				}
			}
		})
	}
}

// TestCompileAllocates: an INSERT of one row with one key takes a copy of its text, one
// piece of memory for the plan with all that belongs to it, and the text of an edit.
func TestCompileAllocates(t *testing.T) {
	d := dialect.MySQL()
	lookup, query := customers(d), rowsOf(d, 1)
	if n := testing.AllocsPerRun(100, func() { compile.Query(d, lookup, query) }); n > 3 {
		t.Errorf("%v allocations, want 3", n)
	}
}
