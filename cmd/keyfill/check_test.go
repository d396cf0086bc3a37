package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
)

// checkDatabase makes a database of SQLite and returns its path.
func checkDatabase(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secretname.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

const checkPolicy = `version: 1
tables:
  orders: {column: id, source: {kind: sequence, ensure_schema: true}}
  devices:
    column: id
    layout: binary
`

// TestCheck: the exit code is 0 without errors, 1 with one and 2 where nothing could be
// looked at.
func TestCheck(t *testing.T) {
	t.Setenv("KEYFILL_CONFIG", "")
	t.Chdir(t.TempDir())
	clean := checkDatabase(t, "CREATE TABLE orders (id INTEGER PRIMARY KEY)", "CREATE TABLE devices (id BLOB NOT NULL PRIMARY KEY)")
	faulty := checkDatabase(t, "CREATE TABLE orders (id INTEGER PRIMARY KEY)", "CREATE TABLE devices (id TEXT NOT NULL PRIMARY KEY)")
	unfit := checkDatabase(t, "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT)", "CREATE TABLE devices (id BLOB NOT NULL PRIMARY KEY)")
	config := writeFile(t, "keyfill.yaml", checkPolicy)
	bad := writeFile(t, "bad.yaml", "version: 1\ntables:\n  orders: {colum: id}\n  items: {column: id, source: sequense}\n")
	other := writeFile(t, "other.yaml", "dialect: postgres\n"+checkPolicy)
	t.Setenv("CHECK_DSN", clean)
	t.Setenv("CHECK_EMPTY", "")
	for _, tt := range []struct {
		name string
		args []string
		code int
		out  []string // parts of standard output
		err  []string // parts of standard error
	}{
		{"clean", []string{"--config", config, "--driver", "sqlite", "--dsn", clean}, 0, []string{"0 errors, 0 warnings, 0 infos"}, nil},
		{"by variable", []string{"--config", config, "--driver", "sqlite", "--dsn-env", "CHECK_DSN"}, 0, []string{"0 errors"}, nil},
		{"a fault", []string{"--config", config, "--driver", "sqlite", "--dsn", faulty}, 1, []string{"keyfill.yaml:6: error: type: devices.id", "remedy: in the policy", "\n1 error, 0 warnings, 0 infos"}, []string{"there are errors"}},
		{"a script", []string{"--config", config, "--driver", "sqlite", "--dsn", faulty, "--fix"}, 1, []string{"nothing was run", "-- in the policy"}, nil},
		{"the first INSERT", []string{"--config", config, "--driver", "sqlite", "--dsn", unfit}, 1, []string{"\n1 error, 0 warnings, 0 infos: the first INSERT fails\n"}, nil},
		{"another dialect", []string{"--config", other, "--driver", "sqlite", "--dsn", clean}, 1, []string{"other.yaml:1: error: dialect"}, nil},
		{"a bad policy", []string{"--config", bad, "--driver", "sqlite", "--dsn", clean}, 2, nil, []string{"bad.yaml:3:", "bad.yaml:4:", `did you mean "sequence"`}},
		{"no policy", []string{"--config", "nowhere.yaml", "--driver", "sqlite", "--dsn", clean}, 2, nil, []string{"nowhere.yaml"}},
		{"no database", []string{"--config", config, "--driver", "sqlite", "--dsn", filepath.Join(t.TempDir(), "secretname", "x.db")}, 2, nil, []string{"names a file that is not there"}},
		{"memory", []string{"--config", config, "--driver", "sqlite", "--dsn", ":memory:"}, 2, nil, []string{"in memory"}},
		{"unreachable", []string{"--config", writeFile(t, "p.yaml", checkPolicy), "--driver", "pgx", "--dsn", "postgres://secretname:secretword@127.0.0.1:1/x"}, 2, nil, []string{"cannot be looked at"}},
		{"unreadable DSN", []string{"--config", config, "--driver", "mysql", "--dsn", "secretname:secretword"}, 2, nil, []string{"cannot read the DSN"}},
		{"no driver", []string{"--config", config, "--dsn", clean}, 2, nil, []string{"--driver"}},
		{"no DSN", []string{"--config", config, "--driver", "sqlite"}, 2, nil, []string{"--dsn"}},
		{"an empty variable", []string{"--config", config, "--driver", "sqlite", "--dsn-env", "CHECK_EMPTY"}, 2, nil, []string{"CHECK_EMPTY"}},
		{"two DSNs", []string{"--config", config, "--driver", "sqlite", "--dsn", clean, "--dsn-env", "CHECK_DSN"}, 2, nil, []string{"say one of --dsn and --dsn-env"}},
		{"json and fix", []string{"--config", config, "--driver", "sqlite", "--dsn", clean, "--json", "--fix"}, 2, nil, []string{"take one"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := keyfillRun(t, "", append([]string{"check"}, tt.args...)...)
			if r.code != tt.code {
				t.Errorf("exit code %d, want %d: %s%s", r.code, tt.code, r.out, r.errOut)
			}
			for _, want := range tt.out {
				if !strings.Contains(r.out, want) {
					t.Errorf("standard output has no %q: %s", want, r.out)
				}
			}
			for _, want := range tt.err {
				if !strings.Contains(r.errOut, want) {
					t.Errorf("standard error has no %q: %s", want, r.errOut)
				}
			}
			if all := r.out + r.errOut; strings.Contains(all, "secret") {
				t.Errorf("a DSN is printed: %s", all)
			}
		})
	}
}

// TestCheckJSON: each line is an object with the eight fields, and no other.
func TestCheckJSON(t *testing.T) {
	path := checkDatabase(t, "CREATE TABLE order_s (id INTEGER PRIMARY KEY)", "CREATE TABLE devices (id TEXT NOT NULL PRIMARY KEY)")
	config := writeFile(t, "keyfill.yaml", checkPolicy)
	r := keyfillRun(t, "", "check", "--config", config, "--driver", "sqlite", "--dsn", path, "--json")
	if r.code != 1 {
		t.Fatalf("exit code %d: %s", r.code, r.errOut)
	}
	var found []keyfill.Finding
	for line := range strings.Lines(r.out) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for _, name := range []string{"severity", "rule", "table", "column", "line", "message", "remedy", "class"} {
			if _, ok := fields[name]; !ok {
				t.Errorf("%q has no %s", line, name)
			}
		}
		if len(fields) != 8 {
			t.Errorf("%q has %d fields", line, len(fields))
		}
		var one keyfill.Finding
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		found = append(found, one)
	}
	if len(found) != 2 || found[0].Rule != "no-table" || found[0].Line != 3 || !strings.Contains(found[0].Message, `"order_s"`) ||
		found[1].Rule != "type" || found[1].Line != 6 || found[1].Table != "devices" || found[1].Column != "id" ||
		found[0].Class != "some-inserts" || found[1].Class != "some-inserts" {
		t.Errorf("%+v", found)
	}
}

