package apps_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
)

const walkthroughPage = "docs/walkthrough.md"

// TestWalkthrough runs the commands of docs/walkthrough.md as one script, and compares what
// they print with the page; with -update it writes the page. No save of the application has
// failed, and the engine has each of them with its own children.
func TestWalkthrough(t *testing.T) {
	t.Parallel()
	testturn.OnlyWhole(t)
	blocks := blocksOf(t, walkthroughPage)
	if len(blocks)%2 != 0 {
		t.Fatalf("%s has %d blocks, want commands and what they print by turns", walkthroughPage, len(blocks))
	}
	db, dsn := engines["postgres"].empty(t)
	folder := t.TempDir()
	printed := walk(t, folder, dsn, 10_000, blocks)

	for i, text := range printed {
		shown := blocks[2*i+1]
		if got, want := withoutNumbers(text), withoutNumbers(shown.text); got != want && !*harness.UpdateDocs {
			t.Errorf("%s: the commands print\n%s", shown, text)
		}
	}
	if *harness.UpdateDocs {
		updateShown(t, walkthroughPage, printed)
	}

	all := strings.Join(printed, "")
	saved := regexp.MustCompile(`(?m)^saved (\d+), failed (\d+)$`).FindAllStringSubmatch(all, -1)
	if len(saved) != 15 {
		t.Errorf("%d programs have said what they saved, want 15", len(saved))
	}
	sum := 0
	for _, s := range saved {
		n, err := strconv.Atoi(s[1])
		if err != nil || n == 0 || s[2] != "0" {
			t.Errorf("a program has %s", s[0])
		}
		sum += n
	}
	verdicts := regexp.MustCompile(`(?m)^(\d+)\|(\d+)$`).FindAllStringSubmatch(all, -1)
	if len(verdicts) != 3 {
		t.Errorf("the engine was asked %d times, want 3", len(verdicts))
	}
	for _, v := range verdicts {
		if v[1] == "0" || v[2] != "0" {
			t.Errorf("of %s saves %s are wrong", v[1], v[2])
		}
	}
	wantWhole(t, db, folder, sum)
}

// walk runs the commands in one shell, and returns what each block of them prints on the
// standard output.
func walk(t *testing.T, folder, dsn string, invoices int, blocks []block) (printed []string) {
	t.Helper()
	clone, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	const end = "-- end of block --\n"
	script := "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
	for i := 0; i < len(blocks); i += 2 {
		if b := blocks[i]; b.language != "sh" || !blocks[i+1].has("output") {
			t.Fatalf("%s: want commands and what they print by turns", b)
		}
		script += strings.ReplaceAll(blocks[i].text, "../../keyfill", clone) + "echo '" + strings.TrimSpace(end) + "'\n"
	}
	command := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
	command.Dir = folder
	path := strings.Join([]string{filepath.Dir(builtCommand(t)), filepath.Dir(clientProgram(t, "psql")), os.Getenv("PATH")}, string(filepath.ListSeparator))
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "PATH="+path, "LND_DSN="+dsn, fmt.Sprintf("INVOICES=%d", invoices))
	var told strings.Builder
	command.Stderr = &told
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &told)
	}
	for line := range strings.Lines(told.String()) {
		if !strings.Contains(line, " INFO keyfill: ") && !strings.Contains(line, " WARN keyfill: ") && !strings.Contains(line, ": NOTICE: ") {
			t.Errorf("the commands say %s", line)
		}
	}
	printed = strings.Split(string(out), end)
	return printed[:len(printed)-1]
}

// wantWhole fails if the engine has other rows than the saves have brought, or keys that are
// no UUIDs of version 7.
func wantWhole(t *testing.T, db *sql.DB, folder string, saves int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "lnd", "saved"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), "\n"); got != saves {
		t.Errorf("%d saves are written down, want %d", got, saves)
	}
	for table, each := range map[string]int{
		"invoices": 1, "invoice_features": 2, "invoice_htlcs": 1, "invoice_htlc_custom_records": 1, "invoice_events": 1,
	} {
		var count int
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&count); err != nil {
			t.Fatal(err)
		}
		if count != saves*each {
			t.Errorf("%s has %d rows, want %d", table, count, saves*each)
		}
	}
	var others int
	const query = "SELECT count(*) FROM (SELECT id FROM invoices UNION ALL SELECT id FROM invoice_htlcs UNION ALL SELECT id FROM invoice_events) k WHERE substr(id::text, 15, 1) <> '7'"
	if err := db.QueryRow(query).Scan(&others); err != nil || others > 0 {
		t.Errorf("%d keys are no UUIDs of version 7, error %v", others, err)
	}
}

var digits = regexp.MustCompile(`\d+`)

// withoutNumbers returns a text in which all numbers are the same.
func withoutNumbers(text string) string { return digits.ReplaceAllString(text, "N") }

// updateShown writes what the commands print into the page.
func updateShown(t *testing.T, page string, printed []string) {
	t.Helper()
	path := filepath.Join(root, page)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	next := regexp.MustCompile("(?s)```text output\n(.*?)```").ReplaceAllStringFunc(string(text), func(string) string {
		i++
		return "```text output\n" + printed[i-1] + "```"
	})
	if err := os.WriteFile(path, []byte(next), 0o644); err != nil {
		t.Fatal(err)
	}
}
