package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// block is a sequence of statements that is executed as a whole, as "go tool cover" divides
// the code.
type block struct {
	Package    string // the import path of the package
	File       string // the file's name without its directory
	Function   string
	Line, Col  int // the place of the block's first byte, counted from 1
	EndLine    int
	EndCol     int
	Statements int
}

// holds reports whether a place in the block's file is in the block.
func (b *block) holds(line, col int) bool {
	return (line > b.Line || line == b.Line && col >= b.Col) && (line < b.EndLine || line == b.EndLine && col <= b.EndCol)
}

// lines reports whether the block has one of the lines.
func (b *block) lines(from, to int) bool { return b.Line <= to && from <= b.EndLine }

const coverVariable = "keyfillcover"

var (
	counted   = regexp.MustCompile(coverVariable + `\.Count\[(\d+)\] = 1;`)
	declared  = regexp.MustCompile(`(?s)\nvar ` + coverVariable + ` = struct \{.*`)
	positions = regexp.MustCompile(`(?m)^\t\t(\d+), (\d+), 0x([0-9a-f]+), // \[\d+\]$`)
	numbers   = regexp.MustCompile(`(?m)^\t\t(\d+), // \d+$`)
)

// countBlocks makes each block of the product code call inserted.Hit, and returns the
// blocks. "go tool cover" finds them.
func (t *tree) countBlocks() ([]block, error) {
	var blocks []block
	for _, p := range t.product {
		for _, name := range p.Files {
			file := filepath.Join(p.Dir, name)
			original, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			out, err := output(command(p.Dir, "go", "tool", "cover", "-mode=set", "-var="+coverVariable, name))
			if err != nil {
				return nil, err
			}
			found, err := readBlocks(out)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if len(found) == 0 {
				continue
			}
			functions, clause, err := readFunctions(original)
			if err != nil {
				return nil, err
			}
			base := len(blocks)
			for _, b := range found {
				b.Package, b.File = p.Path, name
				for _, f := range functions {
					if f.from <= b.Line && b.Line <= f.to {
						b.Function = f.name
					}
				}
				blocks = append(blocks, b)
			}
			out = declared.ReplaceAll(out, nil)
			out = counted.ReplaceAllFunc(out, func(text []byte) []byte {
				n, _ := strconv.Atoi(string(counted.FindSubmatch(text)[1])) // this never fails, since the expression matches only digits
				return fmt.Appendf(nil, "keyfillinserted.Hit(%d);", base+n)
			})
			// The import goes after the first line of the file, which is a line directive.
			at := bytes.IndexByte(out, '\n') + 1 + clause
			if err := os.WriteFile(file, apply(out, []edit{{at, at, importText}}), 0o666); err != nil {
				return nil, err
			}
		}
	}
	return blocks, t.insert(len(blocks))
}

// readBlocks reads the table that "go tool cover" writes to the end of a file.
func readBlocks(text []byte) (blocks []block, err error) {
	table := declared.Find(text)
	statements := numbers.FindAllSubmatch(table, -1)
	for i, m := range positions.FindAllSubmatch(table, -1) {
		if i >= len(statements) {
			return nil, fmt.Errorf("%d blocks have a number of statements, and more have a place", len(statements))
		}
		var n [4]int
		for j, digits := range []struct {
			text []byte
			base int
		}{{m[1], 10}, {m[2], 10}, {m[3], 16}, {statements[i][1], 10}} {
			v, err := strconv.ParseInt(string(digits.text), digits.base, 64)
			if err != nil {
				return nil, err
			}
			n[j] = int(v)
		}
		blocks = append(blocks, block{Line: n[0], EndLine: n[1], Col: n[2] & 0xffff, EndCol: n[2] >> 16, Statements: n[3]})
	}
	return blocks, nil
}

// span is the lines of a function.
type span struct {
	name     string
	from, to int
}

// readFunctions returns the functions of a file, and the offset of the end of its package
// clause.
func readFunctions(text []byte) (spans []span, clause int, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, 0, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			spans = append(spans, span{functionName(f), fset.Position(f.Pos()).Line, fset.Position(f.End()).Line})
		}
	}
	return spans, fset.Position(file.Name.End()).Offset, nil
}

// functionName returns the name of a function with its receiver, if it has one:
// (*Store).Reserve.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	star, expr := "", f.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			star, expr = "*", e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			if star != "" {
				return "(*" + e.Name + ")." + f.Name.Name
			}
			return e.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// test is a function that "go test" runs.
type test struct {
	Program string // the folder of the test's package, below the root
	Name    string
}

func (t test) String() string { return t.Program + "." + t.Name }

// testFunctions returns the tests, fuzz targets and examples of a file.
func testFunctions(file *ast.File) (functions []*ast.FuncDecl) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Body == nil || f.Type.Results != nil {
			continue
		}
		name, params := f.Name.Name, f.Type.Params.NumFields()
		switch {
		case params == 1 && parameterIs(f, "T") && isTestName(name, "Test"),
			params == 1 && parameterIs(f, "F") && isTestName(name, "Fuzz"),
			params == 0 && isTestName(name, "Example"):
			functions = append(functions, f)
		}
	}
	return functions
}

// parameterIs reports whether the parameter of a function is a pointer to a type of
// package testing.
func parameterIs(f *ast.FuncDecl, name string) bool {
	star, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := star.X.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == name
}

// isTestName reports whether a function with a name is one that "go test" runs: TestFoo
// is, and Testify is not.
func isTestName(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

// enterTests makes each test in the copy of the repository call inserted.Enter.
func (t *tree) enterTests() error {
	programs, err := t.programs()
	if err != nil {
		return err
	}
	for _, p := range programs {
		for _, file := range p.files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			changed, err := enterFile(text)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if err := os.WriteFile(file, changed, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// enterFile makes each test of a file call inserted.Enter.
func enterFile(text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var edits []edit
	for _, f := range testFunctions(file) {
		at := fset.Position(f.Body.Lbrace).Offset + 1
		call := fmt.Sprintf(" defer keyfillinserted.Enter(%q)();", f.Name.Name)
		if list := f.Type.Params.List; len(list) > 0 && len(list[0].Names) == 1 && list[0].Names[0].Name != "_" {
			// The cleanup is registered first, so that it is executed last, after the
			// test's own cleanups.
			call = fmt.Sprintf(" %s.Cleanup(keyfillinserted.Enter(%q));", list[0].Names[0].Name, f.Name.Name)
			// A test that waits in Parallel for other tests to end does not run yet, so
			// Enter is called after Parallel.
			if i := slices.IndexFunc(f.Body.List, isParallel); i >= 0 {
				at = fset.Position(f.Body.List[i].End()).Offset
				call = ";" + call
			}
		}
		edits = append(edits, edit{at, at, call})
	}
	if len(edits) == 0 {
		return text, nil
	}
	clause := fset.Position(file.Name.End()).Offset
	return apply(text, append(edits, edit{clause, clause, importText})), nil
}

// isParallel reports whether a statement is t.Parallel().
func isParallel(s ast.Stmt) bool {
	expr, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := expr.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Parallel" && len(call.Args) == 0
}
