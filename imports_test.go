package keyfill_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/keyfill/keyfill"

// arrows says what each package of this module imports besides the standard
// library. A new package, and a new arrow, is written down here first.
var arrows = map[string][]string{
	".": {
		module + "/internal/anchor",
		module + "/internal/check",
		module + "/internal/dbconn",
		module + "/internal/explain",
		module + "/internal/fill",
		module + "/internal/fill/execution",
		module + "/internal/fill/forecast",
		module + "/internal/fill/retry",
		module + "/internal/keys",
		module + "/internal/keys/numbering",
		module + "/internal/keys/report",
		module + "/internal/keys/table",
		module + "/internal/rewrite/words",
		module + "/internal/session",
		module + "/keysource",
		module + "/policy",
		module + "/rewrite",
		module + "/publicid",     // in its tests alone
		"github.com/google/uuid", // the type of a key that is a UUID
		"github.com/ngrok/sqlmw", // in interceptor.go alone
	},
	"internal/fill": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/catalog",
		module + "/internal/drivers",
		module + "/internal/fill/execution",
		module + "/internal/fill/executor",
		module + "/internal/fill/outcome",
		module + "/internal/fill/retry",
		module + "/internal/keys",
		module + "/internal/keys/relation",
		module + "/internal/keys/report",
		module + "/internal/keys/table",
		module + "/internal/rewrite/bind",
		module + "/internal/rewrite/effects",
		module + "/internal/rewrite/plans",
		module + "/internal/rewrite/words",
		module + "/internal/session",
		module + "/internal/sqlcode",
		module + "/keysource",
		module + "/policy",
		module + "/rewrite",
		"github.com/google/uuid",
	},
	"internal/fill/execution": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/catalog",
		module + "/internal/dbconn",
		module + "/internal/keys",
		module + "/internal/keys/numbering",
		module + "/internal/keys/relation",
		module + "/internal/keys/report",
		module + "/internal/keys/table",
		module + "/internal/rewrite/bind",
		module + "/internal/rewrite/compile",
		module + "/internal/rewrite/effects",
		module + "/internal/rewrite/plans",
		module + "/internal/rewrite/words",
		module + "/internal/session",
		module + "/internal/sqlcode",
		module + "/internal/store/schema",
		module + "/policy",
		module + "/rewrite",
	},
	"internal/fill/executor": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/catalog",
		module + "/internal/dbconn",
		module + "/internal/explain",
		module + "/internal/fill/execution",
		module + "/internal/fill/outcome",
		module + "/internal/keys",
		module + "/internal/keys/relation",
		module + "/internal/keys/report",
		module + "/internal/keys/table",
		module + "/internal/rewrite/bind",
		module + "/internal/rewrite/effects",
		module + "/internal/rewrite/plans",
		module + "/internal/rewrite/rowcount",
		module + "/internal/session",
		module + "/internal/sqlcode",
		module + "/internal/store",
		module + "/internal/store/keycolumn",
		module + "/policy",
		module + "/rewrite",
	},
	"internal/fill/forecast": {
		module + "/internal/dbconn",
		module + "/internal/explain",
		module + "/internal/fill/execution",
		module + "/internal/fill/executor",
		module + "/internal/keys",
		module + "/internal/keys/table",
		module + "/internal/rewrite/bind",
		module + "/internal/rewrite/plans",
		module + "/internal/rewrite/rowcount",
		module + "/internal/rewrite/words",
		module + "/internal/sqlcode",
		module + "/policy",
		module + "/rewrite",
	},
	"internal/fill/outcome": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/boxing",
		module + "/internal/dbconn",
		module + "/internal/fill/execution",
		module + "/internal/keys",
		module + "/internal/keys/relation",
		module + "/internal/keys/report",
		module + "/internal/keys/table",
		module + "/internal/numberformat",
		module + "/internal/rewrite/bind",
		module + "/internal/rewrite/compile",
		module + "/internal/rewrite/plans",
		module + "/internal/session",
		module + "/internal/sqlcode",
		module + "/internal/store",
		module + "/internal/store/keycolumn",
		module + "/rewrite",
		"github.com/google/uuid",
	},
	"internal/fill/retry": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/fill/execution",
		module + "/internal/fill/outcome",
		module + "/internal/session",
		module + "/internal/sqlcode",
	},
	"internal/keys": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/boxing",
		module + "/internal/catalog",
		module + "/internal/counting",
		module + "/internal/drivers",
		module + "/internal/fetching",
		module + "/internal/keys/counter",
		module + "/internal/keys/numbering",
		module + "/internal/keys/relation",
		module + "/internal/keys/report",
		module + "/internal/keys/statestore",
		module + "/internal/keys/table",
		module + "/internal/mapping",
		module + "/internal/numberformat",
		module + "/internal/rewrite/bind",
		module + "/internal/rewrite/plans",
		module + "/internal/session",
		module + "/internal/store",
		module + "/internal/store/binding",
		module + "/internal/store/keycolumn",
		module + "/internal/store/native",
		module + "/internal/store/schema",
		module + "/internal/store/scope",
		module + "/internal/store/sequence",
		module + "/internal/store/worker",
		module + "/keysource",
		module + "/policy",
	},
	"internal/keys/table": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/boxing",
		module + "/internal/catalog",
		module + "/internal/keys/report",
		module + "/internal/mapping",
		module + "/internal/nearest",
		module + "/internal/numberformat",
		module + "/internal/rewrite/compile",
		module + "/internal/rewrite/effects",
		module + "/internal/rewrite/plans",
		module + "/internal/rewrite/words",
		module + "/internal/sqlcode",
		module + "/internal/typeid",
		module + "/internal/store",
		module + "/internal/store/sequence",
		module + "/internal/store/upstream",
		module + "/keysource",
		module + "/policy",
		module + "/rewrite",
		"github.com/google/uuid",
	},
	"internal/keys/statestore": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/catalog",
		module + "/internal/counting",
		module + "/internal/dbconn",
		module + "/internal/drivers",
		module + "/internal/keys/report",
		module + "/internal/store",
		module + "/internal/store/binding",
		module + "/internal/store/reserver",
		module + "/internal/store/sequence",
		module + "/internal/store/series",
		module + "/internal/store/upstream",
		module + "/internal/store/worker",
		module + "/keysource",
		module + "/policy",
	},
	"internal/keys/report": {module + "/internal/anchor", module + "/internal/sqlcode", module + "/internal/store", module + "/keysource", module + "/rewrite"},
	"internal/keys/relation": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/catalog",
		module + "/internal/counting",
		module + "/internal/drivers",
		module + "/internal/explain",
		module + "/internal/keys/report",
		module + "/internal/keys/statestore",
		module + "/internal/keys/table",
		module + "/internal/rewrite/compile",
		module + "/internal/rewrite/effects",
		module + "/internal/rewrite/plans",
		module + "/internal/rewrite/words",
		module + "/internal/session",
		module + "/internal/sqlcode",
		module + "/internal/store",
		module + "/internal/store/keycolumn",
		module + "/internal/store/native",
		module + "/internal/store/schema",
		module + "/internal/store/sequence",
		module + "/keysource",
		module + "/policy",
		module + "/rewrite",
	},
	"internal/keys/numbering": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/calendar",
		module + "/internal/catalog",
		module + "/internal/counting",
		module + "/internal/dbconn",
		module + "/internal/fetching",
		module + "/internal/keys/relation",
		module + "/internal/keys/report",
		module + "/internal/keys/statestore",
		module + "/internal/keys/table",
		module + "/internal/nearest",
		module + "/internal/numberformat",
		module + "/internal/session",
		module + "/internal/store",
		module + "/internal/store/keycolumn",
		module + "/internal/store/native",
		module + "/internal/store/reserver",
		module + "/internal/store/scope",
		module + "/internal/store/sequence",
		module + "/internal/store/series",
		module + "/internal/store/upstream",
		module + "/keysource",
		module + "/policy",
	},
	"internal/keys/counter": {
		module + "/internal/anchor",
		module + "/internal/catalog",
		module + "/internal/counting",
		module + "/internal/keys/numbering",
		module + "/internal/keys/relation",
		module + "/internal/keys/statestore",
		module + "/internal/keys/table",
		module + "/internal/session",
		module + "/internal/store",
		module + "/internal/store/binding",
		module + "/internal/store/keycolumn",
		module + "/internal/store/native",
		module + "/internal/store/reserver",
		module + "/internal/store/scope",
		module + "/internal/store/sequence",
		module + "/internal/store/series",
		module + "/internal/store/upstream",
		module + "/internal/store/worker",
		module + "/keysource",
		module + "/policy",
	},
	"internal/draft": {module + "/dialect", module + "/internal/catalog", module + "/policy"},
	"internal/schemafile": {
		module + "/dialect",
		module + "/internal/catalog",
		module + "/internal/rewrite/scan",
		module + "/internal/sqlscript",
		module + "/policy",
		module + "/internal/draft", // in its tests alone, as policy
	},
	"internal/check": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/catalog",
		module + "/internal/check/hotstate",
		module + "/internal/check/locktrial",
		module + "/internal/draft",
		module + "/internal/keys",
		module + "/internal/keys/relation",
		module + "/internal/keys/statestore",
		module + "/internal/keys/table",
		module + "/internal/nearest",
		module + "/internal/sqlcode",
		module + "/internal/store",
		module + "/internal/store/binding",
		module + "/internal/store/keycolumn",
		module + "/internal/store/native",
		module + "/internal/store/reserver",
		module + "/internal/store/scope",
		module + "/internal/store/sequence",
		module + "/keysource",
		module + "/policy",
	},
	// scan reads the collations of columns in what SQLite keeps of CREATE TABLE.
	"internal/catalog":         {module + "/dialect", module + "/internal/anchor", module + "/internal/dbconn", module + "/internal/nearest", module + "/internal/rewrite/scan"},
	"internal/check/hotstate":  {module + "/dialect", module + "/policy"},
	"internal/check/locktrial": {module + "/dialect", module + "/internal/sqlcode"},
	"dialect":                  {module + "/internal/anchor"},
	"internal/anchor":          {},
	"internal/dbconn":          {},
	"internal/figures":         {module},
	"internal/explain":         {module + "/internal/anchor"},
	"internal/drivers":         {module + "/dialect", module + "/internal/sqlcode"},
	"internal/session": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/catalog",
		module + "/internal/dbconn",
		module + "/internal/drivers",
		module + "/internal/rewrite/effects",
		module + "/internal/rewrite/words",
		module + "/internal/sqlcode",
		module + "/internal/store",
		module + "/rewrite",
	},
	"internal/sqlcode":      {module + "/dialect"},
	"internal/sqllog":       {module + "/internal/anchor"},
	"internal/sqlscript":    {module + "/dialect", module + "/internal/anchor", module + "/internal/rewrite/effects", module + "/internal/rewrite/scan"},
	"internal/gosql":        {},
	"internal/vet":          {module, module + "/dialect", module + "/internal/anchor", module + "/internal/explain", module + "/internal/gosql", module + "/internal/rewrite/compile", module + "/internal/rewrite/effects", module + "/internal/rewrite/plans", module + "/internal/rewrite/scan", module + "/internal/rewrite/words", module + "/internal/sqlscript", module + "/policy", module + "/rewrite"},
	"internal/nearest":      {},
	"internal/glob":         {},
	"internal/numberformat": {module + "/dialect", module + "/internal/anchor", module + "/internal/calendar", module + "/internal/nearest"},
	"internal/sample":       {},
	"internal/book":         {},
	"internal/knots":        {},
	"internal/reference":    {module + "/policy"},
	"internal/storetest":    {module + "/internal/counting", module + "/internal/testturn", module + "/keysource"},
	"internal/testbrowser":  {},
	"internal/testdb":       {},
	"internal/testrun":      {},
	"keyfillhttp":           {module, module + "/internal/testbrowser", module + "/policy"}, // the last two in its tests alone
	"keyfilltest": {
		module,
		module + "/internal/anchor",
		module + "/internal/explain",
		module + "/keysource",
		module + "/policy",
		"github.com/DATA-DOG/go-sqlmock",
		"github.com/google/uuid",
	},
	"internal/boxing":   {module + "/dialect"},
	"internal/calendar": {module + "/internal/anchor"},
	"internal/counting": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/boxing",
		module + "/internal/counting/reach",
		module + "/internal/fetching",
		module + "/internal/keyclock",
		module + "/internal/snowflakebits",
		module + "/keysource",
		// In its tests alone, which draw the keys of mappings, and run the real stores in
		// the simulator.
		module + "/internal/mapping",
		module + "/internal/store",
		module + "/internal/store/reserver",
		module + "/internal/store/sequence",
		module + "/internal/store/series",
		module + "/internal/store/worker",
	},
	"internal/counting/reach": {},
	"internal/fetching":       {module + "/keysource"},
	"internal/keyclock":       {},
	"internal/mapping":        {module + "/dialect", module + "/internal/anchor", module + "/keysource"},
	"internal/snowflakebits":  {},
	"internal/typeid":         {module + "/internal/anchor"},
	"keysource": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/boxing",
		module + "/internal/keyclock",
		module + "/internal/snowflakebits",
		module + "/internal/typeid",
		"github.com/google/uuid",
	},
	"publicid": {
		module + "/dialect",
		module + "/internal/anchor",
		module + "/internal/typeid",
		module + "/keysource",
		"github.com/google/uuid",
		module + "/internal/snowflakebits", // in its tests alone
	},
	"internal/sim":            {module + "/internal/testturn"},
	"internal/sim/crowd":      {module + "/internal/counting", module + "/internal/sim", module + "/keysource"},
	"internal/sim/simdb":      {module + "/dialect", module + "/internal/sim"},
	"internal/sim/explore":    {module + "/internal/sim"},
	"internal/drawing":        {},
	"internal/stats":          {},
	"internal/testturn":       {},
	"internal/txtar":          {},
	"internal/steps":          {module + "/internal/testturn"},
	"internal/testturn/reach": {module + "/internal/testturn"},
	"internal/corpus":         {},
	"internal/goldens":        {module + "/dialect"},
	"internal/wordplaces":     {module + "/dialect", module + "/internal/rewrite/scan"},
	"internal/measure":        {module + "/dialect", module + "/policy"},
	// The floors of the store: the packages below it stand on it, but for engine.
	"internal/store/engine":        {module + "/dialect"},
	"internal/store":               {module + "/dialect", module + "/internal/anchor", module + "/internal/counting", module + "/internal/dbconn", module + "/internal/drivers", module + "/internal/sqlcode", module + "/internal/store/engine", module + "/keysource"},
	"internal/store/staterow":      {module + "/internal/store", module + "/internal/store/engine"},
	"internal/store/nativecatalog": {module + "/dialect", module + "/internal/anchor", module + "/internal/store", module + "/internal/store/engine"},
	"internal/store/keycolumn":     {module + "/dialect", module + "/internal/sqlcode", module + "/internal/store", module + "/internal/store/nativecatalog"},
	"internal/store/schema":        {module + "/internal/anchor", module + "/internal/store", module + "/internal/store/engine", module + "/internal/store/keycolumn"},
	"internal/store/binding":       {module + "/internal/anchor", module + "/internal/store", module + "/internal/store/engine", module + "/internal/store/keycolumn", module + "/internal/store/staterow", module + "/keysource"},
	"internal/store/upstream":      {module + "/internal/anchor", module + "/internal/counting", module + "/internal/store", module + "/internal/store/staterow", module + "/keysource"},
	"internal/store/sequence":      {module + "/dialect", module + "/internal/anchor", module + "/internal/store", module + "/internal/store/binding", module + "/internal/store/engine", module + "/internal/store/keycolumn", module + "/internal/store/staterow", module + "/internal/store/upstream", module + "/keysource"},
	"internal/store/reserver":      {module + "/dialect", module + "/internal/sqlcode", module + "/internal/store", module + "/internal/store/binding", module + "/internal/store/engine", module + "/internal/store/keycolumn", module + "/internal/store/schema", module + "/internal/store/sequence", module + "/internal/store/staterow", module + "/internal/store/upstream", module + "/keysource"},
	"internal/store/native":        {module + "/dialect", module + "/internal/store", module + "/internal/store/binding", module + "/internal/store/engine", module + "/internal/store/nativecatalog", module + "/internal/store/sequence", module + "/internal/store/staterow", module + "/keysource"},
	"internal/store/series":        {module + "/dialect", module + "/internal/anchor", module + "/internal/counting", module + "/internal/sqlcode", module + "/internal/store", module + "/internal/store/engine", module + "/internal/store/reserver", module + "/internal/store/schema", module + "/internal/store/sequence", module + "/keysource"},
	"internal/store/scope":         {module + "/internal/anchor", module + "/internal/calendar", module + "/internal/store", module + "/internal/store/engine", module + "/internal/store/keycolumn", module + "/internal/store/sequence", module + "/internal/store/staterow", module + "/keysource"},
	"internal/store/worker":        {module + "/dialect", module + "/internal/sqlcode", module + "/internal/store", module + "/internal/store/binding", module + "/internal/store/engine", module + "/internal/store/schema", module + "/internal/store/staterow", module + "/keysource"},
	"internal/store/fakedb":        {module + "/dialect", module + "/internal/store", module + "/internal/store/sequence", module + "/internal/txtar"}, // for tests
	"policy":                       {module + "/dialect", module + "/internal/anchor", module + "/internal/calendar", module + "/internal/counting", module + "/internal/glob", module + "/internal/nearest", module + "/internal/numberformat", module + "/internal/typeid", module + "/keysource", "github.com/google/uuid", "go.yaml.in/yaml/v3"},
	// The floors of the rewriting: each stands on some of the ones above.
	"rewrite":                   {},
	"internal/rewrite/scan":     {module + "/dialect"},
	"internal/rewrite/words":    {module + "/dialect", module + "/internal/rewrite/scan"},
	"internal/rewrite/reader":   {module + "/dialect", module + "/internal/rewrite/scan", module + "/internal/rewrite/words", module + "/rewrite"},
	"internal/rewrite/effects":  {module + "/dialect", module + "/internal/rewrite/reader", module + "/internal/rewrite/scan", module + "/internal/rewrite/words"},
	"internal/rewrite/selects":  {module + "/dialect", module + "/internal/rewrite/reader", module + "/internal/rewrite/scan", module + "/internal/rewrite/words", module + "/rewrite"},
	"internal/rewrite/plans":    {module + "/dialect", module + "/internal/rewrite/effects", module + "/internal/rewrite/reader", module + "/internal/rewrite/scan", module + "/internal/rewrite/selects", module + "/internal/rewrite/words", module + "/internal/typeid", module + "/rewrite"},
	"internal/rewrite/bind":     {module + "/dialect", module + "/internal/rewrite/plans", module + "/internal/rewrite/reader", module + "/internal/rewrite/scan", module + "/rewrite", "github.com/google/uuid"},
	"internal/rewrite/rowcount": {module + "/internal/rewrite/bind", module + "/internal/rewrite/plans", module + "/internal/rewrite/reader", module + "/internal/rewrite/scan", module + "/internal/rewrite/selects"},
	"internal/rewrite/inserts":  {module + "/dialect", module + "/internal/rewrite/effects", module + "/internal/rewrite/plans", module + "/internal/rewrite/reader", module + "/internal/rewrite/scan", module + "/internal/rewrite/selects", module + "/internal/rewrite/words", module + "/rewrite"},
	"internal/rewrite/compile":  {module + "/dialect", module + "/internal/rewrite/effects", module + "/internal/rewrite/inserts", module + "/internal/rewrite/plans", module + "/internal/rewrite/reader", module + "/internal/rewrite/scan", module + "/internal/rewrite/selects", module + "/internal/rewrite/words", module + "/rewrite"},
}

