package check

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// lookAtTrigger adds a finding if a trigger sets the key column too.
func (c *checker) lookAtTrigger(t *target, i int, col *catalog.Column) {
	trigger := t.found.TriggerOn(col.Name)
	if trigger == nil {
		return
	}
	f := Finding{Severity: Error, Rule: ruleTriggerFills, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Column,
		Message: fmt.Sprintf("the trigger %q sets the key column too, so that another key is stored than keyfill has sent and reports", trigger.Name),
		Remedy:  c.dropTrigger(t.found, trigger)}
	if trigger.SetsOnlyNull(col.Name) {
		f.Severity = Info
		f.Message = fmt.Sprintf("the trigger %q sets the key column where an INSERT has no key: keys that do not come from keyfill are of another kind", trigger.Name)
	}
	c.add(f)
}

// lookAtReads adds a finding for each default and trigger that reads the session's last
// number, which is not the number that keyfill has made.
func (c *checker) lookAtReads() error {
	found := func(t *catalog.Listed, column, what, text string) {
		if reads := c.e.SessionReads(text); len(reads) > 0 {
			c.add(Finding{Severity: Warning, Rule: ruleSessionRead, Table: t.Name, Column: column,
				Message: fmt.Sprintf("%s calls %s, which does not know the integers that keyfill makes, and answers with another row's", what, strings.Join(reads, ", ")),
				Remedy:  "let the program give the value, which it learns by RETURNING or keyfill.Record"})
		}
	}
	for _, t := range c.over.Tables {
		for i := range t.Columns {
			found(t, t.Columns[i].Name, "the default", "SELECT "+t.Columns[i].Default)
		}
		for i := range t.Triggers {
			found(t, "", fmt.Sprintf("the trigger %q", t.Triggers[i].Name), t.Triggers[i].Body)
		}
	}
	return nil
}
