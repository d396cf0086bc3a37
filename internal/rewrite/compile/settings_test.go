package compile_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// settingsTarget is orders with the key id, a text.
var settingsTarget = &plans.Target{Table: "orders", Keys: []plans.Key{{
	Column: "id", Fill: plans.FillMissing | plans.FillNull | plans.FillDefault | plans.FillZero,
}}}

func settingsLookup(_, name string) *plans.Target {
	if name == "orders" {
		return settingsTarget
	}
	return nil
}

// TestCompileUnderSettings: one text, and what it is under each setting.
func TestCompileUnderSettings(t *testing.T) {
	const (
		ansi   = dialect.ANSIQuotes
		nobs   = dialect.NoBackslashEscapes
		oracle = dialect.ANSIQuotes | dialect.OracleMode
		mssql  = dialect.ANSIQuotes | dialect.MSSQLMode
		bs     = dialect.BackslashStrings
		off    = dialect.QuotedIdentifierOff
	)
	my, maria, pg, ms := dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLServer()
	for _, c := range []struct {
		d    *dialect.Dialect
		set  dialect.Settings
		in   string
		want string // the bound text, or the action and the reason
	}{
		{my, 0, `INSERT INTO "orders" ("a") VALUES (?)`, "refuse double_quotes"},
		{my, ansi, `INSERT INTO "orders" ("a") VALUES (?)`, "INSERT INTO \"orders\" (\"a\", `id`) VALUES (?, ?)"},
		{my, ansi, `INSERT INTO "Orders" SET "a" = 'x"y'`, "INSERT INTO \"Orders\" SET \"a\" = 'x\"y', `id` = ?"},
		{my, ansi, `INSERT INTO orders ("i""d", a) VALUES ('\'', 1)`, "INSERT INTO orders (\"i\"\"d\", a, `id`) VALUES ('\\'', 1, ?)"},
		{my, 0, `INSERT INTO orders (id, a) VALUES ("", 1)`, "INSERT INTO orders (id, a) VALUES (?, 1)"},
		{my, ansi, `INSERT INTO orders (id, a) VALUES ("", 1)`, "keep"},
		{my, 0, `INSERT INTO orders (a) VALUES ("\", 1), (")`, "INSERT INTO orders (a, `id`) VALUES (\"\\\", 1), (\", ?)"},
		{my, ansi, `INSERT INTO orders (a, b) VALUES ("\", 1), ("\", 2)`, "INSERT INTO orders (a, b, `id`) VALUES (\"\\\", 1, ?), (\"\\\", 2, ?)"},
		{my, ansi | nobs, `INSERT INTO orders (a) VALUES (@"\", 'x\')`, "INSERT INTO orders (a, `id`) VALUES (@\"\\\", 'x\\', ?)"},
		{my, nobs, `INSERT INTO orders (a, b) VALUES ('\', 1), (' , 2) -- ', 3)`, "INSERT INTO orders (a, b, `id`) VALUES ('\\', 1, ?), (' , 2) -- ', 3, ?)"},
		{my, 0, `INSERT INTO orders (a, b) VALUES ('\', 1), (' , 2) -- ', 3)`, "INSERT INTO orders (a, b, `id`) VALUES ('\\', 1), (' , 2, ?) -- ', 3)"},
		{my, nobs, `INSERT INTO orders (a, b) VALUES ("\", 1)`, "INSERT INTO orders (a, b, `id`) VALUES (\"\\\", 1, ?)"},
		{my, nobs, `INSERT INTO orders (a, id) VALUES (N'\', \N)`, "INSERT INTO orders (a, id) VALUES (N'\\', ?)"},
		{my, oracle, `INSERT INTO orders (a) VALUES (:a)`, "INSERT INTO orders (a, `id`) VALUES (:a, ?)"},

		{maria, oracle, `INSERT INTO "orders" ("a", b) VALUES (:a, :"B")`, "INSERT INTO \"orders\" (\"a\", b, `id`) VALUES (:a, :\"B\", ?)"},
		{maria, oracle, `INSERT INTO orders (id, a) VALUES (:1, :1)`, "keep at execution"},
		{maria, oracle, `BEGIN INSERT INTO orders (a) VALUES (1); END`, "refuse block"},
		{maria, oracle, `DECLARE x INT; BEGIN x := 1; INSERT INTO orders (a) VALUES (x); END`, "refuse block"},
		{maria, oracle, `FOR i IN 1..2 LOOP INSERT INTO orders (a) VALUES (i); END LOOP`, "refuse block"},
		{maria, oracle, `<<l>> BEGIN INSERT INTO orders (a) VALUES (1); END`, "refuse nested"},
		{maria, oracle, `CREATE PROCEDURE p AS BEGIN INSERT INTO orders (a) VALUES (1); END`, "pass"},
		{maria, 0, `INSERT INTO [orders] ([a]) VALUES (1)`, "pass"},
		{maria, mssql, `INSERT INTO [orders] ([a]]b]) VALUES (1)`, "INSERT INTO [orders] ([a]]b], `id`) VALUES (1, ?)"},

		{pg, 0, `INSERT INTO orders (a) VALUES ('\')`, `INSERT INTO orders (a, "id") VALUES ('\', $1)`},
		{pg, bs, `INSERT INTO orders (a) VALUES ('\'), (''')`, `INSERT INTO orders (a, "id") VALUES ('\'), (''', $1)`},
		{pg, bs, `INSERT INTO orders (a, b) VALUES (N'\'', '\'' -- '` + "\n" + `)`, `INSERT INTO orders (a, b, "id") VALUES (N'\'', '\''` + `, $1 -- '` + "\n" + `)`},
		{pg, bs, `INSERT INTO orders (a) VALUES (X'\')`, `INSERT INTO orders (a, "id") VALUES (X'\', $1)`},
		{pg, bs, `INSERT INTO orders ("\") VALUES ($$\$$)`, `INSERT INTO orders ("\", "id") VALUES ($$\$$, $1)`},

		{ms, 0, `INSERT INTO "orders" ("a") VALUES ('x')`, `INSERT INTO "orders" ("a", [id]) VALUES ('x', @p1)`},
		{ms, off, `INSERT INTO "orders" ("a") VALUES ('x')`, "refuse double_quotes"},
		{ms, off, `INSERT INTO orders (id, a) VALUES ("", "b), (""c")`, `INSERT INTO orders (id, a) VALUES (@p1, "b), (""c")`},
		{ms, 0, `INSERT INTO orders (id, a) VALUES ("", "b), (""c")`, "keep"},
	} {
		p := compile.Query(c.d.With(c.set), settingsLookup, c.in)
		if got := summary(p); got != c.want {
			t.Errorf("%s under %#x: Compile(%q) = %q, want %q", c.d.Name, c.set, c.in, got, c.want)
		}
	}
}

