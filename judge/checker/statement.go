package checker

import (
	"strings"

	"github.com/keyfill/keyfill/judge/tree"
)

// Read reads a text. It returns an error if a string, a name, a comment or a bracket does
// not end. Anything else that it does not understand is read as tokens.
func Read(dialect, query string) (*tree.Text, error) {
	l, items, comments, err := itemsOf(dialect, query)
	if err != nil {
		return nil, err
	}
	t := &tree.Text{Comments: comments}
	for _, s := range l.statements(items) {
		if t.Load == "" {
			t.Load = l.load(s)
		}
		t.Statements = append(t.Statements, l.statement(s)...)
	}
	return t, nil
}

// itemsOf cuts a text into items.
func itemsOf(dialect, query string) (l *lexis, items []item, comments []string, err error) {
	if l, err = lexisOf(dialect); err != nil {
		return nil, nil, nil, err
	}
	tokens, err := l.tokens(query)
	if err != nil {
		return nil, nil, nil, err
	}
	items, comments, err = l.items(tokens)
	return l, items, comments, err
}

// Split returns the texts of the statements between semicolons, without these; a
// body counts as one. It fails as [Read] does.
func Split(dialect, query string) ([]string, error) {
	l, items, _, err := itemsOf(dialect, query)
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, s := range l.statements(items) {
		end := len(query)
		for _, i := range items {
			if i.isMark(";") && i.start > s[len(s)-1].start {
				end = i.start
				break
			}
		}
		parts = append(parts, query[s[0].start:end])
	}
	return parts, nil
}

// statements cuts items at semicolons, and leaves out empty statements. After the head of a
// routine or a block everything is its body.
func (l *lexis) statements(items []item) [][]item {
	var statements [][]item
	for from := 0; from < len(items); {
		end := from
		switch {
		case l.isBlock(items[from:]):
			end = len(items)
		case wrapOf(items[from:]) == tree.Body && noun(items[from:]) != "VIEW":
			end += l.bodyLength(items[from:])
		}
		for end < len(items) && !items[end].isMark(";") {
			end++
		}
		if end > from {
			statements = append(statements, items[from:end])
		}
		from = end + 1
	}
	return statements
}

// bodyLength returns how many items belong to the routine that items begin with, without
// the semicolon after it. For SQL Server and Oracle it returns all items: bodies there need
// no BEGIN, or end in another way.
func (l *lexis) bodyLength(items []item) int {
	if l.noSemicolons || l.strings.quote {
		return len(items)
	}
	depth, begun := 0, false
	for at, i := range items {
		next := item{}
		if at+1 < len(items) {
			next = items[at+1]
		}
		switch {
		case i.isMark(";") && depth == 0:
			return at
		case i.is("BEGIN"):
			depth, begun = depth+1, true
		case i.is("CASE") && !items[at-1].is("END") && begun:
			depth++
		case i.is("END") && !next.is("IF", "LOOP", "WHILE", "REPEAT", "FOR") && begun:
			depth--
		}
	}
	return len(items)
}

// isBlock reports whether a PL/SQL block begins.
func (l *lexis) isBlock(items []item) bool {
	return l.strings.quote && (items[0].is("DECLARE", "BEGIN") || items[0].isMark("<"))
}

// wrapOf returns the kind of a statement that contains INSERTs, by its first words.
func wrapOf(items []item) tree.Wrap {
	switch {
	case items[0].is("EXPLAIN", "DESC", "DESCRIBE", "ANALYZE"):
		return tree.Explain
	case items[0].is("PREPARE"):
		return tree.Prepare
	case noun(items) != "":
		return tree.Body
	}
	return ""
}

// noun returns the kind of object that a CREATE or ALTER defines if it contains other
// statements, empty for other statements.
func noun(items []item) string {
	if !items[0].is("CREATE", "ALTER") {
		return ""
	}
	const head = 16 // the word for the kind of object has to be among the first 16 items
	for at, i := range items[:min(head, len(items))] {
		switch {
		case i.is("TABLE", "INDEX", "USER", "DATABASE", "SCHEMA", "SEQUENCE"):
			return ""
		case i.is("PROCEDURE", "PROC", "FUNCTION", "TRIGGER", "PACKAGE", "EVENT", "RULE", "TYPE", "LIBRARY", "VIEW") &&
			!items[at-1].is("PARTITION", "EVENT"):
			return strings.ToUpper(i.text)
		}
	}
	return ""
}

