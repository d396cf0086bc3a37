package main

// The tests are inside the package: nothing can import a command.

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// result is what a command line gave.
type result struct {
	out, errOut string
	code        int
}

// keyfillRun runs a command line in this process.
func keyfillRun(t testing.TB, in string, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(in), &out, &errOut)
	return result{out.String(), errOut.String(), code}
}

// keyfillOut is keyfillRun for a command line that must succeed; it returns
// what that prints.
func keyfillOut(t testing.TB, in string, args ...string) string {
	t.Helper()
	r := keyfillRun(t, in, args...)
	if r.code != 0 || r.errOut != "" {
		t.Fatalf("keyfill %q: exit code %d, standard error %q", args, r.code, r.errOut)
	}
	return r.out
}

// writeFile writes a file into a folder of the test's and returns its path.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExitCodes(t *testing.T) {
	config := writeFile(t, "keyfill.yaml", testPolicy)
	withDialect := writeFile(t, "mysql.yaml", "dialect: mysql\n"+testPolicy)
	t.Setenv("KEYFILL_CONFIG", "")
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // part of standard error
	}{
		{"unknown command", []string{"bogus"}, 2, `unknown command "bogus"`},
		{"unknown flag", []string{"gen", "--nope"}, 2, "--nope"},
		{"flag of the wrong type", []string{"gen", "-n", "x"}, 2, `"x"`},
		{"no key", []string{"inspect"}, 2, "at least 1 arg"},
		{"too many arguments", []string{"gen", "ulid", "ulid"}, 2, "at most 1 arg"},
		{"unknown kind", []string{"gen", "winter"}, 2, "uuidv7, uuidv4, ulid, comb, or say --config and a table"},
		{"kind with a state", []string{"gen", "snowflake"}, 2, "uuidv7, uuidv4, ulid, comb, or say --config and a table"},
		{"no rule", []string{"vet", "--fail-on", ""}, 2, "--fail-on names no rule"},
		{"kind that makes no keys", []string{"gen", "identity"}, 2, "say --config and a table"},
		{"unknown layout", []string{"gen", "--layout", "x"}, 2, "sequential_at_end"},
		{"unknown epoch", []string{"gen", "comb", "--epoch", "x"}, 2, "dotnet"},
		{"epoch of another kind", []string{"gen", "ulid", "--epoch", "unix"}, 2, "comb"},
		{"layout that the kind has not", []string{"gen", "ulid", "--layout", "sequential_at_end"}, 1, "sequential_at_end"},
		{"no keys", []string{"gen", "-n", "0"}, 2, "at least one"},
		{"no rows", []string{"demo", "--rows", "0"}, 2, "at least one"},
		{"argument of demo", []string{"demo", "x"}, 2, "unknown command"},
		{"no policy", []string{"explain", "--dialect", "mysql", "SELECT 1"}, 1, "$KEYFILL_CONFIG"},
		{"policy that is not there", []string{"explain", "--config", "nowhere.yaml", "--dialect", "mysql", "SELECT 1"}, 1, "nowhere.yaml"},
		{"no dialect", []string{"explain", "--config", config, "SELECT 1"}, 2, "--dialect"},
		{"unknown dialect", []string{"explain", "--config", config, "--dialect", "db2", "SELECT 1"}, 2, `"db2"`},
		{"other dialect than the policy's", []string{"explain", "--config", withDialect, "--dialect", "mariadb", "SELECT 1"}, 2, "dialect: mysql"},
		{"statement and --json", []string{"explain", "--config", withDialect, "--json", "SELECT 1"}, 2, "standard input"},
		{"two statements", []string{"explain", "SELECT 1", "SELECT 2"}, 2, "at most 1 arg"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := keyfillRun(t, "", tt.args...)
			if r.code != tt.code || !strings.Contains(r.errOut, tt.want) || !strings.HasPrefix(r.errOut, "keyfill: ") {
				t.Errorf("keyfill %q: exit code %d, standard error %q; want %d, %q", tt.args, r.code, r.errOut, tt.code, tt.want)
			}
			if r.out != "" {
				t.Errorf("standard output is %q, want nothing", r.out)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help", "explain"}, {"check", "--help"}, {"demo", "-h"}, {"gen", "-h"}, {"inspect", "-h"}, {"version", "-h"}} {
		out := keyfillOut(t, "", args...)
		if !strings.Contains(out, "Usage:") {
			t.Errorf("keyfill %q prints no usage: %q", args, out)
		}
		for line := range strings.Lines(out) {
			if len(line) > 110 {
				t.Errorf("keyfill %q: a line of %d characters: %q", args, len(line), line)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	if out := keyfillOut(t, "", "version"); !strings.HasPrefix(out, "keyfill ") || !strings.Contains(out, " go1.") {
		t.Errorf("keyfill version prints %q", out)
	}
}
