package suites_test

import (
	"os"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/suites"
)

// least is the least file of a suite.
const least = `
module: example.com/orm
version: v1.2.3
folder: .
runs: [{engine: PostgreSQL, driver: pgx, quote: '"'}, {engine: SQLite, driver: sqlite3}]
integers: [{column: Id, max_bits: 31, tables: [Orders]}, {column: id, drivers: [sqlite3], tables: [logs]}]
no_uuids: there is no key of text
`

func TestParse(t *testing.T) {
	if _, err := suites.Parse("least", []byte(least)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"version", "version: v1.2.3", "", "version"},
		{"field", "folder: .", "folder: .\nfile: x", "file"},
		{"folder", "folder: .", "folder: ../other", "folder"},
		{"engine", "engine: SQLite", "engine: Oracle", "Oracle"},
		{"driver", ", driver: sqlite3", "", "driver"},
		{"uuids", "no_uuids: there is no key of text", "", "no_uuids"},
		{"reason", "folder: .", "folder: .\ndifferences: [{tests: [TestA]}]", "reason"},
		{"policy", "folder: .", "folder: .\ndifferences: [{tests: [TestA], reason: r, policies: [uuidv8]}]", "uuidv8"},
		{"run", "folder: .", "folder: .\ndifferences: [{tests: [TestA], reason: r, drivers: [mysql]}]", "mysql"},
		{"twice", "driver: sqlite3", "driver: pgx", "SQLite"},
	} {
		_, err := suites.Parse("least", []byte(strings.Replace(least, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestPolicyFile(t *testing.T) {
	s, err := suites.Parse("least", []byte(least))
	if err != nil {
		t.Fatal(err)
	}
	file, err := suites.Policies[1].File(s, s.Runs[0])
	if err != nil {
		t.Fatal(err)
	}
	const want = `tables:
    '"Orders"':
        column: '"Id"'
        max_bits: 31
        source:
            ensure_schema: true
            exclusive: true
            follow_explicit: true
            kind: sequence
            transaction: joined
version: 1
`
	if string(file) != want {
		t.Errorf("the file is\n%s, want\n%s", file, want)
	}
	if file, err = suites.Policies[2].File(s, s.Runs[0]); file != nil || err != nil {
		t.Errorf("uuidv7 has the file %s, %v, want none", file, err)
	}
}

// TestList: keyfill reads the policy of each suite of the list.
func TestList(t *testing.T) {
	all, err := suites.Load(os.DirFS("list"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("the list has no suite")
	}
	for _, s := range all {
		for _, r := range s.Runs {
			files := 0
			for _, p := range suites.Policies {
				file, err := p.File(s, r)
				if err != nil {
					t.Fatal(err)
				}
				if file == nil {
					continue
				}
				files++
				if _, err := policy.Parse(file); err != nil {
					t.Errorf("%s, %s, %s: %v", s.Name, r.Driver, p.Name, err)
				}
			}
			if files < 2 {
				t.Errorf("%s, %s: %d policies, want 2 or more", s.Name, r.Driver, files)
			}
		}
	}
}
