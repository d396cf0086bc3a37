package checker

import (
	"strings"

	"github.com/keyfill/keyfill/judge/tree"
)

// reader reads items into nodes.
type reader struct {
	*lexis
	items []item
	at    int
	multi bool // whether the reader is in Oracle's INSERT ALL, where INTO begins a branch
}

// These labels mark, among the children of an INSERT, the places of the column list and of
// the rows, which were taken out.
const (
	columnsMarker = "\x00columns"
	rowsMarker    = "\x00rows"
)

// nodes reads items in which INSERTs may stand.
func (l *lexis) nodes(items []item) []*tree.Node {
	r := reader{lexis: l, items: items}
	var nodes []*tree.Node
	for r.at < len(r.items) {
		nodes = append(nodes, r.node())
	}
	return nodes
}

// node reads the next node. A whole INSERT is one node.
func (r *reader) node() *tree.Node {
	i := r.peek(0)
	if i.is("INSERT") && !r.peek(-1).is("BULK") || i.is("REPLACE") && r.replace && !r.peek(-1).is("OR") {
		if n := r.tryInsert(); n != nil {
			return n
		}
	}
	if i.is("USING") {
		if n := r.tryTable(); n != nil {
			return n
		}
	}
	if i.is("INTO") && r.multi {
		if n := r.tryBranch(); n != nil {
			return n
		}
	}
	r.at++
	if i.open != 0 {
		return &tree.Node{Label: string(i.open), Kids: r.lexis.nodes(i.group)}
	}
	return i.leaf()
}

// peek returns the item n after the next one; or, outside of the items, an item that
// matches nothing.
func (r *reader) peek(n int) item {
	if r.at+n < 0 || r.at+n >= len(r.items) {
		return item{token: token{kind: comment}}
	}
	return r.items[r.at+n]
}

// take moves count items to the children of n.
func (r *reader) take(n *tree.Node, count int) {
	for range count {
		i := r.peek(0)
		r.at++
		if i.open != 0 {
			n.Kids = append(n.Kids, &tree.Node{Label: string(i.open), Kids: r.lexis.nodes(i.group)})
			continue
		}
		n.Kids = append(n.Kids, i.leaf())
	}
}

// tryInsert reads an INSERT from its verb to its last row. If there is none, it returns nil
// and reads nothing.
func (r *reader) tryInsert() *tree.Node {
	start := r.at
	merge := r.peek(-1).is("THEN") && (r.peek(1).open == '(' || r.peek(1).is("VALUES", "DEFAULT"))
	if r.peek(1).is("ALL", "FIRST", "WHEN") && !merge {
		r.multi = true
		return nil
	}
	n := &tree.Node{Label: "INSERT", Insert: &tree.Insert{}}
	r.take(n, 1)
	if merge {
		n.Wrap, n.Insert.NoTable = tree.Merge, r.mergesOwn()
	} else {
		r.modifiers(n)
		if !r.target(n) {
			r.at = start
			return nil
		}
	}
	if !r.body(n) {
		r.at = start
		return nil
	}
	return n
}

// tryBranch reads one branch of Oracle's multi-table INSERT, which begins with INTO.
func (r *reader) tryBranch() *tree.Node {
	start := r.at
	n := &tree.Node{Label: "INSERT", Insert: &tree.Insert{}, Wrap: tree.Multi}
	r.take(n, 1)
	if !r.target(n) {
		r.at = start
		return nil
	}
	r.list(n)
	n.Kids = append(n.Kids, &tree.Node{Label: columnsMarker}, &tree.Node{Label: rowsMarker})
	n.Insert.Form = tree.Query
	if r.peek(0).is("VALUES") && r.peek(1).open == '(' {
		n.Insert.Form = tree.Values
		r.at++
		r.rows(n)
	}
	return n
}

