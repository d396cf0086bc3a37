//go:build cgo

package parsers

import (
	"reflect"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"github.com/keyfill/keyfill/judge/tree"
)

// HasPostgreSQL reports whether [PostgreSQL] can read a query. It can if cgo is available,
// since its parser is in C.
const HasPostgreSQL = true

// PostgreSQL reads a text with PostgreSQL's own parser, of the major version
// that pg_query_go carries. The error is the parser's: a syntax error.
func PostgreSQL(query string) (*tree.Text, error) {
	result, err := pgquery.Parse(query)
	if err != nil {
		return nil, err
	}
	d := &dumper{special: postgresNode, skipped: postgresSkipped, wraps: postgresWraps}
	t := &tree.Text{}
	for _, s := range result.Stmts {
		t.Statements = append(t.Statements, d.node(reflect.ValueOf(s.Stmt)))
	}
	return t, nil
}

var postgresSkipped = map[string]bool{
	"MessageState": true, "sizeCache": true, "unknownFields": true,
	"Location": true, "StmtLocation": true, "StmtLen": true, "ArgLocation": true, "NameLocation": true,
	"PayloadLocation": true, "ConninfoLocation": true,
}

var postgresWraps = map[string]tree.Wrap{
	"ExplainStmt": tree.Explain, "PrepareStmt": tree.Prepare, "MergeStmt": tree.Merge,
	"RuleStmt": tree.Body, "CreateFunctionStmt": tree.Body, "ViewStmt": tree.Body,
}

// postgresNode returns the nodes that a judge must know, such as INSERTs.
func postgresNode(d *dumper, v reflect.Value) *tree.Node {
	switch name := v.Type().Name(); {
	case name == "Node" || strings.HasPrefix(name, "Node_"):
		if v.Field(v.NumField() - 1).IsZero() {
			return nil
		}
		return d.node(v.Field(v.NumField() - 1))
	case name == "InsertStmt":
		return postgresInsert(d, v)
	case name == "MergeWhenClause" && enumName(v, "CommandType") == "CMD_INSERT":
		n := d.fields(v, "TargetList", "Values")
		n.Insert = &tree.Insert{Form: tree.Default}
		postgresColumns(d, v.FieldByName("TargetList"), n.Insert)
		if v.FieldByName("Values").Len() > 0 {
			n.Insert.Form = tree.Values
			n.Insert.Rows = [][]*tree.Node{d.nodes(v.FieldByName("Values"))}
		}
		return n
	case name == "RangeSubselect":
		return postgresTable(d, v)
	case name == "ParamRef":
		return &tree.Node{
			Label: "$" + strconv.FormatInt(v.FieldByName("Number").Int(), 10), Leaf: tree.Placeholder,
			Ordinal: int(v.FieldByName("Number").Int()),
		}
	case name == "A_Const":
		return postgresConstant(d, v)
	}
	return nil
}

// enumName returns the name of an enumeration's value.
func enumName(v reflect.Value, name string) string {
	if s, ok := v.FieldByName(name).Interface().(interface{ String() string }); ok {
		return s.String()
	}
	return ""
}

func postgresConstant(d *dumper, v reflect.Value) *tree.Node {
	n := d.fields(v)
	val := field(v, "Val")
	switch {
	case val.Kind() != reflect.Struct:
	case val.Type().Name() == "A_Const_Sval":
		n.Kids = append(n.Kids, &tree.Node{Label: text(field(val, "Sval"), "Sval"), Leaf: tree.Literal})
	case val.Type().Name() == "A_Const_Ival":
		i := field(val, "Ival").FieldByName("Ival").Int()
		n.Kids = append(n.Kids, &tree.Node{Label: strconv.FormatInt(i, 10), Leaf: tree.Literal})
	case val.Type().Name() == "A_Const_Fval": // an integer that needs more than 32 bits
		n.Kids = append(n.Kids, &tree.Node{Label: text(field(val, "Fval"), "Fval"), Leaf: tree.Literal})
	}
	return n
}

func postgresColumns(d *dumper, list reflect.Value, in *tree.Insert) {
	in.Listed = list.Len() > 0
	in.Columns = d.nodes(list)
	for i := range list.Len() {
		target := list.Index(i)
		for inner(target).Type().Name() != "ResTarget" {
			target = inner(target).Field(inner(target).NumField() - 1)
		}
		in.Names = append(in.Names, strings.ToLower(text(target, "Name")))
	}
}

func postgresInsert(d *dumper, v reflect.Value) *tree.Node {
	n := d.fields(v, "Cols", "SelectStmt")
	in := &tree.Insert{Form: tree.Default}
	n.Insert = in
	postgresColumns(d, v.FieldByName("Cols"), in)
	source := field(v, "SelectStmt")
	if !source.IsValid() {
		return n
	}
	sel := field(field(source, "Node"), "SelectStmt")
	rest := d.fields(sel, "ValuesLists")
	lists := sel.FieldByName("ValuesLists")
	// The statement is plain VALUES if only LimitOption and Op are set besides, which
	// always are.
	if lists.Len() == 0 || len(rest.Kids) > 2 {
		in.Form, in.Source = tree.Query, d.node(sel)
		return n
	}
	in.Form = tree.Values
	for i := range lists.Len() {
		items := field(field(lists.Index(i), "Node"), "List").FieldByName("Items")
		in.Rows = append(in.Rows, d.nodes(items))
	}
	return n
}

// postgresTable reads VALUES as a table; nil for a query.
func postgresTable(d *dumper, v reflect.Value) *tree.Node {
	alias := field(v, "Alias")
	sel := field(field(field(v, "Subquery"), "Node"), "SelectStmt")
	if !alias.IsValid() || !sel.IsValid() || alias.FieldByName("Colnames").Len() == 0 {
		return nil
	}
	lists := sel.FieldByName("ValuesLists")
	// The statement is plain VALUES if only LimitOption and Op are set besides, which
	// always are.
	if lists.Len() == 0 || len(d.fields(sel, "ValuesLists").Kids) > 2 {
		return nil
	}
	n := d.fields(v, "Subquery", "Alias")
	names := alias.FieldByName("Colnames")
	n.Table = &tree.Table{Alias: strings.ToLower(text(alias, "Aliasname")), Columns: d.nodes(names)}
	for i := range names.Len() {
		n.Table.Names = append(n.Table.Names, strings.ToLower(text(field(field(names.Index(i), "Node"), "String_"), "Sval")))
	}
	for i := range lists.Len() {
		items := field(field(lists.Index(i), "Node"), "List").FieldByName("Items")
		n.Table.Rows = append(n.Table.Rows, d.nodes(items))
	}
	return n
}
