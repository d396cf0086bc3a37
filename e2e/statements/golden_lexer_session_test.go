package statements_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// lexerSession is an engine whose sessions are set to read text in another way.
type lexerSession struct {
	harness.Engine
	set string // the field of the policy that says so
	to  string
}

// sqlModes are the modes of MariaDB that change how text is read, and some that hold
// them.
var sqlModes = []string{"", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "ANSI", "ORACLE", "MSSQL", "POSTGRESQL,NO_BACKSLASH_ESCAPES"}

// lexerSessions are the engines in all their settings.
func lexerSessions() []lexerSession {
	var all []lexerSession
	for _, mode := range sqlModes {
		for _, e := range []harness.Engine{harness.MySQLDefault, harness.MySQLMultiInterp} {
			e.Params = strings.TrimPrefix(e.Params+"&sql_mode="+url.QueryEscape("'"+mode+"'"), "&")
			e.Name += "-" + mode
			all = append(all, lexerSession{e, "sql_mode", cmp.Or(mode, "default")})
		}
	}
	for _, on := range []string{"on", "off"} {
		for _, e := range []harness.Engine{harness.PgxDefault, harness.PgxMode("exec"), harness.PQDefault} {
			e.Params = strings.TrimPrefix(e.Params+"&options="+"-c%20standard_conforming_strings%3D"+on, "&")
			e.Name += "-" + on
			all = append(all, lexerSession{e, "standard_conforming_strings", on})
		}
	}
	return all
}

// config is a policy for orders that says how the sessions are set, or not.
func (s lexerSession) config(says bool) *policy.Config {
	cfg := harness.FillID("orders", policy.Table{})
	cfg.Dialect = s.Dialect.Name
	switch {
	case !says:
	case s.set == "sql_mode":
		cfg.SQLMode = s.to
	default:
		cfg.StandardConformingStrings = s.to
	}
	return cfg
}

// eachSession runs a test for all sessions, with the table orders.
func eachSession(t *testing.T, f func(t *testing.T, s lexerSession, db *harness.Scratch)) {
	for _, s := range lexerSessions() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			db := s.Scratch(t)
			harness.Exec(t, db.Raw, "CREATE TABLE orders (id VARCHAR(36), a VARCHAR(200), b VARCHAR(200))")
			f(t, s, db)
		})
	}
}

// lexerTexts read differently under some settings, or look as if they did.
var lexerTexts = []string{
	`INSERT INTO orders (a, b) VALUES ('plain', 1)`,
	`INSERT INTO orders (a, b) VALUES ('\', 1), (' , 2) -- ', 3)`,
	`INSERT INTO orders (id, a, b) VALUES (NULL, '\', 1), (NULL, ' , 2) -- ', 3)`,
	`INSERT INTO orders (a, id, b) VALUES ('\', NULL, 1), (' , NULL, 2) -- ', NULL, 3)`,
	`INSERT INTO orders (a, b) VALUES ('it\'s', 'that\'s')`,
	`INSERT INTO orders (a, b) VALUES ('C:\', 'D:\')`,
	`INSERT INTO orders (a, b) VALUES ('C:\dir', 'D:\\dir\\')`,
	`INSERT INTO orders (a, b) VALUES ('\\', '\\''')`,
	`INSERT INTO orders (a, b) VALUES ('''\'', '\'''')`,
	`INSERT INTO orders (a, b) VALUES (N'\', N'x')`,
	`INSERT INTO orders (a) VALUES (N'\'')`,
	`INSERT INTO orders (a, b) VALUES ('{"k": "v:[w]"}', '{\"k\": 1}')`,
	`INSERT INTO orders (a, b) VALUES ("x", "it's")`,
	`INSERT INTO orders (a, b) VALUES ("a", "b")`,
	`INSERT INTO orders (a, b) VALUES ("\", 1), (" , 2) -- ", 3)`,
	`INSERT INTO orders (a, b) VALUES ("\"", '\"')`,
	`INSERT INTO orders (id, a) VALUES ("", 'x')`,
	`INSERT INTO orders (id, a) VALUES ('', '\'), ('', '''')`,
	`INSERT INTO "orders" ("a", b) VALUES ('x', 'y')`,
	`INSERT INTO "orders" ("a") VALUES ('\'), (''')`,
	`INSERT INTO orders ("id", "a") VALUES (NULL, 'x')`,
	`INSERT INTO [orders] ([a]) VALUES ('x')`,
	`INSERT INTO [orders] (a, [id]) VALUES ('[\', NULL)`,
	`INSERT INTO orders VALUES (NULL, '\', 1), (NULL, ' , 2) -- ', 3)`,
	`INSERT INTO orders VALUES ('', "a", "b")`,
	`INSERT INTO orders (a, b) VALUES (E'\'', 'x\')`,
	`INSERT INTO orders (a, b) VALUES ($$\'$$, '\')`,
	"INSERT INTO orders (a, b) VALUES ('x'\n'\\'', 'y')",
	`INSERT INTO orders (a) VALUES ('one'); INSERT INTO orders (a) VALUES ('\')`,
	`INSERT INTO orders (a) VALUES ('one'); INSERT INTO orders (a) VALUES ('it\'s')`,
	`INSERT INTO orders (a) VALUES ('\'); INSERT INTO orders (a) VALUES (''); -- '`,
	`INSERT INTO orders (a) VALUES ('\'); DELETE FROM orders; -- ')`,
	`INSERT INTO orders (a) VALUES ('one'); INSERT INTO "orders" ("a") VALUES ('two')`,
	`INSERT INTO orders SET a = '\', b = ' -- '`,
}

