package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// key addresses a node of the code such that it is found again when the function moves to
// another file, or other parts of the function change.
type key struct {
	Package  string `json:"package"`  // the folder of the package below the root, "." for the root
	Function string `json:"function"` // the function with its receiver, such as (*Store).Reserve
	Kind     string `json:"kind"`     // the kind of the change, such as "negate"
	Node     string `json:"node"`     // the text of the node, with each run of white space as a single space
	Ordinal  int    `json:"ordinal"`  // the number of the node among those whose other fields are equal, from 0
}

// candidate is a node with a change that makes a fault of it.
type candidate struct {
	key
	file      string // with directory
	statement int    // the ordinal, in the file, of the statement that the node belongs to
	line, col int    // the place of that statement, counted from 1
	start     int    // the offsets of the node in the file
	end       int
	before    bool                   // whether the change is inserted before the node, instead of replacing it
	change    func(fault int) string // returns the text that replaces the node
	id        string                 // the ID of the candidate's entry in the results
}

// finder finds the candidates of one file.
type finder struct {
	fset      *token.FileSet
	info      *types.Info
	pkg       *types.Package
	text      []byte
	file      *ast.File
	name      string
	folder    string // the folder of the package, below the root
	function  string
	results   *ast.FieldList // the results of the innermost function around the present node
	statement ast.Stmt
	ordinals  map[ast.Stmt]int
	found     []candidate
	counts    map[key]int // how many nodes of the package have the same key
}

// findCandidates returns the candidates of a tree's product code, in the order of the
// packages, files and lines.
func findCandidates(t *tree) ([]candidate, error) {
	var found []candidate
	exports, err := t.exports()
	if err != nil {
		return nil, err
	}
	for _, p := range t.product {
		fset := token.NewFileSet()
		var files []*ast.File
		var texts [][]byte
		for _, name := range p.Files {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files, texts = append(files, file), append(texts, text)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
		imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
			if exports[path] == "" {
				return nil, fmt.Errorf("%s is not compiled", path)
			}
			return os.Open(exports[path])
		})
		config := types.Config{Importer: imports}
		checked, err := config.Check(p.Path, fset, files, info)
		if err != nil {
			return nil, err
		}
		counts := map[key]int{}
		for i, file := range files {
			f := finder{fset: fset, info: info, pkg: checked, text: texts[i], file: file, name: filepath.Join(p.Dir, p.Files[i]), folder: short(p.Path), ordinals: map[ast.Stmt]int{}, counts: counts}
			for _, d := range file.Decls {
				if function, ok := d.(*ast.FuncDecl); ok && function.Body != nil {
					f.function = functionName(function)
					f.body(function.Type.Results, function.Body)
				}
			}
			found = append(found, f.found...)
		}
	}
	return found, nil
}

// exports returns the files with the compiler's export data of each package that product
// code imports.
func (t *tree) exports() (map[string]string, error) {
	files := map[string]string{}
	done := map[string]bool{}
	for _, p := range t.product {
		if done[p.module] {
			continue
		}
		done[p.module] = true
		out, err := output(command(filepath.Join(t.root, p.module), "go", "list", "-export", "-deps", "-json=ImportPath,Export", "./..."))
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct{ ImportPath, Export string }
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			// If another module has another version of the package, the first version is
			// used: it has the same API as far as product code uses it.
			if files[p.ImportPath] == "" {
				files[p.ImportPath] = p.Export
			}
		}
	}
	return files, nil
}