func (r *reader) modifiers(n *tree.Node) {
	for {
		i := r.peek(0)
		switch {
		case i.is("OR") && r.peek(1).is("ROLLBACK", "ABORT", "REPLACE", "FAIL", "IGNORE"):
			r.take(n, 2)
		case i.is("TOP") && (r.peek(1).open == '(' || r.peek(1).kind == number):
			r.take(n, 2)
			if r.peek(0).is("PERCENT") {
				r.take(n, 1)
			}
		case i.is("LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "IGNORE") && !r.peek(1).isMark("."):
			r.take(n, 1)
		case i.is("INTO"):
			r.take(n, 1)
			return
		default:
			return
		}
	}
}

// list reads the column list if there is one.
func (r *reader) list(n *tree.Node) {
	i := r.peek(0)
	if i.open != '(' {
		return
	}
	if len(i.group) == 0 {
		n.Insert.Listed = true
		r.at++
		return
	}
	var names []string
	for _, part := range split(i.group, ",") {
		name, ok := column(part)
		if !ok {
			return
		}
		names = append(names, name)
	}
	r.at++
	n.Insert.Listed, n.Insert.Names = true, names
	for _, part := range split(i.group, ",") {
		n.Insert.Columns = append(n.Insert.Columns, &tree.Node{Label: "column", Kids: r.lexis.nodes(part)})
	}
}

// column returns the name of a column, without a table before it or a part after it;
// false if there is no column.
func column(part []item) (string, bool) {
	name, ok := "", false // stays empty if there is no name, since SQLite has columns without a name
	for at, i := range part {
		switch {
		case i.isName() || i.kind == text && i.open == 0:
			if at > 0 && !part[at-1].isMark(".") || len(part) > 1 && i.is("SELECT", "WITH", "VALUES") {
				return "", false
			}
			name, ok = i.name(), true
		case i.isMark("."):
		case i.open == '[' && at > 0:
			return name, true
		default:
			return "", false
		}
	}
	return name, ok
}

// body reads the column list and the rows; it returns false if there are neither rows nor a
// query.
func (r *reader) body(n *tree.Node) bool {
	in := n.Insert
	r.list(n)
	n.Kids = append(n.Kids, &tree.Node{Label: columnsMarker})
	for r.peek(0).is("OUTPUT") {
		r.take(n, 1)
		for !r.peek(0).is("OUTPUT", "VALUES", "DEFAULT", "SELECT", "WITH", "EXEC", "EXECUTE") && r.at < len(r.items) {
			r.take(n, 1)
		}
	}
	if r.peek(0).is("OVERRIDING") && r.peek(2).is("VALUE") {
		r.take(n, 3)
	}
	n.Kids = append(n.Kids, &tree.Node{Label: rowsMarker})
	i := r.peek(0)
	switch {
	case i.is("DEFAULT") && r.peek(1).is("VALUES"):
		r.at += 2
		in.Form = tree.Default
		// A fill turns DEFAULT VALUES into VALUES (key), so keep the word VALUES.
		n.Kids = append(n.Kids, &tree.Node{Label: "VALUES"})
		return true
	case i.is("VALUES", "VALUE") && (r.peek(1).open == '(' || r.peek(1).is("ROW")):
		if r.compound() {
			break
		}
		n.Kids = append(n.Kids, &tree.Node{Label: strings.ToUpper(i.text)})
		r.at++
		r.rows(n)
		r.alias(in)
		return true
	case i.open == '(' && r.rowsInBrackets(n):
		return true
	case i.is("SET"):
		r.at++
		return r.assignments(n)
	case i.is("SELECT", "WITH", "TABLE", "FROM", "EXEC", "EXECUTE", "VALUES", "CALL"), i.open == '(':
	default:
		return false
	}
	in.Form, in.Exec = tree.Query, i.is("EXEC", "EXECUTE", "CALL")
	r.source(n)
	return true
}

// compound reports whether the rows are only a part of a query.
func (r *reader) compound() bool {
	at := r.at + 1
	for at < len(r.items) && (r.items[at].open == '(' || r.items[at].isMark(",") || r.items[at].is("ROW")) {
		at++
	}
	return at < len(r.items) && r.items[at].is("UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT", "OFFSET", "FETCH")
}

// rows reads the rows after VALUES.
func (r *reader) rows(n *tree.Node) {
	for {
		if r.peek(0).is("ROW") {
			r.take(n, 1)
		}
		group := r.peek(0).group
		r.at++
		row := []*tree.Node{}
		if len(group) > 0 {
			for _, v := range split(group, ",") {
				row = append(row, &tree.Node{Label: "value", Kids: r.lexis.nodes(v)})
			}
		}
		n.Insert.Rows = append(n.Insert.Rows, row)
		next := r.peek(1)
		if !r.peek(0).isMark(",") || next.open != '(' && !(next.is("ROW") && r.peek(2).open == '(') {
			return
		}
		r.at++
	}
}

// rowsInBrackets reads (VALUES …) with nothing else in the brackets.
func (r *reader) rowsInBrackets(n *tree.Node) bool {
	inner := reader{lexis: r.lexis, items: r.peek(0).group}
	if !inner.peek(0).is("VALUES") || inner.peek(1).open != '(' || inner.compound() {
		return false
	}
	inner.at++
	if inner.rows(n); inner.at < len(inner.items) {
		n.Insert.Rows = nil
		return false
	}
	n.Kids = append(n.Kids, &tree.Node{Label: "(VALUES)"})
	r.at++
	return true
}

// alias takes the column list out of MySQL's row alias.
func (r *reader) alias(in *tree.Insert) {
	if !r.peek(0).is("AS") || !r.peek(1).isName() || r.peek(2).open != '(' {
		return
	}
	in.Alias = []string{}
	for _, part := range split(r.peek(2).group, ",") {
		if len(part) == 1 {
			in.Alias = append(in.Alias, part[0].name())
		}
	}
	// Remove only the list; the items before and after it stay.
	r.items = append(append([]item{}, r.items[:r.at+2]...), r.items[r.at+3:]...)
}

// assignments reads the assignments after SET; it returns false if there are none.
func (r *reader) assignments(n *tree.Node) bool {
	n.Insert.Form = tree.Set
	var row []*tree.Node
	for {
		name := []item{}
		for r.peek(0).isName() || r.peek(0).isMark(".") {
			name = append(name, r.peek(0))
			r.at++
		}
		s, ok := column(name)
		if r.peek(0).isMark(":") {
			r.at++
		}
		if !ok || !r.peek(0).isMark("=") {
			return false
		}
		r.at++
		from := r.at
		for r.at < len(r.items) && !r.peek(0).isMark(",") && !r.endsValue() {
			r.at++
		}
		value := &tree.Node{Label: "value", Kids: r.lexis.nodes(r.items[from:r.at])}
		n.Insert.Columns = append(n.Insert.Columns, &tree.Node{Label: "column", Kids: r.lexis.nodes(name)})
		n.Insert.Names = append(n.Insert.Names, s)
		row = append(row, value)
		if !r.peek(0).isMark(",") {
			break
		}
		r.at++
	}
	n.Insert.Rows = [][]*tree.Node{row}
	r.alias(n.Insert)
	return true
}

// endsValue reports whether a clause begins that ends the last assignment.
func (r *reader) endsValue() bool {
	i := r.peek(0)
	return i.is("ON") && r.peek(1).is("DUPLICATE") || i.is("RETURNING") || i.is("AS") && r.peek(1).isName()
}

// upserts reports whether ON begins an upsert clause here, not a join's condition.
func (r *reader) upserts() bool {
	next := r.peek(2)
	return r.peek(1).is("DUPLICATE") && next.is("KEY") || r.peek(1).is("CONFLICT") && (next.open == '(' || next.is("DO", "ON"))
}

// source reads a query up to the first clause that belongs to the INSERT, such as ON
// CONFLICT.
func (r *reader) source(n *tree.Node) {
	from := r.at
	for r.at < len(r.items) {
		i := r.peek(0)
		if i.is("ON") && r.upserts() || i.is("RETURNING") && !r.peek(-1).isMark(".") && !r.peek(-1).is("AS") ||
			i.is("LOG") && r.peek(1).is("ERRORS") || i.is("OPTION") && r.peek(1).open == '(' {
			break
		}
		r.at++
	}
	n.Insert.Source = &tree.Node{Label: "(", Kids: r.lexis.nodes(r.items[from:r.at])}
}
