package rowcount

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// fromEnds are the words that end the FROM clause of a query.
var fromEnds = scan.NewWordSet("where group having window order limit offset fetch for lock into procedure rows union except intersect minus")

// OperandsQuery returns a query, without a row, whose columns show the types of the columns
// in the exact arithmetic of an INSERT's selects.Doubts, in their order. It is empty if the
// FROM clause alone does not define the columns.
func OperandsQuery(pl *plans.Plan, insert int) string {
	q := pl.Inserts[insert].Query
	var columns []string
	for _, d := range q.Doubts {
		columns = append(columns, d.Operands...)
	}
	if len(columns) == 0 || !q.Parts.Outer.Empty() || !q.Parts.Near.Empty() || q.Parts.Inner.End > q.Parts.Inner.Start || q.SetRow {
		return ""
	}
	e := reader.At(pl.Dialect, pl.Changes.Query[:q.Parts.Main.End], q.Parts.Main.Start)
	if !e.IsWord("select") {
		return ""
	}
	from := 0
	for depth := 0; e.Token.Kind != scan.End && !(depth == 0 && from > 0 && e.IsIn(fromEnds)); e.Advance() {
		switch {
		case e.IsPunct('('):
			depth++
		case e.IsPunct(')'):
			depth--
		case from > 0 && e.Token.Kind == scan.Placeholder:
			return ""
		case depth == 0 && from == 0 && e.IsWord("from"):
			from = e.Token.Start
		}
	}
	if from == 0 {
		return ""
	}
	return "SELECT " + strings.Join(columns, ", ") + " " + pl.Changes.Query[from:e.PrevEnd] + " LIMIT 0"
}