// TestCheckReadsOnly: a database is the same afterwards.
func TestCheckReadsOnly(t *testing.T) {
	path := checkDatabase(t, "CREATE TABLE orders (id INTEGER PRIMARY KEY)", "CREATE TABLE devices (id BLOB NOT NULL PRIMARY KEY)")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keyfillOut(t, "", "check", "--config", writeFile(t, "keyfill.yaml", checkPolicy), "--driver", "sqlite", "--dsn", path)
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the file has changed")
	}
}

// TestCheckScriptComments: a name with the end of a line does not leave its comment.
func TestCheckScriptComments(t *testing.T) {
	path := checkDatabase(t, "CREATE TABLE orders (id INTEGER PRIMARY KEY)", "CREATE TABLE devices (id TEXT NOT NULL PRIMARY KEY)",
		"CREATE TABLE \"odd\nDROP TABLE orders;\" (id TEXT NOT NULL PRIMARY KEY)")
	out := keyfillRun(t, "", "check", "--config", writeFile(t, "keyfill.yaml", checkPolicy), "--driver", "sqlite", "--dsn", path, "--fix").out
	if !strings.Contains(out, "DROP TABLE orders;") {
		t.Fatalf("the table is not in the script:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "DROP TABLE orders") {
			t.Errorf("a name is a statement:\n%s", out)
		}
	}
}

// TestCheckRate: the command finds a state that is too slow for a rate, also in a store that
// it cannot ask.
func TestCheckRate(t *testing.T) {
	path := checkDatabase(t, "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
	config := writeFile(t, "keyfill.yaml", `version: 1
stores:
  central: {driver: etcd, endpoints: ["127.0.0.1:1"]}
tables:
  orders: {column: id, source: {kind: sequence, store: central, ensure_schema: true, block: 1, start: 1}}
`)
	for _, tt := range []struct {
		rate string
		code int
		want string
	}{
		{"5", 0, "0 warnings"},
		{"5000", 0, "hot-state: orders.id"},
		{"-1", 2, "--rate is -1"},
	} {
		r := keyfillRun(t, "", "check", "--config", config, "--driver", "sqlite", "--dsn", path, "--rate", tt.rate)
		if r.code != tt.code || !strings.Contains(r.out+r.errOut, tt.want) {
			t.Errorf("--rate %s: code %d, want %d with %q:\n%s%s", tt.rate, r.code, tt.code, tt.want, r.out, r.errOut)
		}
	}
}
