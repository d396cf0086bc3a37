package checker

import "github.com/keyfill/keyfill/judge/tree"

// tryTable reads USING with VALUES as a table, if the alias after it names its columns;
// otherwise it reads nothing and returns nil.
func (r *reader) tryTable() *tree.Node {
	values := r.peek(1)
	if values.open != '(' || len(values.group) == 0 || !values.group[0].is("VALUES") {
		return nil
	}
	at := 2
	if r.peek(at).is("AS") {
		at++
	}
	alias, list := r.peek(at), r.peek(at+1)
	if !alias.isName() || list.open != '(' {
		return nil
	}
	t := &tree.Table{Alias: alias.name()}
	for _, part := range split(values.group[1:], ",") {
		if len(part) != 1 || part[0].open != '(' {
			return nil
		}
		var row []*tree.Node
		for _, v := range split(part[0].group, ",") {
			row = append(row, &tree.Node{Label: "value", Kids: r.lexis.nodes(v)})
		}
		t.Rows = append(t.Rows, row)
	}
	for _, part := range split(list.group, ",") {
		name, ok := column(part)
		if !ok {
			return nil
		}
		t.Names = append(t.Names, name)
		t.Columns = append(t.Columns, &tree.Node{Label: "column", Kids: r.lexis.nodes(part)})
	}
	n := &tree.Node{Label: "USING", Table: t}
	for i := range at + 1 {
		if i != 1 {
			n.Kids = append(n.Kids, r.peek(i).leaf())
		}
	}
	r.at += at + 2
	return n
}
