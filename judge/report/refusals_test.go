package report_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/judge/report"
	"github.com/keyfill/keyfill/judge/trial"
)

// TestRefusals: the share is of the INSERTs that a parser takes, fragments are apart, and
// each family is named.
func TestRefusals(t *testing.T) {
	r := &report.Refusals{Source: "uuidv7"}
	for id, v := range map[string]trial.Verdict{
		"a": {Action: "fill"}, "b": {Action: "keep"}, "c": {Action: "pass"}, "d": {Action: "fill"},
		"e": {Action: "refuse", Kind: "select", Reason: "select"},
		"f": {Action: "refuse", Kind: "select", Reason: "select", Apart: true}, "g": {Action: "fill", Apart: true},
		"h": {Action: "refuse", Kind: "no column list", Reason: "no_column_list"},
	} {
		r.Add(id, v)
	}
	all := &report.Refusals{Source: "uuidv7"}
	all.AddAll(r)
	var b strings.Builder
	if got := all.Share(); got != 25 {
		t.Errorf("Share = %v, want 25", got)
	}
	if all.Print(&b, "applications", 1, 20) || !all.Print(&b, "applications", 1, 25) || !all.Print(&b, "applications", 1, 0) {
		t.Error("the bar is not what it is")
	}
	for _, want := range []string{"applications, uuidv7: 1 of 4 INSERTs are refused, 25.00 %: MISSED: 20 % at most", "and 1 of 2 fragments; 1 need a table's columns", "select: select", "    1  e"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("printed %q, which lacks %q", b.String(), want)
		}
	}
}
