package dialect_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
)

func TestSettingRead(t *testing.T) {
	const ansi = dialect.ANSIQuotes
	for _, c := range []struct {
		d      *dialect.Dialect
		answer string
		want   dialect.Settings
	}{
		{dialect.MySQL(), "", 0},
		{dialect.MySQL(), "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION", 0},
		{dialect.MySQL(), "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI", ansi},
		{dialect.MySQL(), "ansi_quotes, No_Backslash_Escapes", ansi | dialect.NoBackslashEscapes},
		{dialect.MySQL(), "NO_BACKSLASH_ESCAPES_2", 0},
		{dialect.MariaDB(), "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES", dialect.NoBackslashEscapes},
		{dialect.MariaDB(), "PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ORACLE,NO_KEY_OPTIONS", ansi | dialect.OracleMode},
		{dialect.MariaDB(), "ORACLE", ansi | dialect.OracleMode},
		{dialect.MariaDB(), "MSSQL", ansi | dialect.MSSQLMode},
		{dialect.MariaDB(), "DB2", ansi},
		{dialect.MariaDB(), "default", 0},
		{dialect.PostgreSQL(), "on", 0},
		{dialect.PostgreSQL(), "off", dialect.BackslashStrings},
		{dialect.SQLServer(), "1", 0},
		{dialect.SQLServer(), "0", dialect.QuotedIdentifierOff},
		{dialect.SQLServer(), "off", dialect.QuotedIdentifierOff},
	} {
		if got := c.d.Setting.Read(c.answer); got != c.want {
			t.Errorf("%s: Read(%q) = %#x, want %#x", c.d.Name, c.answer, got, c.want)
		}
	}
}

// TestWith: a dialect is one value for the same settings, with the same name and
// quotes, whatever it was asked of.
func TestWith(t *testing.T) {
	counts := map[string]int{"mysql": 4, "mariadb": 10, "postgres": 2, "sqlite": 1, "sqlserver": 2, "oracle": 1}
	for _, d := range dialect.All() {
		sets := append([]dialect.Settings{0}, d.Others(`"\:[`)...)
		if len(sets) != counts[goldens.Of(d)] {
			t.Errorf("%s has %d settings, want %d", d.Name, len(sets), counts[goldens.Of(d)])
		}
		seen := map[*dialect.Dialect]bool{}
		for _, s := range sets {
			v := d.With(s)
			if v.Settings != s || v.Name != d.Name || v.QuoteIdent("x") != d.QuoteIdent("x") {
				t.Errorf("%s.With(%#x) is %s under %#x", d.Name, s, v.Name, v.Settings)
			}
			if seen[v] || v != d.With(s) || v != v.With(s) || v.With(0) != d {
				t.Errorf("%s.With(%#x) is not one value of its own", d.Name, s)
			}
			seen[v] = true
		}
	}
	if my := dialect.MySQL(); my.With(dialect.BackslashStrings|dialect.QuotedIdentifierOff) != my || my.Lexis.DoubleQuotedStrings == my.With(dialect.ANSIQuotes).Lexis.DoubleQuotedStrings {
		t.Error("MySQL: what is another engine's counts, or its own does not")
	}
}

// TestOthers: a text is in question by the bytes that it has.
func TestOthers(t *testing.T) {
	for _, c := range []struct {
		d    *dialect.Dialect
		text string
		want int
	}{
		{dialect.MySQL(), "SELECT 'a', b[1], x::y", 0},
		{dialect.MySQL(), `"`, 1},
		{dialect.MySQL(), `\`, 1},
		{dialect.MySQL(), `"\`, 3},
		{dialect.MariaDB(), `:`, 1},
		{dialect.MariaDB(), `[:`, 3},
		{dialect.MariaDB(), `":`, 2},
		{dialect.MySQL().With(dialect.ANSIQuotes), `"`, 1}, // the usual ones
		{dialect.PostgreSQL(), `"x"`, 0},
		{dialect.PostgreSQL(), `\`, 1},
		{dialect.SQLServer(), `\`, 0},
		{dialect.SQLServer(), `"`, 1},
		{dialect.SQLite(), `"\`, 0},
		{dialect.Oracle(), `"\`, 0},
	} {
		if got := c.d.Others(c.text); len(got) != c.want {
			t.Errorf("%s: Others(%q) = %#x, want %d", c.d.Name, c.text, got, c.want)
		}
	}
}
