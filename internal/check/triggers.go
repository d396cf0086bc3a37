package check

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// lookAtTrigger adds a finding where a trigger sets the key column too.
func (c *checker) lookAtTrigger(t *target, i int, col *catalog.Column) {
	trigger := c.triggerOn(t.found, col.Name)
	if trigger == nil {
		return
	}
	f := Finding{Severity: Error, Rule: ruleTriggerFills, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Column,
		Message: fmt.Sprintf("the trigger %q sets the key column too, so that another key is stored than keyfill has sent and reports", trigger.Name),
		Remedy:  c.dropTrigger(t.found, trigger)}
	if onlyNull(trigger.Body, col.Name) {
		f.Severity = Info
		f.Message = fmt.Sprintf("the trigger %q sets the key column where an INSERT has no key: keys that do not come from keyfill are of another kind", trigger.Name)
	}
	c.add(f)
}

// triggerOn returns a trigger of a table that sets a column, as far as its text tells;
// nil for none.
func (c *checker) triggerOn(t *catalog.Listed, column string) *catalog.Trigger {
	if len(t.Triggers) == 0 {
		return nil
	}
	name := quoted(column)
	sets := regexp.MustCompile(`(?i)\bnew\s*\.\s*["` + "`" + `\[]?` + name + `["` + "`" + `\]]?\s*:?=`)
	updates := regexp.MustCompile(`(?is)\bupdate\b.*\bset\b[^;]*["` + "`" + `\[\s,]` + name + `["` + "`" + `\]]?\s*=[^;]*\bwhere\b`)
	into := regexp.MustCompile(`(?is)\binto\s+new\s*\.\s*["` + "`" + `\[]?` + name + `\b`)
	for i := range t.Triggers {
		trigger := &t.Triggers[i]
		switch {
		case trigger.Before && (assigns(sets, trigger.Body) || into.MatchString(trigger.Body)),
			!trigger.Before && strings.Contains(strings.ToLower(trigger.Body), strings.ToLower(t.Name)) && updates.MatchString(trigger.Body):
			return trigger
		}
	}
	return nil
}

// quoted returns the name of a column as a pattern. SQLite keeps a name in any bytes,
// and no pattern has some that are no text.
func quoted(column string) string { return regexp.QuoteMeta(strings.ToValidUTF8(column, "\uFFFD")) }

// assigns reports whether a text assigns to the value that the pattern names, and does
// not only compare it: IF NEW.id = 0 compares, SET NEW.id = 0 assigns.
func assigns(sets *regexp.Regexp, body string) bool {
	for _, at := range sets.FindAllStringIndex(body, -1) {
		if strings.HasSuffix(body[at[0]:at[1]], ":=") {
			return true
		}
		before := strings.Fields(strings.ToLower(body[:at[0]]))
		if len(before) == 0 {
			continue
		}
		switch last := before[len(before)-1]; {
		case last == "set", last == "then", last == "begin", last == "else", strings.HasSuffix(last, ","), strings.HasSuffix(last, ";"):
			return true
		}
	}
	return false
}

// onlyNull reports whether a trigger asks whether the column has no value, and so
// probably sets it only then.
func onlyNull(body, column string) bool {
	asks := regexp.MustCompile(`(?i)\b(new\s*\.\s*["` + "`" + `\[]?` + quoted(column) + `["` + "`" + `\]]?\s+is\s+null|coalesce\s*\(\s*new\s*\.\s*["` + "`" + `]?` + quoted(column) + `)`)
	return asks.MatchString(body)
}