// lexerText makes one more of them.
func lexerText(r *rand.Rand) string {
	heads := []string{"INSERT INTO orders (a, b) VALUES (", "INSERT INTO orders (a, id, b) VALUES (", "INSERT INTO orders VALUES (", `INSERT INTO orders ("a", b) VALUES (`}
	values := []string{`'\'`, `'\''`, `'\\'`, `'x'`, `''`, `"\"`, `"a"`, `"\""`, `'"'`, `"'"`, `N'\'`, `'\', '`, `'), ('`, `'\'''`, "NULL", "1"}
	head := heads[r.IntN(len(heads))]
	width := 2
	if head == heads[1] || head == heads[2] {
		width = 3
	}
	var b strings.Builder
	b.WriteString(head)
	rows := 1 + r.IntN(2)
	for row := range rows {
		for i := range width {
			switch v := values[r.IntN(len(values))]; {
			case width == 3 && (i == 0 && head == heads[2] || i == 1 && head == heads[1]):
				b.WriteString("NULL")
			default:
				b.WriteString(v)
			}
			if i < width-1 {
				b.WriteString(", ")
			}
		}
		if row < rows-1 {
			b.WriteString("), (")
		}
	}
	b.WriteString([]string{")", ") -- '", `) -- "`, ") -- ', 1)", `) -- ', NULL, 1)`}[r.IntN(5)])
	return b.String()
}

// lexerRow is a row of orders.
type lexerRow struct{ id, a, b sql.NullString }

// takeRows returns what is stored, in the order of its values, and removes it.
func takeRows(t *testing.T, s *harness.Scratch) []lexerRow {
	t.Helper()
	rows, err := s.Raw.Query("SELECT id, a, b FROM orders")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []lexerRow
	for rows.Next() {
		var r lexerRow
		if err := rows.Scan(&r.id, &r.a, &r.b); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(x, y lexerRow) int {
		return strings.Compare(fmt.Sprint(x.a, x.b), fmt.Sprint(y.a, y.b))
	})
	harness.Exec(t, s.Raw, "DELETE FROM orders")
	return all
}

// filledLike returns how the rows that keyfill stored differ from the rows of the same
// text without it, besides the keys that it made; empty if they do not.
func filledLike(got, want []lexerRow) string {
	if len(got) != len(want) {
		return "another number of rows"
	}
	keys := map[string]bool{}
	for i := range got {
		if keys[got[i].id.String] {
			return "a key twice"
		}
		keys[got[i].id.String] = true
		switch {
		case got[i].a != want[i].a || got[i].b != want[i].b:
			return "other values"
		case !want[i].id.Valid || want[i].id.String == "":
			if uuid.Validate(got[i].id.String) != nil {
				return "a row without a key"
			}
		case got[i].id != want[i].id:
			return "another key than the text's"
		}
	}
	return ""
}
