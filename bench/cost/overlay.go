package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
)

// counting are the functions that count and that look for a trace, by their files, with the
// bodies that they have in the second build.
var counting = map[string]map[string]string{
	"internal/fill/plain.go": {
		"plainRun.executed": `{
	if err == nil {
		affected, failed := res.RowsAffected()
		if failed != nil {
			affected = -1
		}
		if answer := r.answer(res, affected, failed); answer != nil {
			if r.facts.Columns[r.Key].Counter != nil {
				r.conn.Numbers.Note(r.Plan, r.facts)
			}
			return answer, nil
		}
	}
	x := r.execution()
	res, err = outcome.Executed(ctx, x, res, err)
	x.Release(err)
	return res, err
}`,
		"plainRun.counts": "{ return r.tableTally() }",
	},
	"internal/fill/execution/seentexts.go": {
		"Plain.Suits": "{ return !c.Altered.On && c.Attempt == nil && FactsOf(c, p.Table) != nil && (!p.Bytes || keepsBytes(c, in)) }",
	},
	"internal/fill/execution/trace.go": {
		"WatchOf": "{ return Watch{} }",
	},
}

// writeOverlay writes copies of the files below root without their counting into a folder,
// and returns the path of the file for the flag -overlay of "go build".
func writeOverlay(root, folder string) (string, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, bodies := range counting {
		path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return "", err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		without, err := withBodies(name, text, bodies)
		if err != nil {
			return "", err
		}
		copied := filepath.Join(folder, strconv.Itoa(len(overlay.Replace))+".go")
		if err := os.WriteFile(copied, without, 0o644); err != nil {
			return "", err
		}
		overlay.Replace[path] = copied
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, text, 0o644)
}

// withBodies returns the text of a file in which functions have other bodies.
func withBodies(name string, text []byte, bodies map[string]string) ([]byte, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []byte
	copied, replaced := 0, 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		body, ok := bodies[nameOf(f)]
		if !ok {
			continue
		}
		// The set has one file, so a position is the offset in the file plus 1.
		out = append(append(out, text[copied:f.Body.Pos()-1]...), body...)
		copied = int(f.Body.End()) - 1
		replaced++
	}
	if replaced != len(bodies) {
		return nil, fmt.Errorf("%s has %d of the %d functions that count: name those that count now", name, replaced, len(bodies))
	}
	return append(out, text[copied:]...), nil
}

// nameOf returns the name of a function, with the name of its receiver's type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}
