package vetreport

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	// This package asks the go command which files belong to a package, as go vet does, so
	// that both skip the same files.
	"golang.org/x/tools/go/packages"
)

// goPackage is a package that was parsed and whose types were checked.
type goPackage struct {
	path   string
	fset   *token.FileSet
	files  []*ast.File
	types  *types.Package
	info   *types.Info
	faults []error // the errors of reading the package
}

// packagesAtOnce is how many packages are in memory at a time. The types of their imports
// come from the build cache.
const packagesAtOnce = 100

// eachPackage reads the packages that patterns name, in the order of their paths, and calls
// do for each. If tests is true, it reads the files of their tests too.
func eachPackage(ctx context.Context, patterns []string, tests bool, do func(*goPackage)) error {
	if len(patterns) == 0 {
		return nil
	}
	listed, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.NeedName | packages.NeedFiles}, patterns...)
	if err != nil {
		return fmt.Errorf("the go command cannot list packages (%w): run it in a folder of a Go module", err)
	}
	var paths []string
	for _, p := range listed {
		if len(p.Errors) > 0 && p.PkgPath != "" && len(p.GoFiles) == 0 {
			return fmt.Errorf("package %s cannot be listed (%s): name packages that are there", p.PkgPath, p.Errors[0].Msg)
		}
		if len(p.GoFiles) > 0 || tests {
			paths = append(paths, p.PkgPath)
		}
	}
	slices.Sort(paths)
	for some := range slices.Chunk(slices.Compact(paths), packagesAtOnce) {
		if err := readPackages(ctx, some, tests, do); err != nil {
			return err
		}
	}
	return nil
}

// readPackages reads the packages of the paths, and calls do for each.
func readPackages(ctx context.Context, paths []string, tests bool, do func(*goPackage)) error {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Tests: tests,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedForTest,
	}, paths...)
	if err != nil {
		return fmt.Errorf("the go command cannot read packages (%w): let go build pass first", err)
	}
	for _, p := range loaded {
		if strings.HasSuffix(p.ID, ".test") || hasTests(loaded, p) {
			continue // the generated main package of a test, or a package that is listed again with its tests
		}
		one := &goPackage{path: p.PkgPath, fset: p.Fset, files: p.Syntax, types: p.Types, info: p.TypesInfo}
		if len(p.Errors) > 0 {
			one.faults = append(one.faults, fmt.Errorf("package %s cannot be read whole (%s): let go build pass first", p.PkgPath, firstFault(p)))
		}
		if one.types != nil && one.info != nil {
			do(one)
		}
	}
	return nil
}

// firstFault returns the first error of a package, in one line. It prefers an error in the
// source code to an error of the go command.
func firstFault(p *packages.Package) string {
	i := max(0, slices.IndexFunc(p.Errors, func(e packages.Error) bool { return e.Kind != packages.ListError }))
	return strings.Join(strings.Fields(p.Errors[i].Error()), " ")
}

// hasTests reports whether loaded also has the same package together with its tests.
func hasTests(loaded []*packages.Package, p *packages.Package) bool {
	return p.ForTest == "" && slices.ContainsFunc(loaded, func(other *packages.Package) bool {
		return other != p && other.ForTest == p.PkgPath && other.PkgPath == p.PkgPath
	})
}