// summary is what becomes of a text.
func summary(p *plans.Plan) string {
	switch {
	case p.Action == plans.Refuse:
		return "refuse " + string(p.Refusal.Reason)
	case p.Action == plans.Fill:
		return bind.Text(p, false)
	case p.AtExecution:
		return p.Action.String() + " at execution"
	}
	return p.Action.String()
}

// TestReadings: which texts need the settings of the session to be known.
func TestReadings(t *testing.T) {
	for _, c := range []struct {
		dialects  string
		in        string
		ambiguous bool
	}{
		{"mysql mariadb", `INSERT INTO orders (a) VALUES ('plain')`, false},
		{"mysql mariadb", `INSERT INTO orders (a) VALUES ('{"a": ["b:c"], "d": "e\\f"}')`, false},
		{"mysql mariadb postgres", `INSERT INTO orders (a) VALUES ('C:\dir')`, false},
		{"mysql mariadb", `INSERT INTO orders (a) VALUES ("b", "it's")`, false},
		{"mysql mariadb", `INSERT INTO orders (a) VALUES ('it\'s')`, false},            // else without an end
		{"mysql mariadb", `INSERT INTO orders (a) VALUES ('it\'s', 'that\'s')`, false}, // else a backslash outside
		{"postgres", `INSERT INTO orders (a) VALUES ('C:\')`, false},                   // else without an end
		{"postgres", `INSERT INTO orders (a) VALUES (E'it\'s', $$\'$$, "\")`, false},   // not of these strings
		{"sqlserver", `INSERT INTO "orders" ("a") VALUES ('x')`, false},                // else no name
		{"sqlserver", `SET IDENTITY_INSERT "orders" ON;INSERT INTO "orders" ("a") VALUES ('x');SET IDENTITY_INSERT "orders" OFF;`, false},
		{"mysql", `DELETE FROM t; INSERT INTO orders ("a") VALUES ('x')`, true}, // what stands before has run
		{"postgres", `DELETE FROM t; INSERT INTO orders (a) VALUES ('\')`, false},
		{"mysql mariadb", `DELETE FROM t; INSERT INTO orders (a) VALUES ('it\'s')`, true},
		{"sqlserver", `INSERT INTO orders (a) VALUES ("b", ' "c" ')`, false}, // a value either way
		{"sqlserver", `INSERT INTO orders (a) VALUES ("') INSERT INTO orders (a) VALUES ('")`, false},
		{"mysql mariadb", `SELECT "\" FROM t WHERE a = '\'; DELETE FROM orders`, false}, // no INSERT
		{"mysql mariadb", `/* "it\'s" */ INSERT INTO orders (a) VALUES (1) -- "\'`, false},
		{"mariadb", `SET @a := 1`, false},
		{"sqlite oracle", `INSERT INTO orders (a) VALUES ('\', "b")`, false},

		{"mysql mariadb", `INSERT INTO "orders" (a) VALUES (1)`, true},
		{"mysql mariadb", `INSERT INTO orders (id, a) VALUES ("", 1)`, true},
		{"mysql mariadb postgres", `INSERT INTO orders (a, b) VALUES ('\', 1), (' , 2) -- ', 3)`, true},
		{"mysql mariadb", `INSERT INTO t VALUES ('\'); INSERT INTO orders (a) VALUES (''); COMMIT`, true},
		{"mysql mariadb", `INSERT INTO t VALUES ('\'); INSERT INTO orders (a) VALUES ('')`, true},
		{"mysql mariadb", `INSERT INTO orders VALUES ('\', 1), (' , 2) -- ', 3)`, true}, // the columns will tell
		{"mysql mariadb", `INSERT INTO orders (a) VALUES ("ROW_COUNT() ", "b")`, false},
		{"mysql mariadb", `INSERT INTO orders (a) VALUES (1, "\", ROW_COUNT(), "" -- ",` + "\n2)", true}, // a number is asked for
		{"mariadb", `INSERT INTO orders (a) VALUES (:a)`, true},
		{"mariadb", `INSERT INTO [orders] (a) VALUES (1)`, true},
		{"mysql", `INSERT INTO orders (a) VALUES (:a)`, false},
		{"sqlserver", `INSERT INTO orders (id, a) VALUES ("", 'x')`, true},
	} {
		for name := range strings.FieldsSeq(c.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			p := compile.Readings(d, settingsLookup, c.in)
			if p.Ambiguous() != c.ambiguous {
				t.Errorf("%s: Readings(%q).Ambiguous() = %v, want %v", name, c.in, p.Ambiguous(), c.ambiguous)
			}
			if !p.Ambiguous() {
				continue
			}
			u := p.Unsettled()
			if u.Action != plans.Refuse || u.Refusal.Reason != rewrite.ErrSettings || u.Refusal.Table != "orders" {
				t.Errorf("%s: Readings(%q).Unsettled() = %v %v", name, c.in, u.Action, u.Refusal)
			}
			if got, want := c.in[u.Refusal.Offset:], "INSERT INTO"; !strings.HasPrefix(got, want) {
				t.Errorf("%s: Readings(%q).Unsettled() is about %q, want %q", name, c.in, got, want)
			}
		}
	}
}

