package apps_test

import (
	"database/sql"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/testturn"
)

// frameworks is the folder of the pages that lead from an empty folder to stored rows, by
// one library each.
const frameworks = "docs/frameworks/"

// addresses are what the programs of these pages open, by engine.
var addresses = map[string]string{
	"sqlite":   "shop.db",
	"mariadb":  "root@tcp(127.0.0.1:3306)/shop",
	"postgres": "postgres://localhost/shop",
}

// recipe is the instructions of such a page.
type recipe struct {
	page     string
	files    map[string]string  // by name
	changes  map[string][]block // by engine
	commands string
	output   string
	numbers  bool // the page is docs/numbers.md: see compareNumbers
}

// recipeOf reads a page. A block that is no part of the recipe is an error.
func recipeOf(t *testing.T, page string) *recipe {
	t.Helper()
	r := &recipe{page: page, files: map[string]string{}, changes: map[string][]block{}}
	for _, b := range blocksOf(t, page) {
		switch {
		case b.language == "diff" && len(b.marks) > 0 && addresses[b.marks[0]] != "":
			r.changes[b.marks[0]] = append(r.changes[b.marks[0]], b)
		case b.file() != "" && b.language != "diff":
			r.files[b.file()] = b.text
		case b.language == "yaml" && len(b.marks) == 0:
			r.files["keyfill.yaml"] = b.text
		case b.program():
			r.files["main.go"] = b.text
		case b.language == "sh":
			r.commands += b.text
		case b.language == "text" && b.has("output"):
			r.output = b.text
		default:
			t.Errorf("%s: no test looks at this block", b)
		}
	}
	if r.files["keyfill.yaml"] == "" || r.files["main.go"] == "" || r.output == "" {
		t.Fatalf("%s lacks a policy, a program or what it prints", page)
	}
	return r
}

// engine is the engine of the page's program, before any change.
func (r *recipe) engine(t *testing.T) string {
	t.Helper()
	for engine, address := range addresses {
		if strings.Contains(r.files["main.go"], address) {
			return engine
		}
	}
	t.Fatalf("%s: the program opens none of %v", r.page, addresses)
	return ""
}

// on returns the files of the recipe with the changes for an engine.
func (r *recipe) on(t *testing.T, engine string) map[string]string {
	t.Helper()
	files := maps.Clone(r.files)
	for _, b := range r.changes[engine] {
		name := b.file()
		if name == "" {
			name = "main.go"
		}
		for _, hunk := range strings.Split(b.text, "@@\n") {
			between := sides(hunk)
			if strings.Count(files[name], between[0]) != 1 {
				t.Errorf("%s: %s has not, or not only once,\n%s", b, name, between[0])
			}
			files[name] = strings.Replace(files[name], between[0], between[1], 1)
		}
	}
	if !strings.Contains(files["main.go"], addresses[engine]) {
		t.Errorf("%s: the program for %s does not open %s", r.page, engine, addresses[engine])
	}
	return files
}