// testArrows is what the tests of any package may import besides.
var testArrows = []string{
	module + "/dialect",
	"github.com/DATA-DOG/go-sqlmock",
	"github.com/google/uuid",
	module + "/internal/txtar",
}

// rootImporters are the packages and folders of packages that may import the
// root. But for keyfilltest they are modules of their own.
var rootImporters = []string{"auto", "bench", "cmd", "e2e", "examples", "judge", "keyfilletcd", "keyfillgorm", "keyfillhttp", "keyfillotel", "keyfillpgx", "keyfillprom", "keyfillredis", "keyfilltest", "keyfillvet", "suites"}

// goFile is a file with its folder below the module's, and its imports.
type goFile struct {
	folder, name string
	test         bool
	imports      []string
}

// goFiles returns the files below the root, and separately the files of the nested
// modules.
func goFiles(t *testing.T) (own, nested []goFile) {
	t.Helper()
	isNested := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(name))
		if entry.IsDir() {
			if base := entry.Name(); name != "." && (base == "testdata" || base[0] == '.' || base[0] == '_') {
				return fs.SkipDir
			}
			_, statErr := os.Stat(filepath.Join(name, "go.mod"))
			slashed := filepath.ToSlash(name)
			isNested[slashed] = name != "." && (statErr == nil || isNested[path.Dir(slashed)])
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		file := goFile{folder: folder, name: entry.Name(), test: strings.HasSuffix(name, "_test.go")}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			file.imports = append(file.imports, imported)
		}
		if isNested[folder] {
			nested = append(nested, file)
		} else {
			own = append(own, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(own) == 0 || len(nested) == 0 {
		t.Fatalf("found %d files of this module and %d of nested ones: this test looks in the wrong place", len(own), len(nested))
	}
	return own, nested
}

// isBelow reports whether a folder is another one, or below it.
func isBelow(folder, other string) bool { return strings.HasPrefix(folder+"/", other+"/") }

// floorsOf returns the import paths of a folder and of the folders below it.
func floorsOf(top string) []string {
	var floors []string
	for folder := range arrows {
		if isBelow(folder, top) {
			floors = append(floors, module+"/"+folder)
		}
	}
	return floors
}

// isStandard reports whether an import path is the standard library's: only
// there has the first part no dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func TestImports(t *testing.T) {
	own, _ := goFiles(t)
	for _, file := range own {
		allowed, known := arrows[file.folder]
		if !known {
			t.Errorf("package %s is not in arrows: say there what it may import", file.folder)
			continue
		}
		if file.test {
			// An external test imports the package that it tests.
			allowed = slices.Concat(allowed, testArrows, []string{path.Join(module, file.folder), module + "/internal/sim", module + "/internal/sim/simdb", module + "/internal/goldens", module + "/internal/steps", module + "/internal/testturn", module + "/internal/wordplaces"})
		}
		if file.test && isBelow(file.folder, "internal/store") {
			allowed = append(append(allowed, floorsOf("internal/store")...), module+"/keysource") // a test uses states from above as well
		}
		if file.test && isBelow(file.folder, "internal/rewrite") {
			allowed = append(append(allowed, floorsOf("internal/rewrite")...), module+"/rewrite") // a test compiles texts, and looks at their parts
		}
		for _, imported := range file.imports {
			// The packages in testdata are a test's alone.
			example := file.test && strings.HasPrefix(imported, path.Join(module, file.folder, "testdata")+"/")
			if isStandard(imported) || slices.Contains(allowed, imported) || example {
				continue
			}
			t.Errorf("%s/%s imports %q: a new arrow", file.folder, file.name, imported)
		}
	}
}

