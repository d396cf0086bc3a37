package policycheck

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/internal/check"
)

// PrintText prints findings in a policy file for people.
func PrintText(out io.Writer, file string, findings []keyfill.Finding) error {
	var b strings.Builder
	shown := terminal.ColoursOf(out)
	count := map[string]int{}
	printed := map[string]string{} // the rule and the table of the first finding, by remedy
	for _, one := range findings {
		count[one.Severity]++
		where := file
		if one.Line > 0 {
			where = fmt.Sprintf("%s:%d", file, one.Line)
		}
		fmt.Fprintf(&b, "%s: %s: ", where, shown.Paint(severityColours[one.Severity], one.Severity))
		subject := one.Rule
		if one.Table != "" {
			subject += ": " + strings.TrimSuffix(one.Table+"."+one.Column, ".")
		}
		b.WriteString(subject)
		remedy := strings.ReplaceAll(one.Remedy, "\n", "\n    ")
		if first, isPrinted := printed[remedy]; isPrinted && remedy != one.Remedy { // of several lines
			remedy = "the statements of " + first + " above"
		} else {
			printed[remedy] = subject
		}
		fmt.Fprintf(&b, "\n    %s\n    remedy: %s\n", one.Message, remedy)
	}
	fmt.Fprintf(&b, "%s, %s, %s", terminal.Count(count[check.Error], "error"), terminal.Count(count[check.Warning], "warning"), terminal.Count(count[check.Info], "info"))
	if slices.ContainsFunc(findings, func(one keyfill.Finding) bool { return one.Class == check.FirstInsert }) {
		b.WriteString(": the first INSERT fails")
	}
	b.WriteString("\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// severityColours are the colours of severities on a terminal; other severities have none.
var severityColours = map[string]terminal.Colour{check.Error: terminal.Red, check.Warning: terminal.Yellow}

// PrintScript prints the remedies as one script.
func PrintScript(out io.Writer, findings []keyfill.Finding) error {
	var all []check.Finding
	for _, one := range findings {
		all = append(all, check.Finding(one))
	}
	_, err := io.WriteString(out, check.Script(all))
	return err
}

// PrintJSON prints findings as JSON, one a line.
func PrintJSON(out io.Writer, findings []keyfill.Finding) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, one := range findings {
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	return nil
}
