package parsers

import (
	"context"
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/parser"

	"github.com/keyfill/keyfill/judge/tree"
)

// SQLServer reads a text with teesql, a parser after Microsoft's ScriptDom. The error is
// the parser's: a syntax error, or a part of the grammar that teesql does not know. A panic
// of teesql is an error.
func SQLServer(query string) (t *tree.Text, err error) {
	defer func() { recovered(recover(), &t, &err) }()
	script, err := parser.Parse(context.Background(), strings.NewReader(query))
	if err != nil {
		return nil, err
	}
	d := &dumper{special: sqlserverNode, skipped: sqlserverSkipped, wraps: sqlserverWraps}
	t = &tree.Text{}
	for _, b := range script.Batches {
		for _, s := range b.Statements {
			t.Statements = append(t.Statements, d.node(reflect.ValueOf(s)))
		}
	}
	return t, nil
}

var sqlserverSkipped = map[string]bool{"Fragment": true}

var sqlserverWraps = map[string]tree.Wrap{
	"MergeStatement": tree.Merge, "MergeSpecification": tree.Merge,
	"BeginEndBlockStatement": tree.Block, "BeginEndAtomicBlockStatement": tree.Block,
	"IfStatement": tree.Block, "WhileStatement": tree.Block, "TryCatchStatement": tree.Block,
}

// sqlserverNode returns the nodes that a judge must know, such as INSERTs.
func sqlserverNode(d *dumper, v reflect.Value) *tree.Node {
	switch name := v.Type().Name(); name {
	case "InsertStatement":
		n := d.node(v.FieldByName("InsertSpecification"))
		if n == nil {
			return nil
		}
		if n.Insert.Form != tree.Query {
			n.Kids = append(n.Kids, d.fields(v, "InsertSpecification"))
			return n
		}
		n.Kids = append(n.Kids, d.fields(v, "InsertSpecification", "WithCtesAndXmlNamespaces"))
		if with := field(v, "WithCtesAndXmlNamespaces"); with.IsValid() {
			n.Insert.With = d.nodes(with.FieldByName("CommonTableExpressions"))
		}
		return n
	case "InsertSpecification":
		n := d.fields(v, "Columns", "InsertSource")
		n.Insert = sqlserverInsert(d, v.FieldByName("Columns"), v.FieldByName("InsertSource"))
		n.Insert.NoTable = sqlserverNoTable(field(v, "Target"))
		return n
	case "MergeSpecification":
		n := d.fields(v)
		if sqlserverNoTable(field(v, "Target")) {
			n.Walk(func(n *tree.Node) {
				if n.Insert != nil && n.Label == "InsertMergeAction" {
					n.Insert.NoTable = true
				}
			})
		}
		return n
	case "InsertMergeAction":
		n := d.fields(v, "Columns", "Source")
		n.Insert = sqlserverInsert(d, v.FieldByName("Columns"), v.FieldByName("Source"))
		return n
	case "InlineDerivedTable":
		return sqlserverTable(d, v)
	case "VariableReference":
		return &tree.Node{Label: v.FieldByName("Name").String(), Leaf: tree.Placeholder}
	case "StringLiteral", "IntegerLiteral":
		n := d.fields(v)
		n.Kids = append(n.Kids, &tree.Node{Label: strings.Trim(v.FieldByName("Value").String(), "'"), Leaf: tree.Literal})
		return n
	default:
		if isRoutine(name) {
			n := d.fields(v)
			n.Wrap = tree.Body
			return n
		}
	}
	return nil
}

// sqlserverNoTable reports whether the target of an INSERT is a variable, a function or a
// temporary table (#name), to which no pattern of a policy applies.
func sqlserverNoTable(target reflect.Value) bool {
	if !target.IsValid() {
		return false
	}
	return target.Type().Name() != "NamedTableReference" ||
		strings.HasPrefix(text(field(field(target, "SchemaObject"), "BaseIdentifier"), "Value"), "#")
}

// isRoutine reports whether a type is a statement with a body.
func isRoutine(name string) bool {
	if !strings.HasPrefix(name, "Create") && !strings.HasPrefix(name, "Alter") {
		return false
	}
	for _, s := range []string{"ProcedureStatement", "FunctionStatement", "TriggerStatement"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

func sqlserverInsert(d *dumper, columns, source reflect.Value) *tree.Insert {
	in := &tree.Insert{Form: tree.Query, Listed: columns.Len() > 0, Columns: d.nodes(columns)}
	for i := range columns.Len() {
		in.Names = append(in.Names, sqlserverName(columns.Index(i)))
	}
	source = inner(source)
	if !source.IsValid() {
		return in
	}
	if source.Type().Name() != "ValuesInsertSource" {
		in.Source = d.node(source)
		in.Exec = source.Type().Name() == "ExecuteInsertSource"
		if query := field(source, "Select"); query.IsValid() {
			in.Source = d.node(query)
		}
		return in
	}
	in.Form = tree.Values
	if source.FieldByName("IsDefaultValues").Bool() {
		in.Form = tree.Default
	}
	rows := source.FieldByName("RowValues")
	for i := range rows.Len() {
		in.Rows = append(in.Rows, d.nodes(field(rows.Index(i), "ColumnValues")))
	}
	return in
}

// sqlserverName returns the last part of a column's name.
func sqlserverName(column reflect.Value) string {
	parts := field(field(column, "MultiPartIdentifier"), "Identifiers")
	if !parts.IsValid() || parts.Len() == 0 {
		return ""
	}
	return strings.ToLower(text(parts.Index(parts.Len()-1), "Value"))
}

// sqlserverTable reads VALUES as a table.
func sqlserverTable(d *dumper, v reflect.Value) *tree.Node {
	columns := v.FieldByName("Columns")
	if columns.Len() == 0 {
		return nil
	}
	n := d.fields(v, "RowValues", "Columns")
	n.Table = &tree.Table{Alias: strings.ToLower(text(field(v, "Alias"), "Value")), Columns: d.nodes(columns)}
	for i := range columns.Len() {
		n.Table.Names = append(n.Table.Names, strings.ToLower(text(columns.Index(i), "Value")))
	}
	rows := v.FieldByName("RowValues")
	for i := range rows.Len() {
		n.Table.Rows = append(n.Table.Rows, d.nodes(field(rows.Index(i), "ColumnValues")))
	}
	return n
}