// trickyText returns a text of pieces that read differently under settings.
func trickyText(r *rand.Rand) string {
	heads := []string{
		"INSERT INTO orders (a, b) VALUES (", "INSERT INTO orders (id, a) VALUES (", "INSERT INTO orders VALUES (",
		`INSERT INTO "orders" (a) VALUES (`, "INSERT INTO [orders] (a) VALUES (", `INSERT INTO orders ("a", b) VALUES (`,
		"INSERT INTO t (a) VALUES (", "INSERT INTO orders SET a = ", "SELECT (", "/*! INSERT INTO orders */ SELECT (",
	}
	pieces := []string{
		`'\'`, `'\''`, `'\\'`, `'a'`, `''`, `"\"`, `"\""`, `"b"`, `""`, `'"'`, `"'"`, `N'\'`, `X'\'`, `E'\''`, `@'\'`, `@"\"`,
		`\`, `:a`, `:"a"`, `[x]`, `[']`, `[]]]`, `?`, `$1`, `@p1`, "1", "NULL", "\\N", "DEFAULT", "ROW_COUNT()", "`\\`", "$$\\'$$", "U&'\\'",
		", ", ", ", ", ", ", ", ", ", ", ", "), (", "), (", ")", "; COMMIT; ", "; INSERT INTO orders (a) VALUES (", " -- ", "\n", " /* ", " */ ", " # ", " ",
	}
	var b strings.Builder
	b.WriteString(heads[r.IntN(len(heads))])
	for range 2 + r.IntN(9) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	b.WriteString(")")
	return b.String()
}

// checkReadings checks the law of readings: whatever a session is set to, the
// plan for it is that of a compilation under its settings, but where the engine
// cannot run the text; what the text does to a transaction is said only where all
// settings agree; and the tokens are the text under each.
func checkReadings(t *testing.T, d *dialect.Dialect, lookup plans.Lookup, query string) (ambiguous bool, hopeless int) {
	t.Helper()
	p := compile.Readings(d, lookup, query)
	tx := effects.TransactionOfAny(d, query)
	for _, s := range sessionSettings(d) {
		v := d.With(s)
		if v.Settings != s {
			t.Fatalf("%s.With(%#x) is for %#x", d.Name, s, v.Settings)
		}
		at := 0
		for _, tok := range compile.Tokens(v, query) {
			if tok.Start != at || tok.End <= tok.Start {
				t.Fatalf("%s under %#x: Tokens(%q): [%d, %d) follows %d", d.Name, s, query, tok.Start, tok.End, at)
			}
			at = tok.End
		}
		if effects.Hopeless(v, query) {
			hopeless++
			continue
		}
		want := compile.Query(v, lookup, query)
		if got := p.Under(s); !alike(query, p.Ambiguous(), got, want) && !want.StringTarget() {
			t.Fatalf("%s under %#x: Readings(%q) = %q, want %q", d.Name, s, query, summary(got), summary(want))
		}
		if got := effects.TransactionOf(v, query); tx != got && tx != effects.TxUnknown {
			t.Fatalf("%s under %#x: TransactionOfAny(%q) = %v, want %v or unknown", d.Name, s, query, tx, got)
		}
	}
	return p.Ambiguous(), hopeless
}

// TestReadingsLaw checks the law for texts of tricky pieces.
func TestReadingsLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ambiguous, hopeless := 0, 0
	for range 10000 {
		query := trickyText(r)
		for _, d := range dialect.All() {
			a, h := checkReadings(t, d, settingsLookup, query)
			if hopeless += h; a {
				ambiguous++
			}
		}
	}
	if ambiguous < 1000 || hopeless < 1000 {
		t.Errorf("%d texts were ambiguous and %d hopeless: the pieces are not tricky enough", ambiguous, hopeless)
	}
}

