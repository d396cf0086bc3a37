package check

import (
	"fmt"
	"slices"
	"strings"
)

// Script returns the remedies as one script for the engine's own client. A remedy that is
// not SQL is a comment, and so is the purpose of each statement.
func Script(findings []Finding) string {
	var b strings.Builder
	b.WriteString("-- Read each statement before you run it: nothing was run.\n")
	printed := map[string]bool{}
	// Statements that use keyfill's tables come after the statements that create them.
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

// IsSQL reports whether the remedy is SQL statements.
func (f Finding) IsSQL() bool { return strings.HasSuffix(f.Remedy, ";") }

// oneLine returns a text without ends of lines, which a name may have.
func oneLine(text string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(text) }

// lines returns a text whose lines all end with \n, since a client ends a comment at any
// end of a line.
func lines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// onTable returns the table and the column of a finding, as a part of its message.
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
