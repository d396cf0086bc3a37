package main

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// planChange returns the steps from one source of a column to another, by way of the
// engine's own counter: at no time do two sources of keyfill number the column, and no
// process has to stop for that. A column that the engine cannot number beside others is
// left by all processes first.
func planChange(f *planFigures) ([]planStep, error) {
	steps, err := f.handback()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range f.rows {
		names = append(names, f.literal(name))
	}
	in := " FROM keyfill_sequences WHERE name IN (" + strings.Join(names, ", ") + ")"
	steps = append(steps, planStep{
		Title: "End the last process with keyfill. Then delete the rows that bind the column to its source.",
		SQL:   []string{"DELETE" + in},
		Check: "SELECT COUNT(*)" + in,
		Look:  "it is 0, now and a minute later: a process with the old source that still runs makes its row again, and the new source is refused until that process has ended and the row is deleted.",
	})
	next := planStep{
		Title: fmt.Sprintf("Print the steps to the new source: keyfill plan there --table %s. Write the new store, name, block or lock into the entry of the policy that the plan prints.", shellWord(f.written)),
	}
	if f.dialect.Family == dialect.FamilyPostgreSQL {
		next.Title += " Or give the processes this entry: keyfill draws from the column's own sequence then, and there is nothing to arrange."
		next.Policy = fmt.Sprintf("%s: {column: %s, source: {kind: native}}", catalog.YAMLString(f.written), catalog.YAMLString(f.keyWritten))
	}
	return append(steps, next), nil
}
