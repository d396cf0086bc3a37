package quiet_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/judge/quiet"
)

func TestReport(t *testing.T) {
	r, err := quiet.New("postgres")
	if err != nil {
		t.Fatal(err)
	}
	r.Add("one", "INSERT INTO t (a, b) VALUES (1, 'x')")
	r.Add("two", "CREATE TABLE t (a int DEFAULT 1)")
	var out strings.Builder
	r.Print(&out, 3)
	// Two calls and one statement, of each the tables, the place, the settings and
	// everything; the transaction by the statement alone.
	if want := "postgres: 13 texts with what nobody knows, 0 of them taken for harmless\n"; out.String() != want || r.Wrong != 0 {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	if _, err := quiet.New("none"); err == nil {
		t.Error("there is a report for a dialect that does not exist")
	}
}
