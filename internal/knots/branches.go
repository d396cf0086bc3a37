package knots

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Branches counts, by function, the places where the code asks for which engine it runs. A
// function is named by its folder, from the root of the module on, and its own name:
// "rewrite Compile". A table of a package is named by its variable.
//
// A place is a comparison of families, or of a [dialect.Dialect]'s name with a named
// engine's; a case of a switch over a family or a name; and a call of a method such as
// IsPostgres, or of SharesFamily with a named engine. A package may have one map or array
// with families as its keys, whose values are the engines as the package needs them; in any
// further one, each key counts. Package dialect itself is left out.
func Branches(folder string, patterns ...string) (map[string]int, error) {
	listed, err := list(folder, patterns)
	if err != nil {
		return nil, err
	}
	exports := exportsOf(listed)
	counts := map[string]int{}
	for _, p := range listed {
		if !p.isOwn() || p.ImportPath == dialectPath {
			continue
		}
		files, info, err := check(p, exports, token.NewFileSet())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		b := branches{info: info, counts: map[string]int{}, tables: map[string]int{}}
		for _, file := range files {
			for _, d := range file.Decls {
				b.declared(d)
			}
		}
		if len(b.tables) > 0 { // the largest one is the package's table of engines
			delete(b.tables, slices.MaxFunc(slices.Sorted(maps.Keys(b.tables)), func(x, y string) int { return b.tables[x] - b.tables[y] }))
		}
		for _, found := range []map[string]int{b.counts, b.tables} {
			for name, n := range found {
				counts[strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, modulePath), "/")+" "+name] += n
			}
		}
	}
	return counts, nil
}

const (
	modulePath  = "github.com/keyfill/keyfill"
	dialectPath = modulePath + "/dialect"
)

// asking are the names of methods that report whether an engine is the named one.
var asking = regexp.MustCompile(`^Is(Postgres|PostgreSQL|MySQL|MariaDB|SQLite|SQLServer|Oracle)$`)

// branches counts the branches of a package.
type branches struct {
	info   *types.Info
	counts map[string]int // by function or variable
	tables map[string]int // keys of maps, by variable
}

func (b *branches) declared(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		b.read(d.Name.Name, d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok {
				b.read(value.Names[0].Name, value)
			}
		}
	}
}

// read counts the branches in the declaration of a name.
func (b *branches) read(name string, in ast.Node) {
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			isFamily := isFamily(b.info.TypeOf(n.X))
			if (n.Op == token.EQL || n.Op == token.NEQ) && (isFamily || b.asks(n.X) && b.names(n.Y) || b.asks(n.Y) && b.names(n.X)) {
				b.counts[name]++
			}
		case *ast.SwitchStmt:
			if n.Tag == nil || !b.asks(n.Tag) {
				break
			}
			for _, clause := range n.Body.List {
				b.counts[name] += len(clause.(*ast.CaseClause).List)
			}
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && (asking.MatchString(called.Sel.Name) ||
				called.Sel.Name == "SharesFamily" && (b.isNamed(called.X) || b.isNamed(n.Args[0]))) {
				b.counts[name]++
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok && isFamily(b.info.TypeOf(pair.Key)) {
					b.tables[name]++
				}
			}
		}
		return true
	})
}

// isNamed reports whether an expression names one engine: dialect.MySQL().
func (b *branches) isNamed(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	called, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f := b.info.Uses[called.Sel]
	return f != nil && f.Pkg() != nil && f.Pkg().Path() == dialectPath && len(call.Args) == 0
}

// names reports whether an expression is a constant, or a part of a named engine.
func (b *branches) names(e ast.Expr) bool {
	if b.info.Types[e].Value != nil {
		return true
	}
	part, ok := ast.Unparen(e).(*ast.SelectorExpr)
	return ok && b.isNamed(part.X)
}

// asks reports whether an expression distinguishes engines: it is a family, or the name of
// a dialect.
func (b *branches) asks(e ast.Expr) bool {
	if isFamily(b.info.TypeOf(e)) {
		return true
	}
	field, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok || field.Sel.Name != "Name" {
		return false
	}
	of := b.info.TypeOf(field.X)
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	return isOfDialect(of, "Dialect")
}

func isFamily(t types.Type) bool { return isOfDialect(t, "Family") }

// isOfDialect reports whether a type is the type with that name in package dialect.
func isOfDialect(t types.Type, name string) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == dialectPath
}
