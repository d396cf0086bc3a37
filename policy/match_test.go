package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// compile returns the policy of a configuration whose tables have their own name's number
// as column, so that a rule shows which entry it came from.
func compile(t testing.TB, d *dialect.Dialect, defaultSchema string, tables ...string) *policy.Policy {
	t.Helper()
	cfg := &policy.Config{DefaultSchema: defaultSchema, Tables: make(map[string]policy.Table)}
	for i, name := range tables {
		cfg.Tables[name] = policy.Table{Column: fmt.Sprintf("c%d", i)}
	}
	p, err := cfg.Compile(d)
	if err != nil {
		t.Fatalf("Compile(%s, %q): %v", d.Name, tables, err)
	}
	return p
}

// entryOf returns the number of the entry that r came from, or -1.
func entryOf(r *policy.Rule) (i int) {
	if r == nil {
		return -1
	}
	if _, err := fmt.Sscanf(strings.ToLower(r.Keys[0].Column), "c%d", &i); err != nil {
		return -2
	}
	return i
}

// matchTests are tables in SQL, as they are written there, and the number of
// the entry that they match. Quoted parts are those in double quotes, whatever
// the dialect.
var matchTests = []struct {
	name          string
	dialects      string
	defaultSchema string
	tables        []string
	want          map[string]int
}{
	{
		name: "PostgreSQL folds down", dialects: "postgres",
		tables: []string{`Orders`, `"Orders"`, `"LINES"`},
		want: map[string]int{
			`orders`: 0, `ORDERS`: 0, `"orders"`: 0, `"Orders"`: 1, `"ORDERS"`: -1,
			`lines`: -1, `LINES`: -1, `"LINES"`: 2, `"lines"`: -1,
		},
	},
	{
		name: "Oracle folds up", dialects: "oracle",
		tables: []string{`orders`, `"orders"`, `"Lines"`},
		want: map[string]int{
			`orders`: 0, `Orders`: 0, `"ORDERS"`: 0, `"orders"`: 1, `"Orders"`: -1,
			`lines`: -1, `"Lines"`: 2, `"LINES"`: -1,
		},
	},
	{
		name: "others ignore case", dialects: "mysql mariadb sqlite sqlserver",
		tables: []string{`Orders`, `shop.LINES`, `Größe`},
		want: map[string]int{
			`orders`: 0, `ORDERS`: 0, `"oRDERS"`: 0, `x.orders`: 0,
			`Shop.Lines`: 1, `"SHOP"."lines"`: 1, `lines`: -1, `x.lines`: -1,
			`GRÖSSE`: -1, `GRÖßE`: 2,
		},
	},
	{
		name: "no glob matches a session's own table", dialects: "sqlserver",
		tables: []string{`*`, `dbo.*`, `#mine`, `#*`},
		want: map[string]int{
			`orders`: 0, `#t`: -1, `##t`: -1, `@t`: -1, `"#t"`: -1, `"@t"`: -1, `#mine`: 2, `#MINE`: 2, `"#mine"`: 2,
		},
	},
	{
		name: "a glob matches a name with #", dialects: "postgres mysql sqlite",
		tables: []string{`*`},
		want:   map[string]int{`"#t"`: 0, `"@t"`: 0},
	},
	{
		name: "globs fold too", dialects: "postgres",
		tables: []string{`Log_*`, `"Log"`, `"Tmp".*`},
		want: map[string]int{
			`LOG_a`: 0, `"log_A"`: 0, `"Log_a"`: -1, `"Log"`: 1,
			`"Tmp".x`: 2, `tmp.x`: -1, `"Tmp"."X"`: 2,
		},
	},
	{
		name: "stars in quotes are stars", dialects: "postgres sqlite sqlserver oracle",
		tables: []string{`"*"`, `"a?"`},
		want:   map[string]int{`"*"`: 0, `x`: -1, `"a?"`: 1, `"ab"`: -1},
	},
	{
		name: "a bare name is for every schema", dialects: "mysql postgres",
		tables: []string{`orders`, `log_*`},
		want:   map[string]int{`orders`: 0, `a.orders`: 0, `b.orders`: 0, `a.log_x`: 1, `log_`: 1, `log`: -1},
	},
	{
		name: "a qualified name is for its schema", dialects: "mysql postgres",
		tables: []string{`shop.orders`, `shop.log_*`, `s?.x`},
		want: map[string]int{
			`orders`: -1, `shop.orders`: 0, `other.orders`: -1, `log_x`: -1, `shop.log_x`: 1,
			`s1.x`: 2, `s.x`: -1, `x`: -1,
		},
	},
	{
		name: "default_schema stands in for none", dialects: "mysql postgres", defaultSchema: "Shop",
		tables: []string{`shop.orders`, `shop.log_*`, `other.lines`},
		want: map[string]int{
			`orders`: 0, `SHOP.orders`: 0, `other.orders`: -1, `log_x`: 1, `lines`: -1, `other.lines`: 2,
		},
	},
	{
		name: "default_schema may be exact", dialects: "postgres", defaultSchema: `"Shop"`,
		tables: []string{`"Shop".orders`, `shop.lines`},
		want:   map[string]int{`orders`: 0, `shop.orders`: -1, `lines`: -1},
	},
	{
		name: "of several parts the last two count", dialects: "sqlserver mysql postgres",
		tables: []string{`srv.db.dbo.orders`},
		want:   map[string]int{`dbo.orders`: 0, `db.orders`: -1, `orders`: -1},
	},
	{
		name: "exact before globs, qualified before bare", dialects: "mysql postgres", defaultSchema: "shop",
		tables: []string{`orders`, `shop.orders`, `orders_of_a_year_*`, `shop.*`, `*`, `orders_*`, `*.orders`},
		want: map[string]int{
			`orders`: 1, `shop.orders`: 1, `other.orders`: 0, `orders_of_a_year_1`: 2,
			`shop.lines`: 3, `lines`: 3, `other.lines`: 4, `other.orders_x`: 5, `shop.orders_x`: 5,
		},
	},
	{
		name: "more characters win", dialects: "mysql postgres oracle",
		tables: []string{`*`, `l*`, `lo*`, `log_*`, `log_*_x`, `s.l*_xx`},
		want: map[string]int{
			`a`: 0, `l`: 1, `lox`: 2, `log_1`: 3, `log_1_x`: 4, `s.log_1_x`: 4, `s.lx_xx`: 5, `s.lx_x`: 1, `t.lx_x`: 1,
		},
	},
	{
		name: "question mark is one character", dialects: "mysql postgres",
		tables: []string{`t_?`, `u_?*`},
		want:   map[string]int{`t_1`: 0, `t_`: -1, `t_12`: -1, `t_ü`: 0, `"t_üü"`: -1, `u_`: -1, `u_1`: 1, `u_12`: 1},
	},
}

