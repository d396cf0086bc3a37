package figures

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PackageSize is by how much a package makes a program larger.
type PackageSize struct {
	Package string `json:"package"`
	Bytes   int64  `json:"bytes"`
}

// program is the source of two programs that differ in the package that registers the
// driver.
const program = `package main

import (
	"database/sql"
	"fmt"

	_ %q
)

func main() {
	_, err := sql.Open(%q, "")
	fmt.Println(err)
}
`

// Size builds a program with auto/mysql and one with the driver alone, in the module
// in a folder, and compares them.
func Size(folder, temporary string) ([]Figure, []PackageSize, error) {
	with, withSymbols, err := build(folder, temporary, "with", module+"/auto/mysql", "mysql-keyfill")
	if err != nil {
		return nil, nil, err
	}
	without, withoutSymbols, err := build(folder, temporary, "without", "github.com/go-sql-driver/mysql", "mysql")
	if err != nil {
		return nil, nil, err
	}
	f := absolute("program with auto/mysql: larger", Megabytes, float64(with-without)/1e6, atMost(6.5))
	f.Against = "with the driver alone"
	f.Note = fmt.Sprintf("%.1f MB and %.1f MB", float64(with)/1e6, float64(without)/1e6)
	packages := larger(withSymbols, withoutSymbols)
	rest := with - without
	for _, p := range packages {
		rest -= p.Bytes
	}
	packages = append(packages[:min(len(packages), 15)], PackageSize{"without a symbol: debug information, line tables", rest})
	return []Figure{f}, packages, nil
}

// build returns the size of a program and the sizes of its packages.
func build(folder, temporary, name, imported, driver string) (int64, map[string]int64, error) {
	source, binary := filepath.Join(temporary, name+".go"), filepath.Join(temporary, name)
	if err := os.WriteFile(source, fmt.Appendf(nil, program, imported, driver), 0o644); err != nil {
		return 0, nil, err
	}
	if _, err := run(folder, "go", "build", "-o", binary, source); err != nil {
		return 0, nil, err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return 0, nil, err
	}
	symbols, err := run(folder, "go", "tool", "nm", "-size", binary)
	return info.Size(), sizes(symbols), err
}

func run(folder, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		detail := ""
		if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output wraps nothing
			detail = string(failed.Stderr)
		}
		return "", fmt.Errorf("figures: %s %s: %w (%s)", name, args[0], err, detail)
	}
	return string(out), nil
}

// sizes adds up what "go tool nm -size" prints, lines of address, size, type and name, by
// package. Symbols that take no place in the file are skipped.
func sizes(symbols string) map[string]int64 {
	all := map[string]int64{}
	for line := range strings.Lines(symbols) {
		fields := strings.Fields(line)
		if len(fields) < 4 || strings.EqualFold(fields[2], "b") {
			continue
		}
		if size, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			all[packageOf(fields[3])] += size
		}
	}
	return all
}

// packageOf returns the import path that the name of a symbol begins with: the text before
// the first dot after the last slash, without the type arguments of an instance. Symbols of
// the linker are "types and tables".
func packageOf(symbol string) string {
	head, _, _ := strings.Cut(symbol, "[")
	if strings.HasPrefix(head, "type:") || strings.HasPrefix(head, "go:") || strings.HasPrefix(head, "runtime.") && !strings.Contains(head, "(") && isTable(head) {
		return "types and tables"
	}
	slash := strings.LastIndexByte(head, '/')
	dot := strings.IndexByte(head[slash+1:], '.')
	if dot < 0 {
		return "types and tables"
	}
	return strings.ReplaceAll(head[:slash+1+dot], "%2e", ".")
}

// isTable reports whether a symbol of the runtime is a table that the linker makes for
// all packages.
func isTable(symbol string) bool {
	return slices.Contains([]string{"runtime.pclntab", "runtime.types", "runtime.rodata", "runtime.findfunctab", "runtime.itablink"}, symbol)
}

// larger returns the packages that have grown, the most first.
func larger(with, without map[string]int64) []PackageSize {
	var all []PackageSize
	for name, size := range with {
		if more := size - without[name]; more > 0 {
			all = append(all, PackageSize{name, more})
		}
	}
	slices.SortFunc(all, func(a, b PackageSize) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Package, b.Package))
	})
	return all
}