func TestOnlyInterceptorImportsSqlmw(t *testing.T) {
	own, nested := goFiles(t)
	for _, file := range slices.Concat(own, nested) {
		if file.folder == "." && file.name == "interceptor.go" || strings.HasPrefix(file.folder, "e2e/") || strings.HasPrefix(file.folder+"/", "bench/") {
			continue // e2e and bench put other interceptors beside ours
		}
		if slices.Contains(file.imports, "github.com/ngrok/sqlmw") {
			t.Errorf("%s/%s imports sqlmw", file.folder, file.name)
		}
	}
}

func TestWhoImportsTheRoot(t *testing.T) {
	own, nested := goFiles(t)
	for _, file := range slices.Concat(own, nested) {
		top, _, _ := strings.Cut(file.folder, "/")
		if file.folder == "." || slices.Contains(rootImporters, top) || file.folder == "internal/figures" || file.folder == "internal/vet" {
			continue // they stand above the root, below keyfillprom and the command
		}
		if slices.Contains(file.imports, module) {
			t.Errorf("%s/%s imports the root", file.folder, file.name)
		}
	}
}

// A program that adopts keyfill keeps the versions of its drivers.
func TestModuleRequiresNoDriver(t *testing.T) {
	drivers := []string{
		"github.com/ClickHouse/clickhouse-go",
		"github.com/cockroachdb/cockroach-go",
		"github.com/denisenkom/go-mssqldb",
		"github.com/glebarez",
		"github.com/go-gorm",
		"github.com/godror",
		"github.com/ibmdb",
		"github.com/jackc",
		"github.com/lib/pq",
		"github.com/mattn/go-oci8",
		"github.com/mattn/go-sqlite3",
		"github.com/microsoft/go-mssqldb",
		"github.com/nakagami",
		"github.com/ncruces/go-sqlite3",
		"github.com/sijms/go-ora",
		"github.com/snowflakedb",
		"github.com/uptrace",
		"gorm.io",
		"modernc.org/sqlite",
		"zombiezen.com/go/sqlite",
	}
	file, err := os.Open("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(strings.TrimPrefix(lines.Text(), "require "))
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") {
			continue // not a requirement
		}
		seen++
		for _, driver := range drivers {
			if fields[0] == driver || strings.HasPrefix(fields[0], driver+"/") {
				t.Errorf("go.mod requires the driver %s", fields[0])
			}
		}
	}
	if seen == 0 {
		t.Error("go.mod requires nothing: this test does not read it rightly")
	}
}

