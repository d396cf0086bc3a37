package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/check"
)

// printFindings prints findings in a policy file for people.
func printFindings(out io.Writer, file string, findings []keyfill.Finding) error {
	var b strings.Builder
	shown := coloursOf(out)
	count := map[string]int{}
	for _, one := range findings {
		count[one.Severity]++
		where := file
		if one.Line > 0 {
			where = fmt.Sprintf("%s:%d", file, one.Line)
		}
		fmt.Fprintf(&b, "%s: %s: %s", where, shown.paint(severityColours[one.Severity], one.Severity), one.Rule)
		if one.Table != "" {
			b.WriteString(": " + strings.TrimSuffix(one.Table+"."+one.Column, "."))
		}
		fmt.Fprintf(&b, "\n    %s\n    remedy: %s\n", one.Message, strings.ReplaceAll(one.Remedy, "\n", "\n    "))
	}
	fmt.Fprintf(&b, "%s, %s, %s", howMany(count[check.Error], "error"), howMany(count[check.Warning], "warning"), howMany(count[check.Info], "info"))
	if slices.ContainsFunc(findings, func(one keyfill.Finding) bool { return one.Class == check.FirstInsert }) {
		b.WriteString(": the first INSERT fails")
	}
	b.WriteString("\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// severityColours are the colours of severities on a terminal; the others have none.
var severityColours = map[string]colour{check.Error: red, check.Warning: yellow}

// printRemedies prints the remedies as one script.
func printRemedies(out io.Writer, findings []keyfill.Finding) error {
	var all []check.Finding
	for _, one := range findings {
		all = append(all, check.Finding(one))
	}
	_, err := io.WriteString(out, check.Script(all))
	return err
}

// printFindingsJSON prints findings as JSON, one a line.
func printFindingsJSON(out io.Writer, findings []keyfill.Finding) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, one := range findings {
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	return nil
}
