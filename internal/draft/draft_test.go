package draft_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/draft"
	"github.com/keyfill/keyfill/policy"
)

// declared returns the tables of names, each with a key of UUIDs called id.
func declared(d *dialect.Dialect, names ...string) *catalog.Overview {
	var all []*catalog.Declaration
	for _, name := range names {
		schema, table, ok := strings.Cut(name, ".")
		if !ok {
			schema, table = "", name
		}
		all = append(all, &catalog.Declaration{
			Schema: schema, Name: table, Visible: !ok,
			Columns: []catalog.Declared{{Name: "id", Type: "uuid", NotNull: true}},
			Indexes: []catalog.DeclaredIndex{{Columns: []string{"id"}, Unique: true, Primary: true}},
		})
	}
	return catalog.Declare(d, all)
}

// entries returns the policy of a draft.
func entries(t *testing.T, f *draft.Draft) map[string]policy.Table {
	t.Helper()
	cfg, err := policy.Parse([]byte(f.Text()))
	if err != nil {
		t.Fatalf("%v\n%s", err, f.Text())
	}
	return cfg.Tables
}

// TestPatterns: tables share an entry where a pattern matches them and no other table.
func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  string // the pattern, empty if each table has an entry of its own
	}{
		{[]string{"log_1", "log_2", "log_30"}, "log_*"},
		{[]string{"log_2024_01", "log_2024_02", "log_2025_01", "logs"}, "log_*"},
		{[]string{"shard1_orders", "shard2_orders", "shard3_orders"}, "shard*_orders"},
		{[]string{"log_1", "log_2"}, ""},
		{[]string{"log_1", "log_2", "log_3", "log_all"}, ""},
		{[]string{"log_1", "log_2", "log_3", "other.log_4"}, ""},
		{[]string{"_1", "_2", "_3"}, ""},
		{[]string{"1a", "2a", "3a"}, ""},
	} {
		got := entries(t, draft.Of(dialect.PostgreSQL(), declared(dialect.PostgreSQL(), tt.names...)))
		_, joined := got[tt.want]
		if tt.want != "" && !joined || tt.want == "" && len(got) != len(tt.names) {
			t.Errorf("%v give %v, want %q", tt.names, got, tt.want)
		}
	}
}

// TestNames: a policy holds each name as it is, whatever is in it, and the text stays one
// policy.
func TestNames(t *testing.T) {
	names := []string{
		"order", "yes", "null", "a.b.c", `q"uote`, "back`tick", "apo'strophe", "co: lon", "# hash", "line\nend", "tab\t", "größe", "*", "?",
		"{curly}", "-", "UPPER", "😀", "a\u2028b", "a\u0085b", "\x7f", "[x]", "}, evil: {column: id}",
	}
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.PostgreSQL(), dialect.SQLite()} {
		for _, name := range names {
			one := &catalog.Declaration{
				Name: name, Visible: true,
				Columns: []catalog.Declared{{Name: name, Type: "bigint", NotNull: true}, {Name: "id", Type: "bigint", NotNull: true}},
				Indexes: []catalog.DeclaredIndex{{Columns: []string{"id"}, Unique: true, Primary: true}},
			}
			got := entries(t, draft.Of(d, catalog.Declare(d, []*catalog.Declaration{one})))
			if len(got) != 1 {
				t.Errorf("%s: the table %q gives %d entries", d.Name, name, len(got))
				continue
			}
			cfg := &policy.Config{Tables: got}
			p, err := cfg.Compile(d)
			if err != nil {
				t.Fatal(err)
			}
			if p.Match("", d.FoldTable(name, true)) == nil {
				t.Errorf("%s: the entry %v does not match the table %q", d.Name, got, name)
			}
		}
	}
}

