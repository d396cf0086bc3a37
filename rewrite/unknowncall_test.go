package rewrite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// TestUnknownCall: a function that nobody knows may make a table, or change where its
// session looks for one. No text of the golden cases leaves either once a literal of it has
// become a call of such a function, wherever in the text an expression may stand.
func TestUnknownCall(t *testing.T) {
	const call = "kfunknown(1)"
	tables, places := map[string]int{}, map[string]int{}
	for _, a := range archives(t) {
		for _, c := range a.cases {
			for _, d := range c.dialects {
				if strings.HasPrefix(c.in, "CREATE") {
					continue // what a DEFAULT calls is called by the INSERTs to come
				}
				leavesTables := d.Numbering.Writing && rewrite.LeavesTables(d, c.in)
				leavesPlace := d.Family == dialect.FamilyPostgreSQL && rewrite.LeavesPlace(d, c.in)
				if !leavesTables && !leavesPlace {
					continue
				}
				for _, literal := range literals(d, c.in) {
					if name := c.in[literal.Start]; name == '"' {
						continue // where it stands it may be a name
					}
					text := c.in[:literal.Start] + call + c.in[literal.End:]
					if leavesTables {
						tables[d.Name]++
						if rewrite.LeavesTables(d, text) {
							t.Errorf("%s %s, %s: leaves the tables: %s", filepath.Base(a.path), c.name, d.Name, text)
						}
					}
					if leavesPlace {
						places[d.Name]++
						if rewrite.LeavesPlace(d, text) {
							t.Errorf("%s %s, %s: leaves the place: %s", filepath.Base(a.path), c.name, d.Name, text)
						}
					}
				}
			}
		}
	}
	for _, d := range dialect.All() {
		if d.Numbering.Writing && !d.Grammar.NoSemicolon && !d.Grammar.PLSQL && tables[d.Name] < 300 || d.Family == dialect.FamilyPostgreSQL && places[d.Name] < 300 {
			t.Errorf("%s: only %d texts about tables and %d about places", d.Name, tables[d.Name], places[d.Name])
		}
	}
}

// literals returns the literals of a text.
func literals(d *dialect.Dialect, text string) (found []rewrite.Token) {
	for _, tok := range rewrite.Tokens(d, text) {
		if tok.Kind == rewrite.KindString || tok.Kind == rewrite.KindNumber {
			found = append(found, tok)
		}
	}
	return found
}
