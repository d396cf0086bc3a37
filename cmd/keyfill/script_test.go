package main

import (
	"database/sql"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"modernc.org/sqlite"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

var updateScripts = flag.Bool("update", false, "write what the commands print into testdata/script")

// TestScripts runs testdata/script: what each command prints, as text and as JSON.
//
//	keyfill ARGUMENT...   runs the command in a process of its own
//	sqlite FILE SCRIPT    executes SQL on a database of SQLite
//	insert FILE SQL       executes a statement there through keyfill, by keyfill.yaml
func TestScripts(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	testscript.Run(t, testscript.Params{
		Files:               testturn.Some(t, scripts, 2),
		UpdateScripts:       *updateScripts,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("KEYFILL_CONFIG", "")
			e.Setenv("KEYFILL_MODE", "")
			e.Setenv("TMPDIR", e.WorkDir)
			// vet asks the go command, for which a module in a script has no network.
			e.Setenv("GOWORK", "off")
			e.Setenv("GOPROXY", "off")
			e.Setenv("GOFLAGS", "")
			e.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"keyfill": runScripted,
			"sqlite":  executeScripted,
			"insert":  insertScripted,
		},
	})
}

// runScripted runs the command. "! keyfill" wants an exit code other than 0.
func runScripted(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv(commandVariable, strings.Join(args, "\x1f"))
	err := ts.Exec(os.Args[0])
	ts.Setenv(commandVariable, "")
	if (err != nil) != neg {
		ts.Fatalf("keyfill %q: %v", args, err)
	}
}

func executeScripted(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sqlite FILE SCRIPT")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(ts.ReadFile(args[1]))
	ts.Check(err)
}

// insertScripted executes a statement as a program does. "! insert FILE SQL TEXT" wants an
// error that contains the text.
func insertScripted(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && !neg || len(args) != 3 && neg {
		ts.Fatalf("usage: insert FILE SQL, or ! insert FILE SQL TEXT")
	}
	cfg, err := policy.Load(ts.MkAbs("keyfill.yaml"))
	ts.Check(err)
	db, err := database.OpenFilled(database.NewConnector(new(sqlite.Driver), ts.MkAbs(args[0])), cfg)
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[1])
	if !neg {
		ts.Check(err)
	} else if err == nil || !strings.Contains(err.Error(), args[2]) {
		ts.Fatalf("%s: %v", args[1], err)
	}
}

// TestHelpFitsScreen: the help of each command fits a screen, names its exit codes, and
// ends with an example of itself.
func TestHelpFitsScreen(t *testing.T) {
	var all func(cmd *cobra.Command) []*cobra.Command
	all = func(cmd *cobra.Command) []*cobra.Command {
		found := []*cobra.Command{cmd}
		for _, one := range cmd.Commands() {
			found = append(found, all(one)...)
		}
		return found
	}
	for _, cmd := range all(newRoot()) {
		text := helpText(cmd)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > helpHeight {
			t.Errorf("%s: the help has %d lines, want %d at most", cmd.CommandPath(), len(lines), helpHeight)
		}
		for _, line := range lines {
			if len(line) > helpWidth {
				t.Errorf("%s: %q has %d characters, want %d at most", cmd.CommandPath(), line, len(line), helpWidth)
			}
		}
		if !strings.Contains(text, "Exit code: 0 ") {
			t.Errorf("%s: the help has no exit codes", cmd.CommandPath())
		}
		if cmd.Example == "" || !strings.HasSuffix(text, "\nExample:\n"+cmd.Example+"\n") || !strings.Contains(cmd.Example, "keyfill ") {
			t.Errorf("%s: the help does not end with an example", cmd.CommandPath())
		}
	}
}

// TestHelpExamples: what stands in the help as an example works in a checkout, on a
// database with the tables of its policy.
func TestHelpExamples(t *testing.T) {
	folder := t.TempDir()
	cfg, err := os.ReadFile("../../keyfill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// keyfill period is about a table whose numbers have periods, and which has a row.
	const invoices = `  invoices: {column: number, source: {kind: sequence, block: 1, format: "{year}-{n}", period: {every: year, column: issued_on}}}` + "\n"
	cfg = append(cfg, invoices...)
	if err := os.WriteFile(filepath.Join(folder, "keyfill.yaml"), cfg, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	t.Setenv("KEYFILL_CONFIG", "")
	if err := os.WriteFile(filepath.Join(folder, "orders.sql"), []byte("INSERT INTO orders (note) VALUES ('a');\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "shop.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{
		"CREATE TABLE customers (id TEXT UNIQUE, name TEXT)", "CREATE TABLE devices (id BLOB NOT NULL PRIMARY KEY)",
		"CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT)", "CREATE TABLE log_shop (id TEXT NOT NULL PRIMARY KEY)",
		"CREATE TABLE invoices (number TEXT NOT NULL PRIMARY KEY, issued_on DATE)",
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	filled := (&planned{driver: "sqlite", dsn: "shop.db"}).open(t, strings.TrimSpace(strings.Replace(invoices, "block: 1", "block: 1, ensure_schema: true", 1)))
	if _, err := filled.Exec("INSERT INTO invoices (issued_on) VALUES ('2025-05-03')"); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, cmd := range append(newRoot().Commands(), newRoot()) {
		if cmd.Example == "  keyfill demo" {
			continue // TestScripts runs it, with fewer rows
		}
		line := strings.TrimSpace(strings.ReplaceAll(cmd.Example, "\\\n", " "))
		if strings.HasPrefix(line, "source ") {
			line = strings.TrimSuffix(strings.TrimPrefix(line, "source <("), ")")
		}
		args := words(line)
		if len(args) < 2 || args[0] != "keyfill" {
			t.Errorf("%s: the example %q is no command line", cmd.Name(), line)
			continue
		}
		r := keyfillRun(t, "", args[1:]...)
		found := cmd.Name() == "check" && r.code == 1 && r.out != "" // what it finds is its work
		if r.code != 0 && !found {
			t.Errorf("%s: exit code %d, %s", line, r.code, r.errOut)
		}
		ran++
	}
	if ran < 12 {
		t.Errorf("%d examples were run", ran)
	}
}

// words splits a command line at spaces outside of single quotes.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}
