package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// variable is a variable of the package with all that is written to it.
type variable struct {
	v      *types.Var
	writes []*piece // in the order of the source
	lost   bool     // it is changed in a way that is not followed
	put    bool     // its texts were put together where it is used

	file *embeddedFile // the file that it embeds, or nil

	asked, isFollowed bool // the answer of followed
}

// piece is one write to a variable.
type piece struct {
	of    *variable
	at    token.Pos
	list  ast.Node      // the statement list that it stands in; nil for the package's
	expr  ast.Expr      // nil where the value is not an expression alone
	call  *ast.CallExpr // the call that returns the value, if it is one of several results
	adds  bool          // it is added to the variable's present text
	reset bool          // it empties a builder
	how   *ast.CallExpr // the call that writes to a builder
}

// assignedOnce reports whether the variable has the value of its declaration.
func (v *variable) assignedOnce() bool { return len(v.writes) == 1 && !v.lost }

// followed reports whether the texts of the variable are known where it is used: its
// assignments stand in the list of its declaration, and the rest is added.
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

// grows reports whether something is added to the variable, so that a text of it may go on.
func (v *variable) grows(f *finder) bool {
	return slices.ContainsFunc(v.writes, func(p *piece) bool { return p.adds || p.addsByName(f) })
}

// addsByName reports whether a piece is the variable's own value and more, as in q = q + x.
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

// send notes that each text that the variable may have is executed.
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

// reading reads the writes to variables.
type reading struct {
	f     *finder
	stack []ast.Node
}

// readVariables notes the writes of a file to variables.
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
		r.loseAll(n.Params) // a caller gives them their values
	case *ast.ReturnStmt:
		if len(n.Results) == 0 {
			r.loseAll(r.results()) // they are used without their names
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

// list returns the statement list that the node to visit stands in.
func (r *reading) list() ast.Node {
	for _, n := range slices.Backward(r.stack) {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			return n
		}
	}
	return nil
}

// parent returns the n-th node around the one to visit, from 1, or nil.
func (r *reading) parent(n int) ast.Node {
	if n > len(r.stack) {
		return nil
	}
	return r.stack[len(r.stack)-n]
}

// declare notes a variable of a var declaration.
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

// assign notes one side of an assignment.
func (r *reading) assign(s *ast.AssignStmt, to ast.Expr, i int) {
	id, ok := ast.Unparen(to).(*ast.Ident)
	if !ok {
		// x[i] = v changes x, and so does x.f = v unless x is a pointer.
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

// variable returns the variable that an identifier defines or names, or nil.
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

// lose notes that an expression's variable is changed in a way that is not followed.
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

// loseAll loses the variables of parameters or results.
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

// results returns the results of the function that the node to visit stands in.
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