// source returns the text of a node.
func (f *finder) source(n ast.Node) string {
	return string(f.text[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

// add adds a candidate whose change replaces the node.
func (f *finder) add(kind string, n ast.Node, change func(fault int) string) {
	k := key{f.folder, f.function, kind, strings.Join(strings.Fields(f.source(n)), " "), 0}
	if len(k.Node) > 120 {
		k.Node = k.Node[:120]
	}
	k.Ordinal = f.counts[k]
	base := k
	base.Ordinal = 0
	f.counts[base]++
	at := f.fset.Position(f.statement.Pos())
	f.found = append(f.found, candidate{
		key: k, file: f.name, statement: f.ordinals[f.statement], line: at.Line, col: at.Column,
		start: f.offset(n.Pos()), end: f.offset(n.End()), change: change,
	})
}

// addBefore adds a candidate whose change is a statement before the node.
func (f *finder) addBefore(kind string, s ast.Stmt, change func(fault int) string) {
	f.add(kind, s, change)
	c := &f.found[len(f.found)-1]
	c.before, c.end = true, c.start
}

// body finds the candidates of a function's body.
func (f *finder) body(results *ast.FieldList, body *ast.BlockStmt) {
	outer := f.results
	f.results = results
	for i, s := range body.List {
		if i == 0 && len(body.List) > 1 {
			f.begin(s)
			f.early(s)
		}
		f.inBlock(s)
	}
	f.results = outer
}

// early adds a candidate that makes a function return zero values at once.
func (f *finder) early(s ast.Stmt) {
	var values []string
	if f.results != nil {
		for _, field := range f.results.List {
			for range max(1, len(field.Names)) {
				values = append(values, "*new("+f.source(field.Type)+")")
			}
		}
	}
	f.addBefore("return early", s, func(fault int) string {
		return fmt.Sprintf("if keyfillinserted.Is(%d) { return %s }; ", fault, strings.Join(values, ", "))
	})
}

// begin sets the statement to which the candidates found next belong.
func (f *finder) begin(s ast.Stmt) {
	f.statement = s
	if _, ok := f.ordinals[s]; !ok {
		f.ordinals[s] = len(f.ordinals)
	}
}

// inBlock finds the candidates of a statement in a list of statements, from which it can be
// dropped.
func (f *finder) inBlock(s ast.Stmt) {
	drop := false
	switch s := s.(type) {
	case *ast.AssignStmt:
		blank := false
		if len(s.Lhs) == 1 {
			name, ok := s.Lhs[0].(*ast.Ident)
			blank = ok && name.Name == "_"
		}
		drop = s.Tok != token.DEFINE && !blank
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if ok {
			name, isName := call.Fun.(*ast.Ident)
			drop = !isName || name.Name != "panic"
		}
	case *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		drop = true
	case *ast.BranchStmt:
		drop = s.Tok == token.BREAK || s.Tok == token.CONTINUE
	case *ast.ReturnStmt:
		f.begin(s)
		f.swallow(s)
	case *ast.LabeledStmt:
		f.other(s.Stmt)
		return
	}
	if drop {
		f.begin(s)
		f.add("drop", s, func(fault int) string {
			return fmt.Sprintf("if !keyfillinserted.Is(%d) { %s }", fault, f.source(s))
		})
	}
	f.other(s)
}

// swallow adds a candidate that makes a return statement return no error.
func (f *finder) swallow(s *ast.ReturnStmt) {
	if len(s.Results) == 0 || f.results == nil || len(s.Results) != f.results.NumFields() {
		return
	}
	last := s.Results[len(s.Results)-1]
	if kind, ok := f.results.List[len(f.results.List)-1].Type.(*ast.Ident); !ok || kind.Name != "error" {
		return
	}
	if name, ok := last.(*ast.Ident); ok && name.Name == "nil" {
		return
	}
	values := make([]string, 0, len(s.Results))
	for _, v := range s.Results[:len(s.Results)-1] {
		values = append(values, f.source(v))
	}
	values = append(values, "nil")
	f.addBefore("swallow error", s, func(fault int) string {
		return fmt.Sprintf("if keyfillinserted.Is(%d) { return %s }; ", fault, strings.Join(values, ", "))
	})
}

// other finds the candidates within a statement that itself cannot be dropped.
func (f *finder) other(s ast.Stmt) {
	switch s := s.(type) {
	case nil:
	case *ast.BlockStmt:
		f.list(s.List)
	case *ast.IfStmt:
		f.other(s.Init)
		f.begin(s)
		f.condition(s.Cond)
		f.list(s.Body.List)
		f.other(s.Else)
	case *ast.ForStmt:
		f.other(s.Init)
		f.begin(s)
		if s.Cond != nil {
			f.condition(s.Cond)
		}
		f.other(s.Post)
		f.list(s.Body.List)
	case *ast.RangeStmt:
		f.begin(s)
		f.expr(s.X)
		f.list(s.Body.List)
	case *ast.SwitchStmt:
		f.other(s.Init)
		f.begin(s)
		if s.Tag != nil {
			f.expr(s.Tag)
		} else {
			for _, c := range s.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					f.condition(e)
				}
			}
		}
		for _, c := range s.Body.List {
			f.list(c.(*ast.CaseClause).Body)
		}
	case *ast.TypeSwitchStmt:
		f.other(s.Init)
		for _, c := range s.Body.List {
			f.list(c.(*ast.CaseClause).Body)
		}
	case *ast.SelectStmt:
		for _, c := range s.Body.List {
			f.list(c.(*ast.CommClause).Body)
		}
	case *ast.LabeledStmt:
		f.other(s.Stmt)
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); !ok || d.Tok != token.VAR {
			return
		}
		f.begin(s)
		f.exprs(s)
	default:
		f.begin(s)
		f.exprs(s)
	}
}

