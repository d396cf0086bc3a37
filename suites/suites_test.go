package suites_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/suites"
	"github.com/keyfill/keyfill/suites/filled"
)

var (
	mariadb    = testdb.New(testdb.MariaDB())
	postgresql = testdb.New(testdb.PostgreSQL())
)

func TestMain(m *testing.M) { testdb.Main(m, mariadb, postgresql) }

// TestSuites runs the suites that $KEYFILL_SUITES matches, plain and filled: make suites
// sets it. Without it the test reads the list, downloads nothing and starts no server.
func TestSuites(t *testing.T) {
	all, err := suites.Load(os.DirFS("list"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("the list has no suite")
	}
	text, isAsked := os.LookupEnv("KEYFILL_SUITES")
	if isAsked && text == "" {
		t.Fatal("KEYFILL_SUITES is empty: give a regular expression of names, or . for all")
	}
	if !isAsked {
		return
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		t.Fatalf("KEYFILL_SUITES: %v", err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var rows []suites.Row
	for _, s := range all {
		if pattern.MatchString(s.Name) {
			t.Run(s.Name, func(t *testing.T) {
				program, err := suites.Build(t.Context(), s, root, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range s.Runs {
					t.Run(r.Driver, func(t *testing.T) { rows = append(rows, run(t, s, program, r)...) })
				}
			})
		}
	}
	if len(rows) == 0 {
		t.Fatalf("KEYFILL_SUITES=%s: nothing has run", text)
	}
	fmt.Print("\n", suites.Head)
	for _, row := range rows {
		fmt.Print(row)
	}
}

// run runs one suite with one driver, plain and by each policy.
func run(t *testing.T, s *suites.Suite, program *suites.Program, r suites.Run) []suites.Row {
	plain, _, err := program.Run(t.Context(), r, nil, func() suites.Place { return place(t, r.Engine) })
	if err != nil {
		t.Fatal("plain:", err)
	}
	if plain.Tests() == 0 {
		t.Fatal("plain: no test has run")
	}
	if failed := plain.Failed(); len(failed) > 0 {
		t.Logf("failed plain: %s", strings.Join(failed, ", "))
	}
	var rows []suites.Row
	for _, policy := range suites.Policies {
		t.Run(policy.Name, func(t *testing.T) {
			file, err := policy.File(s, r)
			if err != nil {
				t.Fatal(err)
			}
			row := suites.Row{Suite: s, Run: r, Policy: policy, Plain: plain}
			if file == nil {
				rows = append(rows, row)
				return
			}
			o, counts, err := program.Run(t.Context(), r, file, func() suites.Place { return place(t, r.Engine) })
			if err != nil {
				t.Fatal(err)
			}
			row.Filled, row.Counts, row.Comparison = o, counts, suites.Compare(plain, o)
			rows = append(rows, row)
			judge(t, row)
		})
	}
	return rows
}

// judge fails the test where a row is not as the list of its suite has it.
func judge(t *testing.T, row suites.Row) {
	switch none := row.Counts.Filled == 0; {
	case none && row.Suite.FillsNone == "" && !row.Policy.UUIDs:
		t.Error("no INSERT was filled")
	case !none && row.Suite.FillsNone != "":
		t.Errorf("%d INSERTs were filled, and list/%s.yaml says that none is", row.Counts.Filled, row.Suite.Name)
	case row.Counts == (filled.Counts{}):
		t.Error("keyfill has seen no INSERT")
	}
	unlisted, alike := row.Comparison.Unexpected(row.Suite, row.Run.Driver, row.Policy.Name)
	for _, name := range unlisted {
		t.Errorf("%s differs, and is not in list/%s.yaml; filled it says:\n%s", name, row.Suite.Name, excerpt(row.Filled.Output[name]))
	}
	for _, name := range alike {
		t.Errorf("%s does not differ: take it out of list/%s.yaml", name, row.Suite.Name)
	}
}

// excerpt returns the lines of keyfill in an output, and the last lines of it.
func excerpt(text string) string {
	var said strings.Builder
	lines := strings.SplitAfter(text, "\n")
	end := max(0, len(lines)-12)
	for _, line := range lines[:end] {
		if strings.Contains(line, "keyfill: ") && !strings.Contains(line, " INFO ") {
			said.WriteString(line)
		}
	}
	return said.String() + strings.Join(lines[end:], "")
}

// place makes an empty database and an empty folder.
func place(t *testing.T, engine string) suites.Place {
	p := suites.Place{Folder: t.TempDir()}
	switch engine {
	case suites.MariaDB:
		p.Base = mariadb.DSN(mariadb.Database(t, "mysql"))
	case suites.PostgreSQL:
		p.Base = postgresql.DSN(postgresql.Database(t, "pgx"))
	}
	p.Base, _, _ = strings.Cut(p.Base, "?")
	return p
}
