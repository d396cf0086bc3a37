package apps_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/testturn"
)

// notRun are the commands that no test runs, by the words with which they begin, with the
// reason.
var notRun = map[string]string{
	"go build -o keyfill ./cmd/keyfill":                "the tests build it, to another place",
	"go test -run '^TestFigures$'":                     "it measures for an hour",
	"go tool pprof":                                    "it reads what a measurement has written",
	"go install github.com/keyfill/keyfill/keyfillvet": "it waits for the first release",
	"go vet -vettool=":                                 "TestVetTool of the module keyfillvet runs it",
	"GOMAXPROCS=1 go test ./internal/rewrite/compile":  "it measures",

	"go run .":              "TestFrameworks builds and runs the programs",
	"go get entgo.io/ent":   "TestFrameworks takes the code of examples/ent",
	"go run -mod=mod entgo": "the same",
	"CGO_ENABLED=0 go run github.com/sqlc-dev/sqlc/cmd/sqlc": "TestFrameworks takes the code of examples/sqlc",
}

// place is where the commands of a page are run.
type place struct {
	folder string
	env    []string
	dsn    string // of the database that was made last
}

// places make what the commands of a page expect: a folder with the page's policy, and
// databases with the tables of which the page speaks.
var places = map[string]func(t *testing.T, p *place){
	adoptingPage: func(t *testing.T, p *place) { adopting(t, p, "mariadb") },
	"docs/command.md": func(t *testing.T, p *place) {
		const customers = "CREATE TABLE customers (id UUID NOT NULL PRIMARY KEY, name TEXT);\n"
		p.database(t, "mariadb", "SHOP_DSN", strings.Join(store.DDL(dialect.MariaDB()), ";\n")+";\n"+customers+"CREATE TABLE invoices (number BIGINT);\nCREATE TABLE cancellations (number BIGINT);\n"+
			"CREATE TABLE credit_notes (number VARCHAR(20) PRIMARY KEY, issued_on DATE);\n"+
			"INSERT INTO keyfill_sequences VALUES ('credit_notes.number', 1, '', '', 'period year from 01-01 by \"issued_on\"', 'a', NOW(6));\n")
		p.policy(t, "  customers: {column: id, source: uuidv7}\n  invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true}}\n"+
			"  credit_notes: {column: number, source: {kind: sequence, transaction: joined, format: \"{year}-{n:05}\", period: {every: year, column: issued_on}}}\n")
		if err := os.WriteFile(filepath.Join(p.folder, "schema.sql"), []byte(customers), 0o644); err != nil {
			t.Fatal(err)
		}
	},
	"docs/audit.md": func(t *testing.T, p *place) {
		p.database(t, "mariadb", "SHOP_DSN", strings.Join(store.DDL(dialect.MariaDB()), ";\n")+";\nCREATE TABLE invoices (number BIGINT);\nCREATE TABLE cancellations (number BIGINT);\n")
		p.policy(t, "  invoices: {column: number, source: {kind: sequence, transaction: joined, ensure_schema: true}}\n")
	},
	"docs/explaining.md": func(t *testing.T, p *place) {
		p.policy(t, "  customers: {column: id, source: uuidv7}\ndialect: postgres\n")
		const insert = "INSERT INTO customers (name) VALUES ('a')"
		for name, text := range map[string]string{
			"postgresql.csv": `2026-11-23 18:00:00.000 UTC,"postgres","shop",41,"127.0.0.1:5000",69700000.29,1,"INSERT",2026-11-23 18:00:00 UTC,3/2,0,LOG,00000,"statement: ` +
				insert + `",,,,,,,,,"psql","client backend",,0` + "\n",
			"db/queries.sql": insert + ";\n",
		} {
			file := filepath.Join(p.folder, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	},
	"docs/vet.md": func(t *testing.T, p *place) {
		if err := os.WriteFile(filepath.Join(p.folder, "customers.sql"), []byte("INSERT INTO customers (name) VALUES ('a');\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	},
	"docs/check.md": func(t *testing.T, p *place) {
		p.database(t, "postgres", "DATABASE_URL", "CREATE TABLE customers (id uuid PRIMARY KEY, name text);\n")
		p.policy(t, "  customers: {column: id, source: uuidv7}\n")
	},
}

// policy writes keyfill.yaml with some tables.
func (p *place) policy(t *testing.T, tables string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, "keyfill.yaml"), []byte("version: 1\ntables:\n"+tables), 0o644); err != nil {
		t.Fatal(err)
	}
}

// database makes a database whose DSN an environment variable holds, and returns the DSN.
func (p *place) database(t *testing.T, name, variable, tables string) string {
	t.Helper()
	db, dsn := engines[name].empty(t)
	execute(t, db, tables)
	p.env, p.dsn = append(p.env, variable+"="+dsn), dsn
	return dsn
}

// TestCommands: the commands of keyfill in the pages are run, one after the other, in a
// place that the page describes. Of the others it is looked at whether what they name is
// there: targets of make, tests, folders.
func TestCommands(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	here := map[string]*place{}
	used := map[string]bool{}
	ran := 0
	for _, b := range blocks(t, "sh") {
		if b.page == walkthroughPage { // TestWalkthrough
			continue
		}
		if here[b.page] == nil {
			p := &place{folder: t.TempDir(), env: os.Environ()}
			p.policy(t, "  customers: {column: id, source: uuidv7}\n")
			if prepare := places[b.page]; prepare != nil {
				prepare(t, p)
			}
			here[b.page] = p
		}
		s := script{t: t, block: b, place: here[b.page], folder: root, used: used}
		for _, line := range lines(b.text) {
			s.run(line)
		}
		ran += s.ran
	}
	for words := range notRun {
		if !used[words] {
			t.Errorf("notRun lists %q, which is not there", words)
		}
	}
	if ran < 7 {
		t.Errorf("%d commands of keyfill were run, want 7 or more", ran)
	}
}

// script is a block of commands that is run.
type script struct {
	t      *testing.T
	block  block
	place  *place
	folder string // the working folder, in the repository
	used   map[string]bool
	ran    int
}

// lines returns the command lines of a text: a backslash at the end of a line goes on with
// the next one.
func lines(text string) []string {
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\\\n", " ")), "\n")
}

// assignment is a variable before a command.
var assignment = regexp.MustCompile(`^[A-Za-z_]+=`)

// run runs the commands of a line.
func (s *script) run(line string) {
	for _, one := range strings.Split(line, " && ") {
		one = strings.TrimSpace(one)
		if one == "" || strings.HasPrefix(one, "#") {
			continue
		}
		if listed := s.listed(one); listed != "" {
			s.used[listed] = true
			continue
		}
		words, err := split(one)
		if err != nil {
			s.t.Errorf("%s: %v", s.block, err)
			continue
		}
		for len(words) > 1 && (assignment.MatchString(words[0]) || words[0] == "export") {
			words = words[1:]
		}
		s.command(words)
	}
}

// listed returns the entry of notRun by which a command is not run.
func (s *script) listed(line string) string {
	for words := range notRun {
		if strings.HasPrefix(line, words) {
			return words
		}
	}
	return ""
}

// command runs one command, or looks at what it names.
func (s *script) command(words []string) {
	switch {
	case words[0] == "keyfill":
		s.keyfill(words[1:])
	case len(words) > 3 && slices.Equal(words[:3], []string{"go", "run", "./cmd/keyfill"}):
		s.keyfill(words[3:])
	case words[0] == "make":
		s.output(exec.Command("make", append([]string{"-n"}, words[1:]...)...), root)
	case words[0] == "cd" && len(words) == 2:
		s.folder = filepath.Join(s.folder, words[1])
		s.there(s.folder)
	case len(words) > 2 && words[0] == "go" && words[1] == "test":
		s.goTest(words[2:])
	case words[0] == "go" && len(words) > 2 && words[1] == "mod":
		s.module(words)
	case assignment.MatchString(words[0]):
	case words[0] == "git" && len(words) > 1 && words[1] == "clone":
	default:
		s.t.Errorf("%s: no test runs %q, nor is it in notRun", s.block, strings.Join(words, " "))
	}
}

// there reports that a file of the repository is missing.
func (s *script) there(name string) {
	if _, err := os.Stat(name); err != nil {
		s.t.Errorf("%s: %v", s.block, err)
	}
}

// builtCommand runs the command keyfill, without a redirection of what it prints.
func (s *script) keyfill(args []string) {
	for i, arg := range args {
		if strings.HasPrefix(arg, ">") {
			args = args[:i]
			break
		}
	}
	s.ran++
	for end := time.Now().Add(harness.Limit); ; {
		c := exec.Command(builtCommand(s.t), args...)
		c.Env, c.Dir = s.place.env, s.place.folder
		out, err := c.CombinedOutput()
		// A busy server may not say within three seconds what stands before it.
		if strings.Contains(string(out), "what stands before PostgreSQL could not be looked at") && time.Now().Before(end) {
			continue
		}
		if err != nil {
			s.t.Errorf("%s: %s: %v\n%s", s.block, strings.Join(c.Args, " "), err, out)
		}
		return
	}
}

// output runs a program in a folder, and reports that it fails.
func (s *script) output(c *exec.Cmd, folder string) string {
	c.Dir = folder
	out, err := c.CombinedOutput()
	if err != nil {
		s.t.Errorf("%s: %s: %v\n%s", s.block, strings.Join(c.Args, " "), err, out)
	}
	return string(out)
}

// goTest looks whether "go test" would find a test: the folder is there and has one that
// -run matches.
func (s *script) goTest(args []string) {
	run, folder := ".", s.folder
	for i, arg := range args {
		switch {
		case arg == "-run" && i+1 < len(args):
			run = args[i+1]
		case strings.HasPrefix(arg, "./"):
			folder = filepath.Join(s.folder, strings.TrimSuffix(arg, "..."))
		}
	}
	pattern, err := regexp.Compile(run)
	if err != nil {
		s.t.Errorf("%s: %v", s.block, err)
		return
	}
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, test := range testName.FindAllStringSubmatch(string(text), -1) {
			if pattern.MatchString(test[1]) {
				return
			}
		}
	}
	s.t.Errorf("%s: no test of %s matches %q", s.block, folder, run)
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// module looks at "go mod edit -replace path=folder": the folder, which stands beside the
// reader's module, holds the module with this path.
func (s *script) module(words []string) {
	for _, word := range words[2:] {
		path, folder, found := strings.Cut(strings.TrimPrefix(word, "-replace="), "=")
		if !found {
			continue
		}
		below, isClone := strings.CutPrefix(folder, "../keyfill")
		text, err := os.ReadFile(filepath.Join(root, below, "go.mod"))
		if !isClone || err != nil || !strings.HasPrefix(string(text), "module "+path+"\n") {
			s.t.Errorf("%s: %s is not the folder of %s: %v", s.block, folder, path, err)
		}
	}
}