func (f *finder) list(statements []ast.Stmt) {
	for _, s := range statements {
		f.inBlock(s)
	}
}

// condition finds the candidates of an expression that decides what is executed.
func (f *finder) condition(e ast.Expr) {
	if b, ok := e.(*ast.BinaryExpr); !ok || b.Op != token.EQL && b.Op != token.NEQ { // expr adds the candidates of == and != itself
		f.negate(e)
	}
	f.expr(e)
}

func (f *finder) negate(e ast.Expr) {
	f.add("negate", e, func(fault int) string {
		return fmt.Sprintf("(keyfillinserted.Is(%d) != (%s))", fault, f.source(e))
	})
}

// swaps maps each operator to the operator that replaces it.
var swaps = map[token.Token]token.Token{
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
}

// exprs finds the candidates in the expressions of a simple statement.
func (f *finder) exprs(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			f.expr(e)
			return false
		}
		return true
	})
}

// expr finds the candidates within an expression. The statements of function literals in
// the expression count as separate statements.
func (f *finder) expr(e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			statement := f.statement
			f.body(n.Type.Results, n.Body)
			f.begin(statement)
			return false
		case *ast.ArrayType, *ast.StructType, *ast.InterfaceType, *ast.FuncType:
			return false // no value
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.BasicLit:
			f.literal(n)
		}
		if e, ok := n.(ast.Expr); ok && f.info.Types[e].Value != nil {
			_, literal := n.(*ast.BasicLit)
			return literal // change a literal only if it is a whole constant, not if it is a part of one
		}
		return true
	})
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.info.Types[n].Value != nil {
		return
	}
	if n.Op == token.EQL || n.Op == token.NEQ {
		f.negate(n)
		return
	}
	if other, ok := swaps[n.Op]; ok {
		f.add("swap "+n.Op.String()+" and "+other.String(), n, func(fault int) string {
			return fmt.Sprintf("func() bool { if keyfillinserted.Is(%d) { return %s %s %s }; return %s }()", fault, f.source(n.X), other, f.source(n.Y), f.source(n))
		})
		return
	}
	if one, ok := n.Y.(*ast.BasicLit); ok && (n.Op == token.ADD || n.Op == token.SUB) && one.Value == "1" {
		if kind := f.typeText(n); kind != "" {
			f.add("without "+n.Op.String()+"1", n, func(fault int) string {
				return fmt.Sprintf("func() %s { if keyfillinserted.Is(%d) { return %s }; return %s }()", kind, fault, f.source(n.X), f.source(n))
			})
		}
	}
}

func (f *finder) literal(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	kind := f.typeText(n)
	basic, ok := f.info.Types[n].Type.Underlying().(*types.Basic)
	if kind == "" || !ok || basic.Info()&(types.IsInteger|types.IsFloat) == 0 {
		return
	}
	f.add("off by one", n, func(fault int) string {
		return fmt.Sprintf("keyfillinserted.Off(%d, %s(%s))", fault, kind, n.Value)
	})
}

// typeText returns the type of an expression as the file would name it, and an empty text
// if the file cannot.
func (f *finder) typeText(e ast.Expr) string {
	t := types.Default(f.info.Types[e].Type)
	if t == nil {
		return ""
	}
	known := true
	text := types.TypeString(t, func(p *types.Package) string {
		if p == f.pkg {
			return ""
		}
		for _, i := range f.file.Imports {
			if strings.Trim(i.Path.Value, `"`) == p.Path() && i.Name == nil {
				return p.Name()
			}
		}
		known = false
		return ""
	})
	if !known || strings.Contains(text, " ") {
		return ""
	}
	return text
}