// FuzzReadings checks the law for any text.
func FuzzReadings(f *testing.F) {
	addSeeds(f, func(b uint8, q string) { f.Add(b, q) })
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 100 {
		f.Add(uint8(i), trickyText(r))
	}
	f.Fuzz(func(t *testing.T, b uint8, query string) {
		d := fuzzDialect(b)
		checkReadings(t, d, fuzzLookup(d), query)
	})
}

// alike reports whether two plans do the same. Those that lack the columns are
// not, before they are known, unless they were made for the same settings.
func alike(query string, ambiguous bool, got, want *plans.Plan) bool {
	if want.Action == plans.Refuse && want.Refusal.Reason == rewrite.ErrNoColumnList {
		d := got.Dialect
		return summary(got) == summary(want) &&
			(!ambiguous || d.Settings == want.Dialect.Settings.Of(d.Setting.In(query)))
	}
	return got.Same(want)
}

// sessionSettings are all that a session of the engine can have, asked from the
// dialect by a text with every byte that matters.
func sessionSettings(d *dialect.Dialect) []dialect.Settings {
	return append([]dialect.Settings{0}, d.Others(`"\:[`)...)
}

// TestSamePlanFields: a field that a plan gets has to be compared where two
// plans of one text are, or named here.
func TestSamePlanFields(t *testing.T) {
	compared := []string{"Action", "AtExecution", "Refusal", "Inserts", "Draws", "Statements", "Load", "Query", "Edits",
		"Slots", "Params", "Spelling", "Added", "DroppedArgs", "ArgsBefore", "KeyCounts", "BoundEdits", "Listed", "GuardsSets", "Session", "LiteralReason", "undoes", "reads"}
	left := []string{
		"Dialect",               // what differs
		"Readings",              // those of a plan, not of its readings
		"Bound", "BoundSession", // are made of the others
		"memory",             // is the memory of the others
		"Scoped", "byInsert", // are made of Inserts and slots
		"MayConflict", // is made of Inserts
		"LastKeys",    // are made of the slots
		"quiet",       // is made of the text, by words that mean the same
		"Parts",       // is made of the text: settings of SQLite change no statement's end
		"Proof",       // is made of the edits, the slots and the text
	}
	fields := reflect.VisibleFields(reflect.TypeFor[plans.Plan]())
	for _, group := range []string{"Changes", "Lazy", "rare"} {
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return f.Name == group })
		if i < 0 {
			t.Fatalf("a plan has no group %s any more", group)
		}
		parts := fields[i].Type
		if parts.Kind() == reflect.Pointer {
			parts = parts.Elem()
		}
		fields = slices.Concat(fields[:i], fields[i+1:], reflect.VisibleFields(parts))
	}
	for _, f := range fields {
		if !slices.Contains(compared, f.Name) && !slices.Contains(left, f.Name) {
			t.Errorf("Plan.%s is not known to the method same", f.Name)
		}
	}
}

// BenchmarkReadings is of texts with bytes that could matter and do not.
func BenchmarkReadings(b *testing.B) {
	query := `INSERT INTO orders (a, b) VALUES (?, '{"name": ["x:y"], "path": "C:\\dir\\file", "text": "` + strings.Repeat("lorem ipsum ", 50) + `"}')`
	for _, name := range []string{"mysql", "mariadb", "postgres", "sqlserver"} {
		d, err := dialect.ByName(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(query)))
			for b.Loop() {
				compile.Readings(d, settingsLookup, query)
			}
		})
		b.Run(name+"-compile", func(b *testing.B) {
			b.SetBytes(int64(len(query)))
			for b.Loop() {
				compile.Query(d, settingsLookup, query)
			}
		})
	}
}
