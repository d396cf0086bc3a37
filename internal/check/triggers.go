package check

import (
	"fmt"

	"github.com/keyfill/keyfill/internal/catalog"
)

// lookAtTrigger adds a finding where a trigger sets the key column too.
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