func TestMatch(t *testing.T) {
	for _, tt := range matchTests {
		for _, name := range strings.Fields(tt.dialects) {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				d, err := dialect.ByName(name)
				if err != nil {
					t.Fatal(err)
				}
				p := compile(t, d, tt.defaultSchema, tt.tables...)
				for query, want := range tt.want {
					schema, table := fold(d, query)
					if got := entryOf(p.Match(schema, table)); got != want {
						t.Errorf("Match(%q, %q) gives entry %d, want %d of %q", schema, table, got, want, tt.tables)
					}
				}
			})
		}
	}
}

// fold returns a name as the rewriter hands it over.
func fold(d *dialect.Dialect, query string) (schema, table string) {
	part := func(s string) string {
		if len(s) > 1 && s[0] == '"' {
			return d.Fold(s[1:len(s)-1], true)
		}
		return d.Fold(s, false)
	}
	if before, after, ok := strings.Cut(query, "."); ok {
		return part(before), part(after)
	}
	return "", part(query)
}

// TestMatchNames looks at how rules and states are called.
func TestMatchNames(t *testing.T) {
	tests := []struct {
		entry, schema, table string
		rule, state          string
	}{
		{"orders", "", "orders", "orders", "orders.c0"},
		{"orders", "sales", "orders", "sales.orders", "orders.c0"},
		{"sales.orders", "sales", "orders", "sales.orders", "sales.orders.c0"},
		{"shop.orders", "", "orders", "orders", "shop.orders.c0"},
		{"log_*", "", "log_1", "log_1", "log_1.c0"},
		{"log_*", "sales", "log_1", "sales.log_1", "log_1.c0"},
		{"sales.*", "sales", "log_1", "sales.log_1", "sales.log_1.c0"},
		{"shop.*", "", "log_1", "log_1", "shop.log_1.c0"},
		{"*.log_*", "sales", "log_1", "sales.log_1", "sales.log_1.c0"},
		{"log_*", "", "log_a.b", `"log_a.b"`, `"log_a.b".c0`},
	}
	for _, tt := range tests {
		p := compile(t, dialect.PostgreSQL(), "shop", tt.entry)
		r := p.Match(tt.schema, tt.table)
		if r == nil {
			t.Errorf("%s: Match(%q, %q) = nil", tt.entry, tt.schema, tt.table)
			continue
		}
		if r.Table != tt.rule || r.Keys[0].State != tt.state {
			t.Errorf("%s: Match(%q, %q) has Table %q and State %q, want %q and %q",
				tt.entry, tt.schema, tt.table, r.Table, r.Keys[0].State, tt.rule, tt.state)
		}
	}
}

