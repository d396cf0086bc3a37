package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/judge/tree"
)

// Numbered returns an error unless an INSERT whose rows come from a query, as the checker
// read it, gives each column the value that the caller's query gave it, and the key a
// number: the caller's query has to be a common table expression that names all its
// columns, and the INSERT has to select these columns in their order, with one more
// expression at the key's place.
//
//	WITH … kf (c1, c2) AS (the caller's query) … SELECT c1, c2, expression FROM …
//
// The expressions of its ORDER BY may follow its columns, with names of their own. A value
// that stands alone in the caller's select list may be selected itself. In PostgreSQL,
// where the names may be too few, all columns may be selected by a star.
func Numbered(dialect string, n tree.Numbered, q *Query) error {
	loose := dialect == "postgres" // in PostgreSQL a WITH clause may name fewer columns than its query has
	nodes := append(slices.Clone(n.Out.With), n.Out.Source.Kids...)
	// The search goes backwards, since the caller's own WITH clause, which comes first, may
	// define an equal query.
	at := len(nodes) - 1
	for at >= 0 && !tree.Same(nodes[at], n.In.Source) && !tree.Widened(n.In.Source, nodes[at]) {
		at--
	}
	if at < 0 {
		return fmt.Errorf("the caller's query is no common table expression")
	}
	as := at - 1
	for as > 0 && (isWord(nodes[as], "MATERIALIZED") || isWord(nodes[as], "NOT")) {
		as--
	}
	if as < 1 || !isWord(nodes[as], "AS") {
		return fmt.Errorf("the caller's query is no definition in WITH")
	}
	var names [][]*tree.Node
	if nodes[as-1].Label == "(" {
		names = commas(nodes[as-1].Kids)
	} else if !q.Loose || !loose {
		return fmt.Errorf("the caller's query does not get names for its columns")
	}
	if !tree.Same(nodes[at], n.In.Source) {
		if len(names) <= len(n.In.Columns) {
			return fmt.Errorf("the caller's query has something more in it")
		}
		names = names[:len(n.In.Columns)] // the remaining names are the expressions by which the query is ordered
	}
	from := -1
	for i, m := range nodes {
		if isWord(m, "SELECT") && i > at {
			from = i
		}
	}
	if from < 0 {
		return fmt.Errorf("nothing is selected from the caller's query")
	}
	end := from + 1
	for end < len(nodes) && !isWord(nodes[end], "FROM") {
		end++
	}
	values := commas(nodes[from+1 : end])
	whole := as - 1 // its name
	if names != nil {
		whole--
	}
	switch {
	case loose && len(values) == 2 && len(values[0]) == 3 && tree.Same(values[0][0], nodes[whole]) && values[0][2].Label == "*":
		return nil
	case names == nil:
		return fmt.Errorf("not all columns of the caller's query are selected")
	}
	if len(values) != len(n.Out.Columns) || len(names) != len(n.In.Columns) {
		return fmt.Errorf("%d names, %d values, %d columns", len(names), len(values), len(n.Out.Columns))
	}
	for i, v := range slices.Delete(values, n.At, n.At+1) {
		lone := q.Lone[i]
		if !slices.EqualFunc(v, names[i], tree.Same) && (lone == "" || len(v) != 1 || v[0].Label != lone) {
			return fmt.Errorf("column %d does not get its value", i+1)
		}
	}
	return nil
}

func isWord(n *tree.Node, word string) bool { return strings.EqualFold(n.Label, word) }

// commas cuts nodes at commas.
func commas(nodes []*tree.Node) [][]*tree.Node {
	parts := [][]*tree.Node{nil}
	for _, n := range nodes {
		if n.Label == "," {
			parts = append(parts, nil)
			continue
		}
		last := &parts[len(parts)-1]
		*last = append(*last, n)
	}
	return parts
}
