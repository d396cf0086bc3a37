package dialect_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
)

func TestFold(t *testing.T) {
	tests := []struct {
		name   string
		quoted bool
		want   map[string]string // by dialect; empty for those not named
	}{
		{"orders", false, map[string]string{"": "orders", "oracle": "ORDERS"}},
		{"ORDERS", false, map[string]string{"": "orders", "oracle": "ORDERS"}},
		{"Orders", true, map[string]string{"": "orders", "postgres": "Orders", "oracle": "Orders"}},
		{"größe", false, map[string]string{"": "größe", "oracle": "GRÖßE"}},
		// PostgreSQL folds ASCII letters only in a multi-byte encoding.
		{"ÄB", false, map[string]string{"": "äb", "postgres": "Äb", "oracle": "ÄB"}},
		{"", false, map[string]string{"": ""}},
	}
	for _, tt := range tests {
		for _, d := range dialect.All() {
			want, ok := tt.want[goldens.Of(d)]
			if !ok {
				want = tt.want[""]
			}
			if got := d.Fold(tt.name, tt.quoted); got != want {
				t.Errorf("%s: Fold(%q, %v) = %q, want %q", d.Name, tt.name, tt.quoted, got, want)
			}
		}
	}
}

func TestQuoteIdent(t *testing.T) {
	tests := []struct {
		d          *dialect.Dialect
		name, want string
	}{
		{dialect.MySQL(), "id", "`id`"},
		{dialect.MySQL(), "a`b", "`a``b`"},
		{dialect.MariaDB(), "select", "`select`"},
		{dialect.PostgreSQL(), "id", `"id"`},
		{dialect.PostgreSQL(), `a"b`, `"a""b"`},
		{dialect.SQLite(), "a]b", `"a]b"`},
		{dialect.SQLServer(), "id", "[id]"},
		{dialect.SQLServer(), "a]b[c", "[a]]b[c]"},
		{dialect.Oracle(), "ID", `"ID"`},
	}
	for _, tt := range tests {
		if got := tt.d.QuoteIdent(tt.name); got != tt.want {
			t.Errorf("%s: QuoteIdent(%q) = %q, want %q", tt.d.Name, tt.name, got, tt.want)
		}
	}
}

func TestPlaceholder(t *testing.T) {
	for name, want := range map[string]string{"mysql": "?", "mariadb": "?", "postgres": "$2", "sqlite": "?", "sqlserver": "@p2", "oracle": ":2"} {
		d, err := dialect.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Placeholder(2); got != want {
			t.Errorf("%s: Placeholder(2) = %q, want %q", name, got, want)
		}
	}
}

func TestByName(t *testing.T) {
	for _, d := range dialect.All() {
		if got, err := dialect.ByName(d.Name); got != d || err != nil {
			t.Errorf("ByName(%q) = %v, %v", d.Name, got, err)
		}
	}
	_, err := dialect.ByName("postgresql")
	want := `dialect: unknown dialect "postgresql": write one of ` + dialect.Names() + ` [docs/errors.md#policy]`
	if err == nil || err.Error() != want {
		t.Errorf("ByName of an unknown name: %v, want %s", err, want)
	}
}

// TestFacts checks what every table of facts must have, so that the rewriter
// may rely on it.
func TestFacts(t *testing.T) {
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			if d.Title == "" || d.QuoteOpen == 0 || d.QuoteClose == 0 || d.BinaryOpen == "" || d.DefaultLayout == "" {
				t.Errorf("a fact is missing: %+v", d)
			}
			if d.Params.Max < 1000 {
				t.Errorf("Max = %d", d.Params.Max)
			}
			p := &d.Params
			if !p.Question && !p.Dollar && !p.Colon && !p.AtNumber {
				t.Error("there is no placeholder that has no name")
			}
			if _, err := dialect.ParseLayout(string(d.DefaultLayout)); err != nil {
				t.Error(err)
			}
			g := &d.Grammar
			for _, words := range [][]string{g.Modifiers, g.FunctionTargets, g.QueryTargets, g.RowIDs, g.Routines, {d.Lexis.StringPrefixes}} {
				for _, w := range words {
					if w != strings.ToLower(w) {
						t.Errorf("%q is not in lower case", w)
					}
				}
			}
			for _, open := range d.Lexis.ExecutableComments {
				if !strings.HasPrefix(open, "/*") || !strings.HasSuffix(open, "!") {
					t.Errorf("%q opens no comment that is run", open)
				}
			}
		})
	}
}

// MySQL and MariaDB differ in what is listed here and in nothing else.
func TestMariaDBFacts(t *testing.T) {
	my, maria := *dialect.MySQL(), *dialect.MariaDB()
	if my.Grammar.Returning || !maria.Grammar.Returning || !my.Grammar.RowAlias || maria.Grammar.RowAlias ||
		len(my.Lexis.ExecutableComments) != 1 || len(maria.Lexis.ExecutableComments) != 2 {
		t.Error("RETURNING, row aliases or executable comments are not as documented")
	}
}

// TestFolds holds Folds against Fold.
func TestFolds(t *testing.T) {
	names := []string{"", "a", "A", "id", "ID", "Id", "idd", "É", "é", "\u212a", "k", "K", "a\xff", "A\xff", "İ", "i̇"}
	for _, d := range dialect.All() {
		for _, name := range names {
			for _, other := range names {
				for _, quoted := range []bool{false, true} {
					folded := d.Fold(other, quoted)
					if got, want := d.Folds(name, quoted, folded), d.Fold(name, quoted) == folded; got != want {
						t.Errorf("%s: Folds(%q, %v, %q) = %v, want %v", d.Name, name, quoted, folded, got, want)
					}
				}
			}
		}
	}
}

// TestToPrimary: queries of PostgreSQL get the comment, also those with WITH; statements that
// write, and other engines, do not.
func TestToPrimary(t *testing.T) {
	const comment = "/*NO LOAD BALANCE*/ "
	for _, query := range []string{"SELECT 1", "WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a"} {
		if got := dialect.PostgreSQL().Latest.ToPrimary(query); got != comment+query {
			t.Errorf("PostgreSQL: %q", got)
		}
		if got := dialect.MySQL().Latest.ToPrimary(query); got != query {
			t.Errorf("MySQL: %q", got)
		}
	}
	if got := dialect.PostgreSQL().Latest.ToPrimary("UPDATE t SET a = 1"); got != "UPDATE t SET a = 1" {
		t.Errorf("an UPDATE: %q", got)
	}
}