// TestMatchGlobKeepsNothing asks for many tables of a glob: each rule has its
// own state, and the shared one keeps none.
func TestMatchGlobKeepsNothing(t *testing.T) {
	p := compile(t, dialect.MySQL(), "", "log_*")
	before := policy.Dump(p)
	a, b := p.Match("", "log_a"), p.Match("", "log_b")
	if a.Keys[0].State == b.Keys[0].State {
		t.Errorf("log_a and log_b share the state %q", a.Keys[0].State)
	}
	if after := policy.Dump(p); after != before {
		t.Errorf("the policy was\n%s\nand is\n%s", before, after)
	}
}

func TestParseName(t *testing.T) {
	p := compile(t, dialect.PostgreSQL(), "", "orders")
	tests := []struct{ name, schema, table, err string }{
		{name: "Orders", table: "orders"},
		{name: `shop."Orders"`, schema: "shop", table: "Orders"},
		{name: "db.Shop.orders", schema: "shop", table: "orders"},
		{name: "log_*", err: `policy: table "log_*": is a glob: name one table`},
		{name: `"*"`, table: "*"},
		{name: "a b", err: `policy: table "a b": " " is only read inside quotes: write '"a b"'`},
		{name: "", err: `policy: a part of the name is empty; give it a name, or leave its dot out`},
	}
	for _, tt := range tests {
		schema, table, err := p.ParseName(tt.name)
		msg := ""
		if err != nil {
			msg = plain(err)
		}
		if schema != tt.schema || table != tt.table || msg != tt.err {
			t.Errorf("ParseName(%q) = %q, %q, %q, want %q, %q, %q", tt.name, schema, table, msg, tt.schema, tt.table, tt.err)
		}
	}
}

func TestMatchAllocations(t *testing.T) {
	p := compile(t, dialect.PostgreSQL(), "", "orders", "log_*")
	for _, table := range []string{"orders", "customers"} {
		if n := testing.AllocsPerRun(100, func() { p.Match("", table) }); n != 0 {
			t.Errorf("Match(%q) allocates %v times, want 0", table, n)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	tables := []string{"sales.invoices", "log_*", "*_backup", "archive.t_*_x", "*"}
	for i := range 500 {
		tables = append(tables, fmt.Sprintf("table_%d", i))
	}
	p := compile(b, dialect.PostgreSQL(), "", tables...)
	for _, bb := range []struct{ name, schema, table string }{
		{"bare", "", "table_250"},
		{"bare entry, qualified name", "sales", "table_250"},
		{"qualified", "sales", "invoices"},
		{"glob", "", "log_2024"},
		{"last glob", "", "something_else"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Match(bb.schema, bb.table)
			}
		})
	}
}

// TestGlobsThatAllMeet: each glob is reported once, whatever the number of those
// that it meets, so that many of them cost no more than their number.
func TestGlobsThatAllMeet(t *testing.T) {
	const globs = 500
	cfg := &policy.Config{Tables: map[string]policy.Table{}}
	for i := range globs {
		cfg.Tables[fmt.Sprintf("*_%03d_*", i)] = policy.Table{Column: "id", Source: "uuidv7"}
	}
	_, err := cfg.Compile(dialect.PostgreSQL())
	if want := fmt.Sprintf("and %d more", globs-1-10); err == nil || !strings.HasSuffix(plain(err), want) {
		t.Errorf("error %v, want one that ends in %q", err, want)
	}
}
