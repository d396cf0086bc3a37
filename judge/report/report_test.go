package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/judge/report"
	"github.com/keyfill/keyfill/judge/tree"
	"github.com/keyfill/keyfill/judge/trial"
)

// verdicts returns a report of n filled INSERTs and those given.
func verdicts(n int, more ...trial.Verdict) *report.Report {
	r := report.New("oracle")
	for range n {
		r.Add("id", string(tree.KindValues), trial.Verdict{Judge: trial.Checker, Kind: tree.KindValues, Action: "fill", Took: time.Microsecond})
	}
	for _, v := range more {
		r.Add("other", string(v.Kind), v)
	}
	return r
}

var (
	refused = trial.Verdict{Judge: trial.Checker, Kind: tree.KindValues, Action: "refuse", Reason: "executable_comment"}
	missed  = trial.Verdict{Judge: trial.Checker, Kind: tree.KindValues, Action: "refuse", Reason: "grammar", Missed: true}
	apart   = trial.Verdict{Judge: trial.Checker, Kind: tree.KindValues, Action: "refuse", Reason: "grammar", Missed: true, Apart: true}
	wrong   = trial.Verdict{Judge: trial.Checker, Kind: tree.KindValues, Action: "fill", Wrong: "a row went", Took: time.Second}
)

func TestPassed(t *testing.T) {
	bars := report.Bars{Values: 99.5}
	query := trial.Verdict{Judge: trial.Checker, Kind: tree.KindQuery, Action: "refuse", Reason: "select"}
	cases := []struct {
		name   string
		report *report.Report
		bars   report.Bars
		want   bool
	}{
		{"all filled", verdicts(1), bars, true},
		{"199 of 200 filled", verdicts(199, refused), bars, true},
		{"198 of 200 filled", verdicts(198, refused, refused), bars, false},
		{"no bar", verdicts(1, refused, refused), report.Bars{}, true},
		{"one missed", verdicts(999, missed), bars, false},
		{"one missed apart", verdicts(999, apart), bars, true},
		{"one wrong", verdicts(999, wrong), report.Bars{}, false},
		{"a query without a bar", verdicts(1, query), bars, true},
		{"nothing judged", verdicts(0), bars, false},
	}
	for _, c := range cases {
		var out strings.Builder
		if got := c.report.Passed(&out, c.bars); got != c.want {
			t.Errorf("%s: Passed = %v:\n%s", c.name, got, out.String())
		}
	}
	r := verdicts(1)
	r.Add("query", report.IntegerQuery, query)
	var out strings.Builder
	if r.Passed(&out, report.Bars{Query: 98}) || !strings.Contains(out.String(), "MISSED") {
		t.Errorf("a query that is not filled passes its bar:\n%s", out.String())
	}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	verdicts(2, refused, missed, wrong, apart).Print(&out, 1)
	const want = `== oracle: 6 texts

judged by the checker alone, held to no bar where there is a parser: 6
  kind                     texts  filled   kept  passed refused missed  wrong
  values                       6       2      0       0       3      2      1  grammar 2, executable_comment 1

unknown words at 0 places in the clauses of 0 INSERTs: 0 texts, 0 filled that the parser takes, 0 filled that it does not take

wrong: 1
  other  a row went

missed: 1
  other  values: refuse: grammar

missed, if the engine takes what its parser does not: 1
  other  values: refuse: grammar

slowest: other, 1s
`
	if out.String() != want {
		t.Errorf("Print writes\n%s\nwant\n%s", out.String(), want)
	}
}