// load returns how a statement that is no INSERT brings rows into a table.
func (l *lexis) load(items []item) tree.Load {
	has := func(words ...string) int {
		for at, i := range items {
			if i.is(words...) {
				return at
			}
		}
		return -1
	}
	second := item{}
	if len(items) > 1 {
		second = items[1]
	}
	switch first := items[0]; {
	case first.is("LOAD") && second.is("DATA", "XML"), first.is("BULK") && second.is("INSERT"),
		first.is("INSERT") && second.is("BULK"), first.is("INSERTBULK"):
		return tree.Bulk
	case first.is("COPY") && has("FROM") > 0 && l.strings.dollar:
		return tree.Bulk
	case first.is("PREPARE") && has("FROM", "AS") > 0:
		for _, i := range items {
			if upper := strings.ToUpper(i.text); i.kind == text && (strings.Contains(upper, "INSERT") || strings.Contains(upper, "REPLACE")) {
				return tree.PrepareText
			}
		}
	}
	if at := has("OUTPUT"); at > 0 {
		for _, i := range items[at:] {
			if i.is("INTO") {
				return tree.OutputInto
			}
		}
	}
	return ""
}

// statement reads one statement. If a dialect needs nothing between statements, an INSERT
// and the text around it are several statements.
func (l *lexis) statement(items []item) []*tree.Node {
	wrap := wrapOf(items)
	if l.isBlock(items) {
		wrap = tree.Block
	}
	nodes := l.nodes(items)
	if wrap != "" {
		return []*tree.Node{{Label: "statement", Kids: nodes, Wrap: wrap}}
	}
	var statements []*tree.Node
	from := 0
	for at := range nodes {
		if nodes[at].Insert == nil || nodes[at].Wrap != "" {
			continue
		}
		with := strings.EqualFold(nodes[from].Label, "WITH")
		if at > from && !with {
			if !l.noSemicolons {
				break // the INSERT belongs to another statement
			}
			wrap := blockOf(nodes[from:at])
			if wrap != "" {
				return append(statements, &tree.Node{Label: "statement", Kids: nodes[from:], Wrap: wrap})
			}
			statements = append(statements, &tree.Node{Label: "statement", Kids: nodes[from:at]})
			from = at
		}
		end := len(nodes)
		if l.noSemicolons {
			end = at + 1
			if end+1 < len(nodes) && strings.EqualFold(nodes[end].Label, "OPTION") {
				end += 2
			}
		}
		statements = append(statements, hoisted(nodes[from:end], at-from))
		from = end
		if from == len(nodes) {
			return statements
		}
	}
	if from < len(nodes) {
		statements = append(statements, &tree.Node{Label: "statement", Kids: nodes[from:]})
	}
	return statements
}

// blockOf returns Block when the nodes open a block of SQL Server.
func blockOf(nodes []*tree.Node) tree.Wrap {
	for at, n := range nodes {
		switch strings.ToUpper(n.Label) {
		case "IF", "WHILE", "ELSE":
			return tree.Block
		case "BEGIN":
			if at+1 == len(nodes) || !strings.HasPrefix(strings.ToUpper(nodes[at+1].Label), "TRAN") {
				return tree.Block
			}
		}
	}
	return ""
}

// hoisted makes one statement of nodes. The INSERT among them becomes the statement's own.
func hoisted(nodes []*tree.Node, at int) *tree.Node {
	s := &tree.Node{Label: "statement", Insert: nodes[at].Insert}
	if s.Insert.Form == tree.Query && at > 0 {
		s.Insert.With = nodes[:at]
		nodes, at = nodes[at:], 0
	}
	for i, n := range nodes {
		if i == at {
			n = &tree.Node{Label: n.Label, Kids: n.Kids}
		}
		s.Kids = append(s.Kids, n)
	}
	return s
}
