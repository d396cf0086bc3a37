package gosql

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// folding computes the text of one expression, as far as it is known.
type folding struct {
	f       *finder
	unknown []ast.Expr            // the parts that are not known, which are examined separately
	env     map[*types.Var][]Part // the texts so far of the variables that are being folded
	inside  bool                  // whether the expression is examined elsewhere, so that its unknown parts are not noted

	embedded string // the path of the embedded file whose whole text the expression is; empty for any other text
}

// expr returns the text of an expression of type string, as known and unknown parts.
func (g *folding) expr(e ast.Expr) []Part {
	if s, ok := g.f.constant(e); ok {
		return knownPart(s)
	}
	switch x := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		if x.Op == token.ADD {
			left := g.expr(x.X)
			return add(left, g.expr(x.Y)...)
		}
	case *ast.Ident:
		if v, ok := g.f.info.Uses[x].(*types.Var); ok {
			if parts, ok := g.variable(v, x.Pos()); ok {
				return parts
			}
		}
	case *ast.CallExpr:
		if parts, ok := g.call(x); ok {
			return parts
		}
	}
	return []Part{g.notKnown(e)}
}

// notKnown notes an expression whose text is not known, and returns a part for it.
func (g *folding) notKnown(e ast.Expr) Part {
	if !g.inside {
		g.unknown = append(g.unknown, e)
	}
	return unknownPart(e)
}

// elsewhere calls do for expressions that are not inside the folded expression, so that
// their unknown parts are not noted.
func (g *folding) elsewhere(do func() []Part) []Part {
	was := g.inside
	g.inside = true
	parts := do()
	g.inside = was
	return parts
}

// variable returns the text that a variable has at a position. It reports false if the text
// is not known.
func (g *folding) variable(v *types.Var, at token.Pos) ([]Part, bool) {
	if parts, ok := g.env[v]; ok {
		return parts, parts != nil
	}
	known := g.f.vars[v]
	if known == nil || !isStringType(v.Type()) {
		return nil, false
	}
	if known.assignedOnce() {
		return g.once(known.writes[0])
	}
	return g.straight(known, at)
}

// once returns the text that a variable gets in its declaration, which is its only
// assignment.
func (g *folding) once(p *piece) ([]Part, bool) {
	switch {
	case p.call != nil:
		return nil, false
	case p.of.file != nil:
		return knownPart(p.of.file.text), true
	case p.expr == nil:
		return knownPart(""), true
	}
	g.setEnv(p.of.v, nil)
	defer delete(g.env, p.of.v)
	parts := g.elsewhere(func() []Part { return g.expr(p.expr) })
	return parts, anyKnown(parts) || allKnown(parts)
}

func (g *folding) setEnv(v *types.Var, parts []Part) {
	if g.env == nil {
		g.env = map[*types.Var][]Part{}
	}
	g.env[v] = parts
}

// straight returns the text of a variable at a position, from the pieces that were assigned
// and added before.
func (g *folding) straight(known *variable, at token.Pos) ([]Part, bool) {
	if !known.followed(g.f) {
		return nil, false
	}
	v, list := known.v, known.writes[0].list
	defer delete(g.env, v)
	var parts []Part
	for i, p := range known.writes {
		switch {
		case p.at >= at && p.list != list:
			return nil, false // in a loop, the later assignment may run before the use
		case p.at >= at:
			continue
		case i > 0 && p.list != list:
			parts = add(parts, p.unknown())
			continue
		}
		g.setEnv(v, parts)
		more, ok := g.piece(p)
		if !ok {
			return nil, false
		}
		if p.adds {
			more = add(parts, more...)
		}
		parts = more
	}
	known.put = known.put || parts != nil
	return parts, parts != nil
}

// unknown returns a part for a piece that is added only sometimes, or any number of times.
func (p *piece) unknown() Part {
	switch {
	case p.expr != nil:
		return unknownPart(p.expr)
	case p.how != nil:
		return unknownPart(p.how)
	}
	return Part{Unknown: p.of.v.Name()}
}

// piece returns the text of one write to a variable.
func (g *folding) piece(p *piece) ([]Part, bool) {
	switch {
	case p.how != nil:
		return g.elsewhere(func() []Part { return g.written(p.how) }), true
	case p.reset:
		return knownPart(""), true
	case p.call != nil:
		return nil, false
	case isBuilder(p.of.v.Type()):
		return g.newBuilder(p)
	case p.expr == nil:
		return knownPart(""), true
	}
	return g.elsewhere(func() []Part { return g.expr(p.expr) }), true
}

