package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// variable is a variable of the package, with everything that is written to it.
type variable struct {
	v      *types.Var
	writes []*piece // in the order of the source
	lost   bool     // whether the variable is changed in a way that is not followed
	put    bool     // whether the variable's text was put together from its pieces where it is used

	file *embeddedFile // the file that the variable embeds; nil if it embeds none

	asked, isFollowed bool // the result of followed, which is computed once
}

// piece is one write to a variable.
type piece struct {
	of    *variable
	at    token.Pos
	list  ast.Node      // the statement list that the write is in; nil outside of functions
	expr  ast.Expr      // the written value; nil if it is not a single expression
	call  *ast.CallExpr // the call that returns the value, if it is one of several results
	adds  bool          // whether the value is added to the variable's present text
	reset bool          // whether the write empties a builder
	how   *ast.CallExpr // the call that writes to a builder
}

// assignedOnce reports whether the variable always has the value of its declaration.
func (v *variable) assignedOnce() bool { return len(v.writes) == 1 && !v.lost }

// followed reports whether the text of the variable is known where it is used: its
// assignments are in the statement list of its declaration, and other writes only add to
// it.
func (v *variable) followed(f *finder) bool {
	if !v.asked {
		v.asked = true
		v.isFollowed = !v.lost && v.v.Parent() != f.pkg.Scope() && len(v.writes) > 0 &&
			!slices.ContainsFunc(v.writes, func(p *piece) bool {
				return p.list != v.writes[0].list && !p.adds && !p.addsByName(f)
			})
	}
	return v.isFollowed
}

// grows reports whether something is added to the variable, so that a text assigned to it
// may be only the beginning of a longer text.
func (v *variable) grows(f *finder) bool {
	return slices.ContainsFunc(v.writes, func(p *piece) bool { return p.adds || p.addsByName(f) })
}

// addsByName reports whether a piece contains the variable's own value, as in q = q + x.
func (p *piece) addsByName(f *finder) bool {
	found := false
	if p.expr != nil {
		ast.Inspect(p.expr, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && f.info.Uses[id] == p.of.v
			return !found
		})
	}
	return found
}

// send notes that each text that the variable may have is executed or prepared.
func (v *variable) send(f *finder) {
	for _, p := range v.writes {
		if p.expr == nil {
			continue
		}
		f.sent[p.expr] = true
		if o := f.object(p.expr); o != nil {
			f.useOf(o).sent = true
		}
	}
}

// reading reads the writes to variables in a file.
type reading struct {
	f     *finder
	stack []ast.Node
}

// readVariables notes what a file writes to variables.
func (f *finder) readVariables(file *ast.File) {
	r := reading{f: f}
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			r.stack = r.stack[:len(r.stack)-1]
			return true
		}
		r.visit(n)
		r.stack = append(r.stack, n)
		return true
	})
}

func (r *reading) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.GenDecl:
		r.embeds(n)
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if o := r.f.info.Defs[name]; o != nil && isConst(o) {
				if i < len(n.Values) {
					r.f.consts[n.Values[i]] = o
				}
				continue
			}
			r.declare(name, n, i)
		}
	case *ast.FuncDecl:
		r.loseAll(n.Recv)
	case *ast.FuncType:
		r.loseAll(n.Params) // the values of parameters come from the caller
	case *ast.ReturnStmt:
		if len(n.Results) == 0 {
			r.loseAll(r.results()) // a bare return uses the results without naming them
		}
	case *ast.AssignStmt:
		for i, e := range n.Lhs {
			r.assign(n, e, i)
		}
	case *ast.RangeStmt:
		r.lose(n.Key)
		r.lose(n.Value)
	case *ast.UnaryExpr:
		if n.Op == token.AND && !r.isFprintTarget(n) {
			r.lose(n.X)
		}
	case *ast.Ident:
		if v, ok := r.f.info.Uses[n].(*types.Var); ok && isBuilder(v.Type()) {
			r.builderUse(n, v)
		}
	}
}

// list returns the statement list that contains the visited node.
func (r *reading) list() ast.Node {
	for _, n := range slices.Backward(r.stack) {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			return n
		}
	}
	return nil
}

// parent returns the n-th node around the visited node, counted from 1; nil if there are
// fewer.
func (r *reading) parent(n int) ast.Node {
	if n > len(r.stack) {
		return nil
	}
	return r.stack[len(r.stack)-n]
}

// declare notes the i-th variable of a var declaration.
func (r *reading) declare(name *ast.Ident, spec *ast.ValueSpec, i int) {
	p := &piece{at: name.Pos()}
	switch {
	case len(spec.Values) == len(spec.Names):
		p.expr = spec.Values[i]
	case len(spec.Values) == 1:
		p.call, _ = ast.Unparen(spec.Values[0]).(*ast.CallExpr)
	}
	if p.expr == nil && p.call == nil && spec.Values != nil {
		return
	}
	r.write(name, p)
}

// assign notes the i-th variable of an assignment.
func (r *reading) assign(s *ast.AssignStmt, to ast.Expr, i int) {
	id, ok := ast.Unparen(to).(*ast.Ident)
	if !ok {
		// x[i] = v changes x, and so does x.f = v, unless x is a pointer.
		r.lose(base(to))
		return
	}
	p := &piece{at: s.Pos()}
	switch {
	case s.Tok == token.ADD_ASSIGN:
		p.expr, p.adds = s.Rhs[0], true
	case s.Tok != token.ASSIGN && s.Tok != token.DEFINE:
		r.lose(id)
		return
	case len(s.Rhs) == len(s.Lhs):
		p.expr = s.Rhs[i]
	default:
		p.call, _ = ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
	}
	r.write(id, p)
}

// write adds a piece to the variable that an identifier names.
func (r *reading) write(id *ast.Ident, p *piece) {
	v := r.variable(id)
	if v == nil {
		return
	}
	p.of, p.list = v, r.list()
	v.writes = append(v.writes, p)
	if p.expr != nil {
		r.f.pieces[p.expr] = p
	}
}

// variable returns the variable that an identifier defines or names; nil if it is not a
// variable of the package.
func (r *reading) variable(id *ast.Ident) *variable {
	o := r.f.info.Defs[id]
	if o == nil {
		o = r.f.info.Uses[id]
	}
	v, ok := o.(*types.Var)
	if !ok || v.IsField() || v.Pkg() != r.f.pkg {
		return nil
	}
	if r.f.vars[v] == nil {
		r.f.vars[v] = &variable{v: v}
	}
	return r.f.vars[v]
}

// lose notes that the variable which an expression names is changed in a way that is not
// followed.
func (r *reading) lose(e ast.Expr) {
	if e == nil {
		return
	}
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		if v := r.variable(id); v != nil {
			v.lost = true
		}
	}
}

// loseAll calls lose for all parameters or results in a list.
func (r *reading) loseAll(fields *ast.FieldList) {
	if fields == nil {
		return
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			r.lose(name)
		}
	}
}

// results returns the results of the function that contains the visited node.
func (r *reading) results() *ast.FieldList {
	for _, n := range slices.Backward(r.stack) {
		switch n := n.(type) {
		case *ast.FuncLit:
			return n.Type.Results
		case *ast.FuncDecl:
			return n.Type.Results
		}
	}
	return nil
}

// base returns the x of x, x.f, x[i] and *x, and of combinations of these.
func base(e ast.Expr) ast.Expr {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return x
		}
	}
}
