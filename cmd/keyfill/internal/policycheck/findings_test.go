package policycheck_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/policycheck"
)

// TestSharedStatements: a remedy of several lines is printed once, and findings that share it
// name the first one. A remedy of one line is printed with each.
func TestSharedStatements(t *testing.T) {
	const tables = "CREATE TABLE a (n INT);\nCREATE TABLE b (n INT);"
	var out strings.Builder
	err := policycheck.PrintText(&out, "keyfill.yaml", []keyfill.Finding{
		{Severity: "error", Rule: "state-tables", Table: "keyfill_sequences", Message: "the table is not there", Remedy: tables},
		{Severity: "error", Rule: "state-tables", Table: "keyfill_workers", Line: 4, Message: "the table is not there", Remedy: tables},
		{Severity: "warning", Rule: "a", Message: "m", Remedy: "in the policy"},
		{Severity: "warning", Rule: "b", Message: "m", Remedy: "in the policy"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `keyfill.yaml: error: state-tables: keyfill_sequences
    the table is not there
    remedy: CREATE TABLE a (n INT);
    CREATE TABLE b (n INT);
keyfill.yaml:4: error: state-tables: keyfill_workers
    the table is not there
    remedy: the statements of state-tables: keyfill_sequences above
keyfill.yaml: warning: a
    m
    remedy: in the policy
keyfill.yaml: warning: b
    m
    remedy: in the policy
2 errors, 2 warnings, 0 infos
`
	if out.String() != want {
		t.Errorf("it prints\n%s\nwant\n%s", &out, want)
	}
}
