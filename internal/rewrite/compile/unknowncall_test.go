package compile_test

import (
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/wordplaces"
)

// TestUnknownCall: a function that nobody knows may make a table, or change where its
// session looks for one. No text of the golden cases leaves either once a literal of it has
// become a call of such a function, wherever in the text an expression may stand. The law
// about settings is in internal/session; no function ends a transaction.
func TestUnknownCall(t *testing.T) {
	tables, places := map[string]int{}, map[string]int{}
	for _, a := range archives(t) {
		for _, c := range a.cases {
			for _, d := range c.dialects {
				leavesTables := d.Numbering.Writing && effects.LeavesTables(d, c.in)
				leavesPlace := d.Family == dialect.FamilyPostgreSQL && effects.LeavesPlace(d, c.in)
				if !leavesTables && !leavesPlace {
					continue
				}
				for _, text := range wordplaces.UnknownCalls(d, c.in) {
					if leavesTables {
						tables[d.Name]++
						if effects.LeavesTables(d, text) {
							t.Errorf("%s %s, %s: leaves the tables: %s", filepath.Base(a.path), c.name, d.Name, text)
						}
					}
					if leavesPlace {
						places[d.Name]++
						if effects.LeavesPlace(d, text) {
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

// TestUnknownStatement: a statement that nobody knows may do anything to the transaction,
// to the tables, and to where the session looks for them. No text of the golden cases
// leaves any of these once one of its statements begins with a word that nobody knows.
func TestUnknownStatement(t *testing.T) {
	texts := map[string]int{}
	for _, a := range archives(t) {
		for _, c := range a.cases {
			for _, d := range c.dialects {
				if effects.TransactionOf(d, c.in) != effects.TxUnchanged {
					continue
				}
				for _, text := range wordplaces.UnknownStatements(d, c.in) {
					texts[d.Name]++
					failed := func(what string) {
						t.Errorf("%s %s, %s: %s: %s", filepath.Base(a.path), c.name, d.Name, what, text)
					}
					if tx := effects.TransactionOf(d, text); tx != effects.TxUnknown {
						failed("the transaction is " + tx.String())
					}
					if words.Concerns(d, text)&words.ConcernsTransaction == 0 {
						failed("nobody asks what becomes of the transaction")
					}
					if effects.OneTransaction(d, text) {
						failed("one transaction")
					}
					if effects.LeavesTables(d, text) {
						failed("leaves the tables")
					}
					if effects.LeavesPlace(d, text) {
						failed("leaves the place")
					}
				}
			}
		}
	}
	for _, d := range dialect.All() {
		if texts[d.Name] < 150 {
			t.Errorf("%s: only %d texts", d.Name, texts[d.Name])
		}
	}
}
