package check

import (
	"fmt"
	"slices"
	"strings"
)

// Script returns the remedies as one script for the engine's own client. A remedy that is
// no SQL is a comment, and so is the purpose of each statement.
func Script(findings []Finding) string {
	var b strings.Builder
	b.WriteString("-- Read each statement before you run it: nothing was run.\n")
	printed := map[string]bool{}
	// Rows of keyfill's tables come after the tables.
	findings = slices.Clone(findings)
	slices.SortStableFunc(findings, func(a, b Finding) int { return isLater(a) - isLater(b) })
	for _, one := range findings {
		comment := fmt.Sprintf("%s, %s%s: %s", one.Severity, one.Rule, onTable(one), one.Message)
		fmt.Fprintf(&b, "\n-- %s\n", oneLine(comment))
		switch {
		case !one.IsSQL():
			b.WriteString("-- " + strings.ReplaceAll(lines(one.Remedy), "\n", "\n-- ") + "\n")
		case printed[one.Remedy]:
			b.WriteString("-- mended by the same statement above\n")
		default:
			printed[one.Remedy] = true
			b.WriteString(one.Remedy + "\n")
		}
	}
	return b.String()
}

// isLater returns 0 for a finding about keyfill's tables, else 1.
func isLater(f Finding) int {
	if f.Rule == ruleStateTables {
		return 0
	}
	return 1
}

// IsSQL reports whether the remedy is statements.
func (f Finding) IsSQL() bool { return strings.HasSuffix(f.Remedy, ";") }

// oneLine returns a text without ends of lines, which a name may have.
func oneLine(text string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(text) }

// lines returns a text whose lines all end alike: a client takes each end for the end of
// a comment.
func lines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// onTable returns the place of a finding.
func onTable(one Finding) string {
	where := ""
	if one.Table != "" {
		where = " of " + strings.TrimSuffix(one.Table+"."+one.Column, ".")
	}
	if one.Line > 0 {
		where += fmt.Sprintf(" (line %d)", one.Line)
	}
	return where
}