// TestWithdraw: an entry that is taken back is a comment with the reason, and the notes of
// others stay.
func TestWithdraw(t *testing.T) {
	f := draft.Of(dialect.PostgreSQL(), declared(dialect.PostgreSQL(), "a", "b"))
	line := func(entry string) int {
		for n, text := range strings.Split(f.Text(), "\n") {
			if strings.HasPrefix(text, "  "+entry) {
				return n + 1
			}
		}
		t.Fatalf("no entry %s in\n%s", entry, f.Text())
		return 0
	}
	if !f.Note(line("a:"), "first note") || f.Note(1, "no entry") {
		t.Error("Note finds no entry, or one in the first line")
	}
	if !f.Withdraw(line("b:"), "it does\nnot fit") {
		t.Error("Withdraw finds no entry")
	}
	text := f.Text()
	if got := entries(t, f); len(got) != 1 || !strings.Contains(text, "# first note\n") || !strings.Contains(text, "it does not fit\n") {
		t.Errorf("the text is\n%s", text)
	}
	if f.Filled() != 1 || f.Undecided() != 1 || f.Numbered() != 0 {
		t.Errorf("%d, %d, %d tables", f.Filled(), f.Undecided(), f.Numbered())
	}
	f.ClearNotes()
	if text := f.Text(); strings.Contains(text, "first note") || !strings.Contains(text, "not fit") {
		t.Errorf("without notes it is\n%s", text)
	}
}

// TestFit: the source for a text of each width is one that fits it.
func TestFit(t *testing.T) {
	for width := 1; width <= 40; width++ {
		for _, name := range []string{"mysql", "postgres", "sqlserver", "oracle"} {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"varchar", "char"} {
				one := &catalog.Declaration{
					Name: "orders", Visible: true,
					Columns: []catalog.Declared{{Name: "id", Type: kind, Sizes: []int{width}, NotNull: true}},
					Indexes: []catalog.DeclaredIndex{{Columns: []string{"id"}, Unique: true, Primary: true}},
				}
				over := catalog.Declare(d, []*catalog.Declaration{one})
				fit, ok := draft.FitOf(d, &over.Tables[0].Columns[0])
				if !ok {
					if kind == "varchar" && width >= 6 {
						t.Errorf("%s: nothing fits %s(%d)", name, kind, width)
					}
					continue
				}
				cfg, err := policy.Parse([]byte(fmt.Sprintf("version: 1\ntables: {orders: {column: id%s}}\n", fit.Rest)))
				if err != nil {
					t.Fatalf("%s: %s(%d): %v", name, kind, width, err)
				}
				if _, err := cfg.Compile(d); err != nil {
					t.Errorf("%s: %s(%d) gives%s: %v", name, kind, width, fit.Rest, err)
				}
			}
		}
	}
}

// TestNumbersOfPeople: a column of text whose name is that of a number is left to the program,
// with a word about numbers that people see.
func TestNumbersOfPeople(t *testing.T) {
	d := dialect.PostgreSQL()
	over := catalog.Declare(d, []*catalog.Declaration{{
		Name: "invoices", Visible: true,
		Columns: []catalog.Declared{{Name: "id", Type: "uuid", NotNull: true}, {Name: "invoice_no", Type: "character varying", Sizes: []int{20}, NotNull: true}, {Name: "title", Type: "text"}},
		Indexes: []catalog.DeclaredIndex{{Columns: []string{"id"}, Unique: true, Primary: true}, {Columns: []string{"invoice_no"}, Unique: true}, {Columns: []string{"title"}, Unique: true}},
	}, {
		Name: "receipts", Visible: true,
		Columns: []catalog.Declared{{Name: "number", Type: "character varying", Sizes: []int{20}, NotNull: true}},
		Indexes: []catalog.DeclaredIndex{{Columns: []string{"number"}, Unique: true, Primary: true}},
	}})
	f := draft.Of(d, over)
	text := strings.Join(strings.Fields(strings.ReplaceAll(f.Text(), "#", "")), " ")
	for _, want := range []string{"If invoice_no counts, as INV-2026-00042 does, docs/numbers.md has the source.", "If number counts, as INV-2026-00042 does,"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, f.Text())
		}
	}
	if all := entries(t, f); len(all) != 1 || len(all["invoices"].Keys) != 0 || strings.Contains(text, "If title") {
		t.Errorf("the entries are %v in\n%s", all, f.Text())
	}
}
