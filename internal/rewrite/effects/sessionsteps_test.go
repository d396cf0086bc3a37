package effects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

// sessionSteps describes the statements of a text: k for one that keeps the mark, q for an INSERT
// that draws nothing by itself, and what each reads.
func sessionSteps(d *dialect.Dialect, text string) string {
	var all []string
	for _, s := range effects.SessionSteps(d, text) {
		one := ""
		if s.Keeps {
			one += "k"
		}
		if s.Quiet {
			one += "q"
		}
		for _, r := range s.Reads {
			one += fmt.Sprintf(" %s %s", r.Text, strings.Join(r.Of, "."))
			if r.Column != "" {
				one += "/" + r.Column
			}
			if r.Unknown {
				one += "?"
			}
		}
		all = append(all, strings.TrimSpace(one))
	}
	return strings.Join(all, "; ")
}

func TestSessionSteps(t *testing.T) {
	for _, tt := range []struct{ dialect, text, want string }{
		{"postgres", "SELECT lastval()", "k lastval()"},
		{"postgres", "SELECT pg_catalog.lastval(), now()", "k lastval()"},
		{"postgres", "SELECT app.lastval()", ""},
		{"postgres", "SELECT lastval", "k"},
		{"postgres", "SELECT 'lastval()' -- lastval()", "k"},
		{"postgres", "SELECT currval('parent_id_seq')", "k currval() parent_id_seq"},
		{"postgres", `SELECT currval('App."Parent_id_seq"'::regclass)`, "k currval() app.Parent_id_seq"},
		{"postgres", "SELECT currval($1)", "k currval() ?"},
		{"postgres", "SELECT currval('a' || 'b')", "k currval() a?"},
		{"postgres", "SELECT currval(pg_get_serial_sequence('parent', 'id'))", "k currval() parent/id"},
		{"postgres", "SELECT nextval('s'), lastval()", "lastval()"},
		{"postgres", "SELECT f(), lastval()", "lastval()"},
		{"postgres", "SELECT lastval() FROM v", "lastval()"},
		{"postgres", "SAVEPOINT a; RELEASE a; ROLLBACK TO a; COMMIT", "k; k; k; "},
		{"postgres", "INSERT INTO parent (a) VALUES ('x'); INSERT INTO child (parent) VALUES (lastval())", "q; q lastval()"},
		{"postgres", "INSERT INTO parent (a) VALUES (nextval('s'))", ""},
		{"postgres", "INSERT INTO parent (a) VALUES ((SELECT 1))", ""},
		{"postgres", "INSERT INTO parent (a) VALUES (f())", ""},
		{"postgres", "INSERT INTO parent (a, b) VALUES (upper('x'), now()) RETURNING id", "q"},
		{"postgres", "INSERT INTO parent (a) SELECT lastval()", "lastval()"},
		{"postgres", "UPDATE t SET a = lastval()", "lastval()"},
		{"sqlserver", "INSERT INTO parent (a) VALUES (1); SELECT SCOPE_IDENTITY()", "q; k SCOPE_IDENTITY()"},
		{"sqlserver", "SELECT @@IDENTITY", "k @@IDENTITY"},
		{"sqlserver", "SELECT IDENT_CURRENT('dbo.parent')", "k IDENT_CURRENT() dbo.parent"},
		{"oracle", "INSERT INTO child (parent) VALUES (parent_seq.CURRVAL)", "q PARENT_SEQ.CURRVAL PARENT_SEQ"},
		{"mariadb", "SELECT PREVIOUS VALUE FOR s", "k PREVIOUS VALUE FOR s"},
		{"mariadb", "SELECT LASTVAL(app.s)", "k LASTVAL() app.s"},
		{"mariadb", "SELECT NEXT VALUE FOR s", ""},
		{"mariadb", "SELECT LAST_INSERT_ID()", ""},
		{"sqlite", "SELECT last_insert_rowid()", ""},
	} {
		d, err := dialect.ByName(tt.dialect)
		if err != nil {
			t.Fatal(err)
		}
		got := sessionSteps(d, tt.text)
		if got != tt.want {
			t.Errorf("%s: %q: %q, want %q", tt.dialect, tt.text, got, tt.want)
		}
		if effects.EndsSession(d, tt.text) && strings.Contains(strings.ToLower(got), "val") {
			t.Errorf("%s: %q is said to read nothing", tt.dialect, tt.text)
		}
	}
}
