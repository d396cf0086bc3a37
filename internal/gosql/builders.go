package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// isBuilder reports whether a type is a strings.Builder or a bytes.Buffer, or a pointer
// to one.
func isBuilder(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	switch named.Obj().Pkg().Path() + "." + named.Obj().Name() {
	case "strings.Builder", "bytes.Buffer":
		return true
	}
	return false
}

// builderUse notes the effect of one use of a builder. After a use that is neither a call
// of one of its methods nor of Fprintf, other code has the builder, and its text is not
// known.
func (r *reading) builderUse(id *ast.Ident, v *types.Var) {
	if known := r.variable(id); known == nil {
		return
	}
	if sel, ok := r.parent(1).(*ast.SelectorExpr); ok && sel.X == id {
		call, ok := r.parent(2).(*ast.CallExpr)
		if !ok || call.Fun != sel {
			r.lose(id)
			return
		}
		r.builderMethod(id, sel.Sel.Name, call)
		return
	}
	if call := r.fprint(id); call != nil {
		r.write(id, &piece{at: call.Pos(), adds: true, how: call})
		for _, arg := range call.Args[1:] {
			r.f.pieces[arg] = &piece{of: r.variable(id), adds: true}
		}
		return
	}
	if s, ok := r.parent(1).(*ast.AssignStmt); ok && s.Tok == token.ASSIGN && len(s.Lhs) == 1 && s.Lhs[0] == ast.Expr(id) {
		return // an assignment to the builder is noted elsewhere
	}
	r.lose(id)
}

// builderMethod notes the call of a builder's method.
func (r *reading) builderMethod(id *ast.Ident, method string, call *ast.CallExpr) {
	switch method {
	case "WriteString", "WriteByte", "WriteRune", "Write":
		if len(call.Args) == 1 {
			r.write(id, &piece{at: call.Pos(), adds: true, how: call})
			r.f.pieces[call.Args[0]] = &piece{of: r.variable(id), adds: true}
		}
	case "Reset":
		r.write(id, &piece{at: call.Pos(), reset: true})
	case "String", "Len", "Cap", "Grow", "Available":
	default:
		r.lose(id)
	}
}

// fprint returns the call of fmt.Fprintf or a similar function that writes to the builder
// which the identifier names; nil if there is no such call.
func (r *reading) fprint(id *ast.Ident) *ast.CallExpr {
	target, around := ast.Expr(id), 1
	if u, ok := r.parent(1).(*ast.UnaryExpr); ok && u.Op == token.AND {
		target, around = u, 2
	}
	call, ok := r.parent(around).(*ast.CallExpr)
	if !ok || len(call.Args) < 2 || call.Args[0] != target || !strings.HasPrefix(r.f.function(call), "fmt.Fprint") {
		return nil
	}
	return call
}

// isFprintTarget reports whether the expression, of the form &b, is a builder to which a
// call of fmt.Fprintf or a similar function writes.
func (r *reading) isFprintTarget(u *ast.UnaryExpr) bool {
	call, ok := r.parent(1).(*ast.CallExpr)
	if !ok || len(call.Args) < 2 || call.Args[0] != ast.Expr(u) || !strings.HasPrefix(r.f.function(call), "fmt.Fprint") {
		return false
	}
	tv, ok := r.f.info.Types[u.X]
	return ok && isBuilder(tv.Type)
}

// written returns the text that a call writes to a builder.
func (g *folding) written(call *ast.CallExpr) []Part {
	switch name := g.f.function(call); name {
	case "fmt.Fprintf":
		return g.format(call.Args[1], call.Args[2:], call.Ellipsis.IsValid())
	case "fmt.Fprint", "fmt.Fprintln":
		parts := []Part{}
		for _, arg := range call.Args[1:] {
			if !g.f.isString(arg) || len(call.Args) > 2 {
				return []Part{g.notKnown(call)}
			}
			parts = add(parts, g.expr(arg)...)
		}
		if name == "fmt.Fprintln" {
			parts = add(parts, Part{SQL: "\n"})
		}
		return parts
	}
	arg := call.Args[0]
	if g.f.isString(arg) {
		return g.expr(arg)
	}
	if s, ok := g.f.character(arg); ok {
		return knownPart(s)
	}
	if conversion, ok := ast.Unparen(arg).(*ast.CallExpr); ok && len(conversion.Args) == 1 && g.f.isString(conversion.Args[0]) {
		if tv := g.f.info.Types[conversion.Fun]; tv.IsType() {
			return g.expr(conversion.Args[0]) // a conversion such as []byte("…")
		}
	}
	return []Part{g.notKnown(arg)}
}