// generators write the packages that a reader has another program generate: ent and sqlc
// have done so for the examples, from the files of the page and some more.
var generators = map[string]func(t *testing.T, w *workspace, folder, engine string, files map[string]string){
	"ent": func(t *testing.T, _ *workspace, _, _ string, files map[string]string) {
		beginsWith(t, "examples/ent/schema/schema.go", files["ent/schema/schema.go"])
		const generated = `"github.com/keyfill/keyfill/examples/ent/testdata/shopent`
		files["main.go"] = strings.NewReplacer(`"shop/ent"`, "ent "+generated+`"`, `"shop/ent/hook"`, generated+`/hook"`).Replace(files["main.go"])
	},
	"sqlc": func(t *testing.T, w *workspace, folder, engine string, files map[string]string) {
		from := "examples/sqlc/" + map[string]string{"mariadb": "mysql"}[engine]
		if engine != "mariadb" {
			from += engine
		}
		beginsWith(t, from+"/schema.sql", files["schema.sql"])
		beginsWith(t, from+"/queries.sql", files["queries.sql"])
		names, err := filepath.Glob(filepath.Join(root, from, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("no code in %s: %v", from, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			w.write("blocks/"+folder+"/shop/"+filepath.Base(name), strings.Replace(string(text), "package "+path.Base(from), "package shop", 1))
		}
		files["main.go"] = strings.Replace(files["main.go"], `"shop/shop"`, `"blocks.test/`+folder+`/shop"`, 1)
	},
}

// beginsWith reports that a file of the repository does not begin with a text.
func beginsWith(t *testing.T, name, text string) {
	t.Helper()
	all, err := os.ReadFile(filepath.Join(root, name))
	if err != nil || !strings.HasPrefix(string(all), text) {
		t.Errorf("%s does not begin with what the page shows, error %v:\n%s", name, err, text)
	}
}

// imports reports a name of keyfill's that a program opens without the import that
// registers it, which the programs beside it in one binary would hide, and a module of
// keyfill that it imports and that no command of the page replaces by its folder in the
// clone.
func (r *recipe) imports(t *testing.T, program string) {
	t.Helper()
	for _, name := range regexp.MustCompile(`"([a-z]+)-keyfill"`).FindAllStringSubmatch(program, -1) {
		if !strings.Contains(program, `_ "github.com/keyfill/keyfill/auto/`+name[1]+`"`) {
			t.Errorf("%s: a program opens %s and does not import auto/%s", r.page, name[0], name[1])
		}
	}
	const module = "github.com/keyfill/keyfill"
	needs := []string{module}
	for _, name := range regexp.MustCompile(`"`+module+`/([^"]+)"`).FindAllStringSubmatch(program, -1) {
		if _, err := os.Stat(filepath.Join(root, name[1], "go.mod")); err == nil {
			needs = append(needs, module+"/"+name[1])
		}
	}
	for _, need := range needs {
		if line := "go mod edit -replace " + need + "=../keyfill" + strings.TrimPrefix(need, module) + "\n"; !strings.Contains(r.commands, line) {
			t.Errorf("%s lacks the command %s", r.page, line)
		}
	}
}

// placed is the program of a recipe for one engine.
type placed struct {
	recipe *recipe
	name   string // of its package, and of its test
	policy string
	db     *sql.DB // nil for the file in the folder of the program
}

// place writes the program of a recipe for an engine into the workspace, as a package with
// the function Main, beside the others.
func (r *recipe) place(t *testing.T, w *workspace, engine string) placed {
	t.Helper()
	library := strings.TrimSuffix(path.Base(r.page), ".md")
	files := r.on(t, engine)
	one := placed{recipe: r, name: strings.ReplaceAll(library, "-", "_") + "_" + engine, policy: files["keyfill.yaml"]}
	r.imports(t, files["main.go"])
	if generate := generators[library]; generate != nil {
		generate(t, w, one.name, engine, files)
	}
	program := strings.Replace(files["main.go"], "package main\n", "package "+one.name+"\n\n", 1)
	if engine != "sqlite" {
		var dsn string
		one.db, dsn = engines[engine].empty(t)
		program = strings.ReplaceAll(program, addresses[engine], dsn)
	}
	files["main.go"] = program + "\nfunc Main() { main() }\n"
	for name, text := range files {
		w.write("blocks/"+one.name+"/"+name, text)
	}
	return one
}

// TestFrameworks follows the instructions of each page of docs/frameworks and of
// docs/numbers.md, on each engine that the page names: its files are written into an empty folder, its program is built
// and run, and what it prints is stored. One binary of one module holds all programs,
// which a reader has in modules of their own, and takes the versions of the repository's
// modules.
func TestFrameworks(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	w := newWorkspace(t)
	all := placeNumbers(t, w)
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, frameworks) {
			continue
		}
		r := recipeOf(t, page)
		for _, engine := range append(slices.Sorted(maps.Keys(r.changes)), r.engine(t)) {
			all = append(all, r.place(t, w, engine))
		}
	}
	if len(all) < 36 {
		t.Fatalf("docs/numbers.md and docs/frameworks have %d programs, want 36 or more", len(all))
	}
	imports, calls := "", ""
	for _, one := range all {
		imports += "import " + strconv.Quote("blocks.test/"+one.name) + "\n"
		calls += "\tcase " + strconv.Quote(one.name) + ":\n\t\t" + one.name + ".Main()\n"
	}
	w.write("blocks/main.go", "package main\n\nimport \"os\"\n"+imports+"\nfunc main() {\n\tswitch os.Args[1] {\n"+calls+"\t}\n}\n")
	binary := filepath.Join(w.folder, "programs")
	if out, err := w.goCommand("build", "-ldflags=-w", "-o", binary, "."); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for i, one := range all {
		if testturn.Of(t, i, 3) {
			t.Run(one.name, func(t *testing.T) { one.run(t, binary) })
		}
	}
}

