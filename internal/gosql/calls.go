package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// executing are the names of functions and methods that execute or prepare a text which is
// their argument, in database/sql, sqlx, pgx, gorm, bun, xorm, and in interfaces that wrap
// them. A name whose value is false counts only if the function takes any number of
// arguments after the text, since other libraries use that name for other purposes.
var executing = map[string]bool{
	"Exec": true, "ExecContext": true, "MustExec": true, "MustExecContext": true,
	"NamedExec": true, "NamedExecContext": true,
	"Query": true, "QueryContext": true, "QueryRow": true, "QueryRowContext": true,
	"Queryx": true, "QueryxContext": true, "QueryRowx": true, "QueryRowxContext": true,
	"NamedQuery": true, "NamedQueryContext": true, "NamedQueryRow": true,
	"Prepare": true, "PrepareContext": true, "Preparex": true, "PreparexContext": true,
	"PrepareNamed": true, "PrepareNamedContext": true,
	"Get": false, "GetContext": false, "Select": false, "SelectContext": false,
	"Raw": false, "NewRaw": false, "SQL": false, "Queue": false,
}

// textArgument returns the index of the argument of a call that the call executes or
// prepares; -1 if there is no such argument.
func (f *finder) textArgument(call *ast.CallExpr) int {
	name, signature := f.calledAs(call)
	anyway, ok := executing[name]
	if !ok || signature == nil {
		return -1
	}
	params := signature.Params()
	found := -1
	for i := range params.Len() {
		p := params.At(i)
		if !isStringType(p.Type()) {
			continue
		}
		// If a call has two strings, the one that is called sql, query or stmt is the text,
		// and the other is the name of the prepared statement.
		if found < 0 || slices.Contains([]string{"sql", "query", "stmt"}, p.Name()) {
			found = i
		}
	}
	if found < 0 && signature.Variadic() && f.isXorm(call) {
		found = 0 // the text is in sqlOrArgs ...any
	}
	if found < 0 || found >= len(call.Args) || !anyway && !takesArguments(signature) {
		return -1
	}
	return found
}

// calledAs returns the name and the signature of the called function, method, or field
// that holds a function.
func (f *finder) calledAs(call *ast.CallExpr) (string, *types.Signature) {
	name := ""
	switch x := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	tv, ok := f.info.Types[call.Fun]
	if !ok || tv.Type == nil || tv.IsType() {
		return "", nil
	}
	signature, _ := tv.Type.Underlying().(*types.Signature)
	return name, signature
}

// takesArguments reports whether a function takes any number of values after the text.
func takesArguments(s *types.Signature) bool {
	if !s.Variadic() {
		return false
	}
	list, ok := s.Params().At(s.Params().Len() - 1).Type().(*types.Slice)
	if !ok {
		return false
	}
	element, ok := list.Elem().Underlying().(*types.Interface)
	return ok && element.Empty()
}

func (f *finder) isXorm(call *ast.CallExpr) bool {
	fn := f.callee(call)
	return fn != nil && fn.Pkg() != nil && strings.HasPrefix(fn.Pkg().Path(), "xorm.io/xorm")
}

// visitCall notes how a call uses texts, before its arguments are visited.
func (f *finder) visitCall(call *ast.CallExpr) {
	if i := f.textArgument(call); i >= 0 && f.isString(call.Args[i]) {
		f.visitText(call, call.Args[i])
		return
	}
	name, _ := f.calledAs(call)
	switch name {
	case "WriteString", "append":
		for _, e := range call.Args {
			f.added[e] = true
		}
	case "Fprint", "Fprintln":
		if strings.HasPrefix(f.function(call), "fmt.") {
			for _, e := range call.Args {
				f.added[e] = true
			}
		}
	case "LastInsertId":
		f.visitLastID(call)
	default:
		f.visitBuilder(name, call)
	}
}

// visitFormat notes the text that fmt.Fprintf writes, and reports whether the call is one
// of fmt.Fprintf.
func (f *finder) visitFormat(call *ast.CallExpr) bool {
	if len(call.Args) < 2 || f.function(call) != "fmt.Fprintf" {
		return false
	}
	f.walk(call.Args[0])
	g := folding{f: f}
	format := call.Args[1]
	f.added[format] = true
	parts := g.format(format, call.Args[2:], call.Ellipsis.IsValid())
	if anyKnown(parts) {
		for _, e := range call.Args[1:] {
			g.markParts(e)
		}
		f.note(format, Text{Expr: format, Parts: parts})
	}
	g.walkUnknown()
	return true
}

// visitText notes that a call executes or prepares a text.
func (f *finder) visitText(call *ast.CallExpr, arg ast.Expr) {
	f.sent[arg] = true
	g := folding{f: f, inside: true}
	if anyKnown(g.expr(arg)) {
		return
	}
	if v, ok := f.object(arg).(*types.Var); ok && f.vars[v] != nil && f.isOneOfTexts(f.vars[v]) {
		return // each text of the variable is found where it is assigned
	}
	f.unknown = append(f.unknown, Call{call, arg})
}

// isOneOfTexts reports whether a variable has one of several texts, and something is known
// of each of them.
func (f *finder) isOneOfTexts(v *variable) bool {
	known := 0
	for _, p := range v.writes {
		if p.expr == nil {
			continue
		}
		g := folding{f: f, inside: true}
		if !anyKnown(g.expr(p.expr)) {
			return false
		}
		known++
	}
	return known > 0 && !v.lost
}

// visitLastID notes a call of LastInsertId, if the text of its statement is known.
func (f *finder) visitLastID(call *ast.CallExpr) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || len(call.Args) > 0 {
		return
	}
	made := f.madeBy(sel.X, call.Pos())
	if made == nil {
		return
	}
	arg := f.executed(made)
	if arg == nil {
		return
	}
	g := folding{f: f, inside: true}
	if parts := g.expr(arg); anyKnown(parts) {
		f.lastIDs = append(f.lastIDs, LastID{call, Text{Expr: arg, Parts: parts, Sent: true}})
	}
}

// madeBy returns the call that gave an expression its value: the expression itself, or the
// last call before the position at that was assigned to the variable; nil if there is none.
func (f *finder) madeBy(e ast.Expr, at token.Pos) *ast.CallExpr {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok {
		return call
	}
	v, ok := f.object(e).(*types.Var)
	if !ok || f.vars[v] == nil {
		return nil
	}
	var last *ast.CallExpr
	for _, p := range f.vars[v].writes {
		if p.at >= at && last != nil {
			break
		}
		last = p.call
		if p.expr != nil {
			last, _ = ast.Unparen(p.expr).(*ast.CallExpr)
		}
	}
	return last
}

// executed returns the text that a call executes, directly or as a prepared statement; nil
// if that is not known.
func (f *finder) executed(call *ast.CallExpr) ast.Expr {
	if i := f.textArgument(call); i >= 0 && f.isString(call.Args[i]) {
		return call.Args[i]
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(sel.Sel.Name, "Exec") && !strings.HasPrefix(sel.Sel.Name, "MustExec") {
		return nil
	}
	prepared := f.madeBy(sel.X, call.Pos())
	if prepared == nil || prepared == call {
		return nil
	}
	if i := f.textArgument(prepared); i >= 0 && f.isString(prepared.Args[i]) {
		return prepared.Args[i]
	}
	return nil
}