// packageStateAllowed are the exceptions to TestNoPackageState, each with its
// reason.
var packageStateAllowed = map[string]string{
	"registering": "guards the names of database/sql, which are the process's",
	"registered":  "holds what is behind these names",
	"choosing":    "holds the tests of a process, whose subtests find them by name alone",
}

// Package-level variables are constants in all but name: errors, tables. What
// a function writes to, or what is made to be changed, would be state that two
// mounts share.
func TestNoPackageState(t *testing.T) {
	own, _ := goFiles(t)
	files := map[string][]string{}
	for _, file := range own {
		if !file.test {
			files[file.folder] = append(files[file.folder], path.Join(file.folder, file.name))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(files)) {
		set := token.NewFileSet()
		var parsed []*ast.File
		for _, name := range files[folder] {
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		for _, found := range packageState(set, parsed) {
			if _, allowed := packageStateAllowed[found.name]; !allowed && found.name != "_" {
				t.Errorf("%s: the package-level variable %s is %s", found.place, found.name, found.what)
			}
		}
	}
}

// state is a place where a package-level variable is or may be changed.
type state struct{ place, name, what string }

// packageState returns the places where a package-level variable is written
// to, or where one of a type of sync or sync/atomic is declared. It does not
// see one that is changed through a pointer or a method.
func packageState(set *token.FileSet, files []*ast.File) []state {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// What is imported stays unknown, so there are errors; the names of this
	// package are resolved all the same.
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check("p", set, files, info)

	var found []state
	report := func(id *ast.Ident, what string) {
		found = append(found, state{set.Position(id.Pos()).String(), id.Name, what})
	}
	checkWrite := func(target ast.Expr) {
		if id := baseIdent(target); id != nil {
			if v, ok := info.Uses[id].(*types.Var); ok && v.Parent() == pkg.Scope() {
				report(id, "written to")
			}
		}
	}
	for _, file := range files {
		for _, declaration := range file.Decls {
			if vars, ok := declaration.(*ast.GenDecl); ok && vars.Tok == token.VAR {
				for _, spec := range vars.Specs {
					if spec := spec.(*ast.ValueSpec); isOfSync(spec.Type) {
						report(spec.Names[0], "made to be changed")
					}
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, target := range n.Lhs {
						checkWrite(target)
					}
				}
			case *ast.IncDecStmt:
				checkWrite(n.X)
			}
			return true
		})
	}
	return found
}

// baseIdent returns the x of x, x.f, x[i], *x and (x), and of what is made of
// these, else nil.
func baseIdent(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// isOfSync reports whether a type is written sync.T or atomic.T, with or
// without type arguments.
func isOfSync(kind ast.Expr) bool {
	if generic, ok := kind.(*ast.IndexExpr); ok {
		kind = generic.X
	}
	selector, ok := kind.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name, ok := selector.X.(*ast.Ident)
	return ok && (name.Name == "sync" || name.Name == "atomic")
}

func TestPackageStateIsFound(t *testing.T) {
	const source = `package p
import ("sync"; "sync/atomic"; "other")
var table = map[string]int{}
var n, m int
var lock sync.Mutex
var current atomic.Pointer[int]
var fine = other.New("x")
func f(n int) {
	table["x"] = 1
	n = 2
	m++
	fine := 3
	fine = 4
	local := struct{ table int }{}
	local.table = 5
}
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := packageState(set, []*ast.File{file})
	want := []state{
		{"p.go:5:5", "lock", "made to be changed"},
		{"p.go:6:5", "current", "made to be changed"},
		{"p.go:9:2", "table", "written to"},
		{"p.go:11:2", "m", "written to"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("packageState = %v, want %v", got, want)
	}
}
