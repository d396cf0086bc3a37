package parsers

import (
	"reflect"
	"strconv"

	"github.com/pingcap/tidb/pkg/parser"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // registers the types of values that the parser needs

	"github.com/keyfill/keyfill/judge/tree"
)

// MySQL reads a text with TiDB's parser. The error is the parser's: a syntax error, or a
// part of the grammar of MySQL 8 or MariaDB that TiDB does not know. A panic of the parser
// is an error.
func MySQL(query string) (t *tree.Text, err error) {
	defer func() { recovered(recover(), &t, &err) }()
	statements, _, err := parser.New().ParseSQL(query)
	if err != nil {
		return nil, err
	}
	d := &dumper{special: mysqlNode, skipped: mysqlSkipped, wraps: mysqlWraps}
	t = &tree.Text{}
	for _, s := range statements {
		t.Statements = append(t.Statements, d.node(reflect.ValueOf(s)))
	}
	return t, nil
}

var mysqlSkipped = map[string]bool{
	// IsInBraces is skipped because it changes when a query becomes a common table
	// expression. The checker compares brackets instead.
	"node": true, "projectionOffset": true, "SelectField.Offset": true, "IsInBraces": true,
	"ParamMarkerExpr.Offset": true, "ParamMarkerExpr.Order": true,
}

var mysqlWraps = map[string]tree.Wrap{
	"ExplainStmt": tree.Explain, "TraceStmt": tree.Explain,
	"ProcedureInfo": tree.Body, "CreateViewStmt": tree.Body,
	// These are TiDB's own statements. They contain other statements and do not run them.
	"CreateBindingStmt": tree.Body, "DropBindingStmt": tree.Body, "SetBindingStmt": tree.Body,
}

// The kinds of a Datum in TiDB's test_driver.
const (
	kindInt64  = 1
	kindUint64 = 2
	kindString = 5
)

// mysqlNode returns the nodes that a judge must know, such as INSERTs.
func mysqlNode(d *dumper, v reflect.Value) *tree.Node {
	switch v.Type().Name() {
	case "InsertStmt":
		return mysqlInsert(d, v)
	case "ParamMarkerExpr":
		return &tree.Node{Label: "?", Leaf: tree.Placeholder}
	case "ValueExpr":
		n := d.fields(v)
		datum := v.FieldByName("Datum")
		leaf := &tree.Node{Leaf: tree.Literal}
		switch datum.FieldByName("k").Uint() {
		case kindInt64, kindUint64:
			leaf.Label = strconv.FormatInt(datum.FieldByName("i").Int(), 10)
		case kindString:
			leaf.Label = string(datum.FieldByName("b").Bytes())
		default:
			return n
		}
		n.Kids = append(n.Kids, leaf)
		return n
	}
	return nil
}

func mysqlInsert(d *dumper, v reflect.Value) *tree.Node {
	n := d.fields(v, "Columns", "Lists", "Select")
	in := &tree.Insert{}
	n.Insert = in
	columns := v.FieldByName("Columns")
	in.Listed = columns.Len() > 0
	in.Columns = d.nodes(columns)
	for i := range columns.Len() {
		in.Names = append(in.Names, text(field(columns.Index(i), "Name"), "L"))
	}
	if source := field(v, "Select"); source.IsValid() {
		in.Form, in.Source = tree.Query, d.node(source)
		return n
	}
	if v.FieldByName("Setlist").Bool() {
		in.Form = tree.Set
	}
	lists := v.FieldByName("Lists")
	for i := range lists.Len() {
		in.Rows = append(in.Rows, d.nodes(lists.Index(i)))
	}
	return n
}
