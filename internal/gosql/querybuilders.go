package gosql

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// Built is a call by which a program begins an INSERT of a query builder, such as
// squirrel.Insert("orders"). The SQL text is made only when the program runs.
type Built struct {
	Call    *ast.CallExpr
	Table   string // the name of the table; empty if it is not known
	Package string // the path of the query builder's package
}

// beginInsert are the names of functions and methods with which query builders begin an
// INSERT: squirrel, goqu, dbr, ent's sql, go-sqlbuilder, bun.
var beginInsert = []string{"Insert", "InsertInto", "InsertIgnoreInto", "NewInsert", "Replace", "ReplaceInto"}

// visitBuilder notes a call that begins an INSERT of a query builder. The function is in
// another package, and its only result has a type whose name begins with Insert or Replace.
func (f *finder) visitBuilder(name string, call *ast.CallExpr) {
	if !slices.Contains(beginInsert, name) || len(call.Args) > 1 {
		return
	}
	fn := f.callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg() == f.pkg || fn.Signature().Results().Len() != 1 {
		return
	}
	result := fn.Signature().Results().At(0).Type()
	if p, ok := result.(*types.Pointer); ok {
		result = p.Elem()
	}
	named, ok := types.Unalias(result).(*types.Named)
	if !ok || !strings.HasPrefix(named.Obj().Name(), "Insert") && !strings.HasPrefix(named.Obj().Name(), "Replace") {
		return
	}
	b := Built{Call: call, Package: fn.Pkg().Path()}
	if len(call.Args) == 1 && f.isString(call.Args[0]) {
		g := folding{f: f, inside: true}
		if table := (Text{Parts: g.expr(call.Args[0])}); table.Known() {
			b.Table = table.SQL()
		}
	}
	f.built = append(f.built, b)
}