// newBuilder returns the text that a strings.Builder has where it is declared: the empty text.
// It reports false for a declaration after which it may have another text.
func (g *folding) newBuilder(p *piece) ([]Part, bool) {
	switch e := ast.Unparen(p.expr).(type) {
	case nil:
		_, pointer := p.of.v.Type().Underlying().(*types.Pointer)
		return knownPart(""), !pointer
	case *ast.CompositeLit:
		return knownPart(""), len(e.Elts) == 0
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.CompositeLit)
		return knownPart(""), ok && e.Op == token.AND && len(lit.Elts) == 0
	case *ast.CallExpr:
		id, ok := e.Fun.(*ast.Ident)
		return knownPart(""), ok && g.f.info.Uses[id] == types.Universe.Lookup("new")
	}
	return nil, false
}

// constant returns the value of a constant string.
func (f *finder) constant(e ast.Expr) (string, bool) {
	tv, ok := f.info.Types[e]
	if !ok || tv.Value == nil || tv.Value.Kind() != constant.String || !isStringType(tv.Type) {
		return "", false
	}
	return constant.StringVal(tv.Value), true
}

// character returns the value of a constant byte or rune as a text.
func (f *finder) character(e ast.Expr) (string, bool) {
	tv, ok := f.info.Types[e]
	if !ok || tv.Value == nil || tv.Value.Kind() != constant.Int {
		return "", false
	}
	n, ok := constant.Int64Val(tv.Value)
	if !ok || n < 0 || n > 0x10ffff {
		return "", false
	}
	return string(rune(n)), true
}

// markParts notes that the constants and variables in an expression are parts of a text.
func (g *folding) markParts(e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && slices.Contains(g.unknown, x) {
			return false
		}
		if id, ok := n.(*ast.Ident); ok {
			switch o := g.f.info.Uses[id].(type) {
			case *types.Const, *types.Var:
				g.f.useOf(o).asPart = true
			}
		}
		return true
	})
}

// walkUnknown examines the parts that are not known, for texts inside them.
func (g *folding) walkUnknown() {
	for _, e := range g.unknown {
		g.f.walk(e)
	}
}

// function returns the full name of the called function, as in fmt.Sprintf or
// (*strings.Builder).String; empty if the function has no name.
func (f *finder) function(call *ast.CallExpr) string {
	if fn := f.callee(call); fn != nil {
		return fn.FullName()
	}
	return ""
}

// callee returns the called function or method; nil if it has no name.
func (f *finder) callee(call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var id *ast.Ident
	switch x := fun.(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil
	}
	fn, _ := f.info.Uses[id].(*types.Func)
	return fn
}

// call returns the text that a call returns. It reports false if the text is not known.
func (g *folding) call(call *ast.CallExpr) ([]Part, bool) {
	if tv := g.f.info.Types[call.Fun]; tv.IsType() {
		if len(call.Args) == 1 && g.f.isString(call.Args[0]) {
			return g.expr(call.Args[0]), true // a conversion
		}
		return g.embeddedBytes(call)
	}
	name := g.f.function(call)
	switch name {
	case "fmt.Sprintf":
		if len(call.Args) > 0 {
			return g.format(call.Args[0], call.Args[1:], call.Ellipsis.IsValid()), true
		}
	case "strings.Join":
		return g.join(call)
	case "strings.Repeat":
		return g.repeat(call)
	case "(*strings.Builder).String", "(*bytes.Buffer).String":
		return g.built(call)
	}
	// In a source with mistakes, a call may have too few arguments.
	if apply := stringFunctions[name]; apply != nil && len(call.Args) == g.f.callee(call).Signature().Params().Len() {
		return g.apply(call, apply)
	}
	return nil, false
}

// built returns the text that the String method of a builder returns.
func (g *folding) built(call *ast.CallExpr) ([]Part, bool) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil, false
	}
	id, ok := ast.Unparen(sel.X).(*ast.Ident)
	if !ok {
		return nil, false
	}
	v, ok := g.f.info.Uses[id].(*types.Var)
	if !ok || g.f.vars[v] == nil || !isBuilder(v.Type()) {
		return nil, false
	}
	return g.straight(g.f.vars[v], call.Pos())
}

// stringFunctions are the functions of package strings whose result is known if all
// arguments are.
var stringFunctions = map[string]func(s []string) string{
	"strings.TrimSpace":  func(s []string) string { return strings.TrimSpace(s[0]) },
	"strings.TrimPrefix": func(s []string) string { return strings.TrimPrefix(s[0], s[1]) },
	"strings.TrimSuffix": func(s []string) string { return strings.TrimSuffix(s[0], s[1]) },
	"strings.Trim":       func(s []string) string { return strings.Trim(s[0], s[1]) },
	"strings.TrimLeft":   func(s []string) string { return strings.TrimLeft(s[0], s[1]) },
	"strings.TrimRight":  func(s []string) string { return strings.TrimRight(s[0], s[1]) },
	"strings.ToUpper":    func(s []string) string { return strings.ToUpper(s[0]) },
	"strings.ToLower":    func(s []string) string { return strings.ToLower(s[0]) },
	"strings.ReplaceAll": func(s []string) string { return strings.ReplaceAll(s[0], s[1], s[2]) },
	"strings.Clone":      func(s []string) string { return s[0] },
}
