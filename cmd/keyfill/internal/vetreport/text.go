package vetreport

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/internal/vet"
)

// Form selects the findings that are printed.
type Form struct {
	All    bool     // print every INSERT, not only the findings
	FailOn []string // the rules that make the exit code 1
}

// isTold reports whether a finding is printed without --all.
func (f *Form) isTold(one *vet.Finding) bool {
	return one.Rule != "" && !one.Ignored && (one.Rule != vet.RuleDynamic || slices.Contains(f.FailOn, vet.RuleDynamic))
}

// PrintText prints findings for people, and the summary.
func (v *Report) PrintText(w io.Writer, shown terminal.Colours, f *Form) {
	for i := range v.Findings {
		one := &v.Findings[i]
		switch {
		case f.isTold(one) || f.All && one.Rule != "" && !one.Ignored:
			fmt.Fprintf(w, "%s: %s: %s\n", place(one), shown.Paint(ruleColours[one.Rule], vet.Prefix+one.Rule), one.Message)
		case f.All && one.Ignored:
			fmt.Fprintf(w, "%s: %s is turned off (%s): %s\n", place(one), vet.Prefix+one.Rule, one.Excuse, one.Message)
		case f.All:
			fmt.Fprintf(w, "%s: %s: %s\n", place(one), shown.Paint(terminal.ActionColours[one.Action], one.Action), intoText(one.Outcome))
		}
	}
	printSummary(w, v, vet.Summarize(v.Findings))
}

// ruleColours are the colours of rules on a terminal; other rules have none.
var ruleColours = map[string]terminal.Colour{vet.RuleRefused: terminal.Red, vet.RuleLastInsertID: terminal.Red, vet.RuleSessionReads: terminal.Yellow, vet.RuleIgnore: terminal.Yellow, vet.RuleDynamic: terminal.Yellow}

// place returns the file, line and column of a finding, in the form that editors read.
func place(one *vet.Finding) string { return one.At.String() }

// intoText describes an INSERT.
func intoText(o vet.Outcome) string {
	text := "an INSERT into " + o.Table
	if o.Reason != "" {
		text += ", " + o.Reason
	}
	return text
}

// printSummary prints how many INSERTs, packages and files were read, and how many INSERTs
// have each outcome.
func printSummary(w io.Writer, v *Report, s vet.Summary) {
	fmt.Fprintf(w, "%s in %s and %s:", terminal.Count(s.Inserts, "INSERT"), terminal.Count(v.packages, "package"), terminal.Count(v.files, ".sql file"))
	for i, action := range vet.Actions {
		fmt.Fprintf(w, "%s %d %s", map[bool]string{false: ","}[i == 0], s.Actions[action], action)
	}
	fmt.Fprintln(w)
	if len(s.Tables) > 0 {
		fmt.Fprintf(w, "\n%-30s", "table")
		for _, action := range vet.Actions {
			fmt.Fprintf(w, "%9s", action)
		}
		fmt.Fprintln(w)
	}
	for _, t := range s.Tables {
		name := t.Table
		if name == "" {
			name = "(not known)"
		}
		fmt.Fprintf(w, "%-30s", name)
		for _, action := range vet.Actions {
			fmt.Fprintf(w, "%9d", t.Actions[action])
		}
		fmt.Fprintln(w)
	}
	if len(s.Reasons) > 0 {
		fmt.Fprintln(w, "\nrefused since")
	}
	for _, r := range s.Reasons {
		fmt.Fprintf(w, "%6d  %s (first in %s)\n", r.Count, r.Reason, r.First)
	}
	var rest []string
	if s.Unknown > 0 {
		rest = append(rest, terminal.Count(s.Unknown, "call")+" with a text that is not known")
	}
	if s.Ignored > 0 {
		rest = append(rest, terminal.Count(s.Ignored, "finding")+" turned off by comments")
	}
	if len(rest) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(rest, "; "))
	}
	if note := v.ORMs(); note != "" {
		fmt.Fprintf(w, "\n%s\n", note)
	}
}

// Line is a line of "vet --json".
type Line struct {
	File string `json:"file"` // where the text stands
	Line int    `json:"line"` // from 1
	Col  int    `json:"col"`  // the column in bytes, from 1; 0 in a file of SQL
	vet.Outcome
	Rule    string `json:"rule"`    // refused, lastinsertid, sessionreads, wholeupdate, dynamic or ignore; empty if there is nothing to report
	Message string `json:"message"` // the finding in words
	Ignored string `json:"ignored"` // the reason of the comment that turns the finding off; empty if there is none
}

// PrintJSON prints every INSERT and every finding.
func (v *Report) PrintJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for i := range v.Findings {
		one := &v.Findings[i]
		if err := encoder.Encode(Line{
			File: one.At.Filename, Line: one.At.Line, Col: one.At.Column,
			Outcome: one.Outcome, Rule: one.Rule, Message: one.Message, Ignored: one.Excuse,
		}); err != nil {
			return err
		}
	}
	return nil
}
