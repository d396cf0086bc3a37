package compile_test

import (
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/wordplaces"
)

// TestUnknownClauseWord: an INSERT with a word that keyfill does not know where a clause
// begins or goes on is not filled, in any golden case: a later version of the engine may
// give it a meaning.
func TestUnknownClauseWord(t *testing.T) {
	texts, dialects := 0, map[string]bool{}
	for _, a := range archives(t) {
		for _, c := range a.cases {
			for _, d := range c.dialects {
				lookup := a.lookup(t, d)
				p := compile.Query(d, lookup, c.in)
				if !wordplaces.IsInsert(d, c.in) || p.Action != plans.Fill || p.Statements != 1 || len(p.Inserts) != 1 {
					continue
				}
				for _, offset := range wordplaces.OfClauses(d, c.in) {
					text := wordplaces.With(c.in, offset, "kfnew")
					texts++
					dialects[d.Name] = true
					if got := compile.Query(d, lookup, text); got.Action == plans.Fill {
						t.Errorf("%s %s, %s: filled: %s", filepath.Base(a.path), c.name, d.Name, text)
					}
				}
			}
		}
	}
	if texts < 1000 || len(dialects) != len(dialect.All()) {
		t.Errorf("only %d texts in %d dialects", texts, len(dialects))
	}
}

// TestMisplacedWord: a word or a bracket where none belongs is the engine's to refuse. Compile
// reads each such text to its end, and gives it back whole where it does not fill it.
func TestMisplacedWord(t *testing.T) {
	for _, a := range archives(t) {
		for _, c := range a.cases {
			for _, d := range c.dialects {
				lookup := a.lookup(t, d)
				for _, tok := range compile.Tokens(d, c.in) {
					if tok.Kind == compile.KindSpace {
						continue
					}
					for _, word := range []string{"order", "from", "union select", "(", ")", "case"} {
						text := c.in[:tok.Start] + " " + word + " " + c.in[tok.Start:]
						if p := compile.Query(d, lookup, text); p.Action == plans.Pass && bind.Text(p, false) != text {
							t.Errorf("%s %s, %s: %q is passed as %q", filepath.Base(a.path), c.name, d.Name, text, bind.Text(p, false))
						}
					}
				}
			}
		}
	}
}

// TestNamesNoTable: INSERT in a statement about rights, policies or triggers is passed, also
// if the policy file has a table of each name.
func TestNamesNoTable(t *testing.T) {
	every := func(_, name string) *plans.Target {
		return &plans.Target{Table: name, Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing}}}
	}
	for _, d := range dialect.All() {
		for _, text := range []string{
			"CREATE SECURITY POLICY p ADD BLOCK PREDICATE f(a) ON t AFTER INSERT WITH (STATE = ON)",
			"CREATE SECURITY POLICY p ADD BLOCK PREDICATE f(a) ON t AFTER INSERT, ADD FILTER PREDICATE g(a) ON t WITH (STATE = ON)",
			"ALTER SECURITY POLICY p ALTER BLOCK PREDICATE f(a) ON t AFTER INSERT",
			"CREATE POLICY p ON t FOR INSERT WITH CHECK (true)",
			"CREATE POLICY p ON t FOR INSERT TO x WITH CHECK (a = 1)",
			"GRANT INSERT ON t TO x", "DENY INSERT, UPDATE ON t TO x", "REVOKE GRANT OPTION FOR INSERT ON t FROM x", "GRANT INSERT (a) ON t TO x",
			"ALTER DEFAULT PRIVILEGES GRANT INSERT ON TABLES TO x",
			"CREATE TRIGGER r ON t FOR INSERT NOT FOR REPLICATION AS SELECT 1", "CREATE TRIGGER r AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
			"CREATE RULE r AS ON INSERT TO t DO INSTEAD NOTHING",
			"AUDIT INSERT ON t BY ACCESS", "CREATE DATABASE AUDIT SPECIFICATION s FOR SERVER AUDIT a ADD (SELECT, INSERT ON t BY public) WITH (STATE = ON)",
			"SELECT insert FROM t", "SET IDENTITY_INSERT t ON",
		} {
			if p := compile.Query(d, every, text); p.Action != plans.Pass {
				t.Errorf("%s: %v: %s", d.Name, p.Action, text)
			}
		}
	}
}
