// Package knots measures how a package hangs together: which of its types, each taken with
// its methods, use one another in a circle, and which of its files do. What is in a circle
// can only be understood together. It also counts the places that ask which engine they are for.
package knots

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
	"os/exec"
	"path/filepath"
)

// Knot holds the measurements of one package, without its tests.
type Knot struct {
	Path  string // the path by which it is imported
	Files int
	Lines int // of its files

	Circle      int // lines of the largest set of declarations that use one another in a circle; a type and its methods are one
	CircleFiles int // files of the largest set of files that use one another in a circle; 1 if there is none
}

// Measure measures the packages that patterns name, as "go list" in the folder reads them.
// It measures only packages of the folder's own module, and builds their imports.
func Measure(folder string, patterns ...string) ([]Knot, error) {
	listed, err := list(folder, patterns)
	if err != nil {
		return nil, err
	}
	exports := exportsOf(listed)
	var knots []Knot
	for _, p := range listed {
		if !p.isOwn() {
			continue
		}
		k, err := measure(p, exports)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		knots = append(knots, k)
	}
	return knots, nil
}

// listed is a package as "go list" prints it.
type listed struct {
	ImportPath, Dir, Export string
	DepOnly                 bool
	GoFiles                 []string
	ImportMap               map[string]string
	Module                  *struct{ Main bool }
}

// isOwn reports whether a package that the patterns name is one of the folder's own module.
func (p listed) isOwn() bool {
	return !p.DepOnly && p.Module != nil && p.Module.Main && len(p.GoFiles) > 0
}

// exportsOf returns the files with the export data of packages.
func exportsOf(all []listed) map[string]string {
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	return exports
}

func list(folder string, patterns []string) ([]listed, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,DepOnly,GoFiles,ImportMap,Module", "--"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &failed)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// measure measures one package, given the files with the export data of all packages.
func measure(p listed, exports map[string]string) (Knot, error) {
	k := Knot{Path: p.ImportPath, Files: len(p.GoFiles)}
	set := token.NewFileSet()
	files, info, err := check(p, exports, set)
	if err != nil {
		return k, err
	}
	for _, file := range files {
		k.Lines += set.File(file.FileStart).LineCount()
	}
	units, byFile := usesOf(set, files, info)
	for _, circle := range circles(units.uses) {
		lines := 0
		for _, unit := range circle {
			lines += units.lines[unit]
		}
		if len(circle) > 1 {
			k.Circle = max(k.Circle, lines)
		}
	}
	for _, circle := range circles(byFile) {
		k.CircleFiles = max(k.CircleFiles, len(circle))
	}
	return k, nil
}

// check reads the files of a package and finds the types in them.
func check(p listed, exports map[string]string, set *token.FileSet) (files []*ast.File, info *types.Info, err error) {
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file)
	}
	info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	open := func(path string) (io.ReadCloser, error) {
		if to, ok := p.ImportMap[path]; ok {
			path = to
		}
		return os.Open(exports[path])
	}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", open)}
	_, err = config.Check(p.ImportPath, set, files, info)
	return files, info, err
}

// graph holds, for each node, the nodes that it uses.
type graph map[any]map[any]bool

func (g graph) add(from, to any) {
	if g[from] == nil {
		g[from] = map[any]bool{}
	}
	if to != nil && from != to {
		g[from][to] = true
		g.add(to, nil)
	}
}

// units are the declarations of a package; a type and its methods are one.
type units struct {
	uses  graph
	lines map[any]int
}

// usesOf returns which declarations use which others, and which files use which others.
func usesOf(set *token.FileSet, files []*ast.File, info *types.Info) (units, graph) {
	u := units{graph{}, map[any]int{}}
	byFile := graph{}
	unitOf := map[types.Object]any{} // including fields, and methods in interfaces
	fileOf := map[types.Object]string{}
	type part struct {
		unit any
		file string
		node ast.Node
	}
	var parts []part
	for _, file := range files {
		name := set.File(file.Pos()).Name()
		byFile.add(name, nil)
		for _, d := range file.Decls {
			for _, p := range partsOf(d, info) {
				parts = append(parts, part{p.unit, name, p.node})
				u.uses.add(p.unit, nil)
				u.lines[p.unit] += set.Position(p.node.End()).Line - set.Position(p.node.Pos()).Line + 1
				for _, o := range p.defines {
					unitOf[o], fileOf[o] = p.unit, name
				}
			}
		}
	}
	for _, p := range parts {
		ast.Inspect(p.node, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := info.Uses[id]
			switch of := o.(type) {
			case *types.Func:
				o = of.Origin()
			case *types.Var:
				o = of.Origin()
			}
			if unit, ok := unitOf[o]; ok {
				u.uses.add(p.unit, unit)
				byFile.add(p.file, fileOf[o])
			}
			return true
		})
	}
	return u, byFile
}

// declared is a part of a declaration, the unit that it belongs to, and what it defines.
type declared struct {
	unit    any
	node    ast.Node
	defines []types.Object
}

// partsOf returns the parts of a declaration: a function, a method, a type, or a line of
// names in a const or var.
func partsOf(d ast.Decl, info *types.Info) []declared {
	switch d := d.(type) {
	case *ast.FuncDecl:
		o := info.Defs[d.Name]
		unit := any(d) // for init and _, which have no object of their own
		if f, ok := o.(*types.Func); ok {
			unit = o
			if receiver := f.Signature().Recv(); receiver != nil {
				unit = namedOf(receiver.Type())
			}
		}
		return []declared{{unit, d, []types.Object{o}}}
	case *ast.GenDecl:
		var parts []declared
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				p := declared{any(info.Defs[s.Name]), s, nil}
				ast.Inspect(s, func(n ast.Node) bool { // the type, its fields and its methods
					if id, ok := n.(*ast.Ident); ok && info.Defs[id] != nil {
						p.defines = append(p.defines, info.Defs[id])
					}
					return true
				})
				parts = append(parts, p)
			case *ast.ValueSpec:
				p := declared{any(s), s, nil}
				for _, id := range s.Names {
					p.defines = append(p.defines, info.Defs[id])
				}
				parts = append(parts, p)
			}
		}
		return parts
	}
	return nil
}

// namedOf returns the object of a receiver's type.
func namedOf(t types.Type) types.Object {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.(*types.Named).Origin().Obj()
}

// circles returns the strongly connected components of a graph: see R. Tarjan, "Depth-first
// search and linear graph algorithms", SIAM Journal on Computing 1 (1972).
func circles(g graph) [][]any {
	index, low, onStack := map[any]int{}, map[any]int{}, map[any]bool{}
	var stack []any
	var found [][]any
	var visit func(n any)
	visit = func(n any) {
		index[n] = len(index) + 1
		low[n] = index[n]
		stack, onStack[n] = append(stack, n), true
		for m := range g[n] {
			if index[m] == 0 {
				visit(m)
				low[n] = min(low[n], low[m])
			} else if onStack[m] {
				low[n] = min(low[n], index[m])
			}
		}
		if low[n] != index[n] {
			return
		}
		for at := len(stack) - 1; ; at-- {
			onStack[stack[at]] = false
			if stack[at] == n {
				found = append(found, append([]any(nil), stack[at:]...))
				stack = stack[:at]
				return
			}
		}
	}
	for n := range g {
		if index[n] == 0 {
			visit(n)
		}
	}
	return found
}