// run runs the program in a folder with its policy, and compares what it prints. It runs
// the program once more, as a reader does, and then finds greater numbers.
func (one placed) run(t *testing.T, binary string) {
	folder := t.TempDir()
	write(t, folder, "keyfill.yaml", one.policy+"store_wait: 1m\n") // for a busy machine
	first := one.start(t, binary, folder)
	db := one.db
	if db == nil {
		var err error
		if db, err = sql.Open("sqlite", filepath.Join(folder, "shop.db")); err != nil {
			t.Fatal(err)
		}
		defer db.Close()
	}
	if one.recipe.numbers {
		one.recipe.compareNumbers(t, db, first, one.start(t, binary, folder))
		return
	}
	one.recipe.compare(t, db, first)
	again := one.start(t, binary, folder)
	if before, behind := numbersOf(t, first), numbersOf(t, again); len(behind) != len(before) || slices.Min(behind) <= slices.Max(before) {
		t.Errorf("the orders are %v, and those of a second run %v, want as many, and greater ones", before, behind)
	}
}

// start runs the program, and returns what it prints.
func (one placed) start(t *testing.T, binary, folder string) string {
	t.Helper()
	program := exec.Command(binary, one.name)
	program.Dir = folder
	var told strings.Builder
	program.Stderr = &told
	printed, err := program.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, printed, &told)
	}
	return string(printed)
}

// numbersOf returns the integer keys that a program has printed.
func numbersOf(t *testing.T, printed string) []int {
	t.Helper()
	var numbers []int
	for _, row := range printedRow.FindAllString(printed, -1) {
		if number, err := strconv.Atoi(strings.Fields(row)[0]); err == nil {
			numbers = append(numbers, number)
		}
	}
	if len(numbers) == 0 {
		t.Fatalf("no integer keys in\n%s", printed)
	}
	return numbers
}

var (
	// printedRow is a line that a program prints: GORM may print slow statements beside.
	printedRow = regexp.MustCompile(`(?m)^([0-9a-f-]{36}|[0-9]+) [A-Za-z ]+$`)
	anyUUID    = regexp.MustCompile(`(?m)^[0-9a-f-]{36} `)
)

// compare looks whether the rows in a database are those that a program has printed, and
// that its page shows: parents with UUIDs of version 7, and children with integers, each
// of which has its parent.
func (r *recipe) compare(t *testing.T, db *sql.DB, printed string) {
	t.Helper()
	got := printedRow.FindAllString(printed, -1)
	shown := func(text string) string { return anyUUID.ReplaceAllString(text, "UUID ") }
	if lines := strings.Join(got, "\n") + "\n"; shown(lines) != shown(r.output) {
		t.Errorf("the program prints\n%s\nand the page shows\n%s", printed, r.output)
	}
	parents, children := rowsOf(t, db, "SELECT id, name FROM customers"), rowsOf(t, db, "SELECT id, note FROM orders")
	for _, row := range parents {
		if id, err := uuid.Parse(strings.Fields(row)[0]); err != nil || id.Version() != 7 {
			t.Errorf("the customer %q has no UUID of version 7: %v", row, err)
		}
	}
	if joined := rowsOf(t, db, "SELECT orders.id, note FROM orders JOIN customers ON customers.id = customer_id"); !slices.Equal(joined, children) {
		t.Errorf("the orders are %q, of which %q have a customer", children, joined)
	}
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(append(parents, children...))); len(children) < 2 || !slices.Equal(got, want) {
		t.Errorf("stored is %q, and the program prints %q", want, got)
	}
}

// rowsOf returns the rows of a query of two columns, sorted.
func rowsOf(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(id)+" "+text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
