package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// change returns the steps from one source of a column to another. Between the two sources
// the engine numbers the column. So two sources of keyfill never number it at the same
// time, and no process has to stop. If the engine cannot number the column beside keyfill,
// all processes stop using keyfill first.
func change(f *figures) ([]Step, error) {
	if f.Name != "" {
		return beside(f)
	}
	steps, err := f.handbackSteps()
	if err != nil {
		return nil, err
	}
	steps = append(steps, f.unbind())
	next := Step{
		Title: fmt.Sprintf("Print the steps to the new source: keyfill plan there --table %s. Write the new store, name, block or lock into the entry of the policy that the plan prints.", shellWord(f.written)),
	}
	if f.engine.sequences {
		next.Title += " Or give the processes this entry: keyfill draws from the column's own sequence then, and there is nothing to arrange."
		next.Policy = f.policyNative()
	}
	return append(steps, next), nil
}

// policyNative returns the table's entry in the policy with a source that draws from the
// column's own sequence (kind: native).
func (f *figures) policyNative() string {
	key := fmt.Sprintf("{column: %s, %ssource: {kind: native}}", catalog.YAMLString(f.keyWritten), f.maxBits())
	if f.entry != nil {
		key = f.entry.from(f.column.Name, "{kind: native}", key)
	}
	return catalog.YAMLString(f.written) + ": " + key
}

// unbind returns the step that removes the column from all rows of keyfill_sequences. A row
// whose counter numbers other columns too is kept, but no longer names the column: if the
// row were deleted, processes would create it again for these columns, and it would begin
// below numbers that others have reserved.
//
// If the step runs late, it does not delete the row of the new source. That row begins
// above the numbers of the engine, even if it has the name of the old source's row.
func (f *figures) unbind() Step {
	var gone []string
	for _, name := range f.rows {
		if !slices.Contains(f.shared, name) {
			gone = append(gone, f.literal(name))
		}
	}
	old := ""
	if f.end > 0 {
		old = fmt.Sprintf(" AND next_value <= %d", f.end)
	}
	s := Step{Title: "End the last process with keyfill that numbers the column. Then take its rows away, which bind the column to its source.", Name: "unbind"}
	if gone != nil {
		s.SQL = append(s.SQL, "DELETE FROM keyfill_sequences WHERE name IN ("+strings.Join(gone, ", ")+")"+old)
	}
	if f.shared != nil {
		s.Title = "End the last process with keyfill that numbers the column. Then take its rows away, which bind the column to its source; a state that numbers other columns too stays, and names no column any more."
	}
	for _, name := range f.shared {
		s.SQL = append(s.SQL, "UPDATE keyfill_sequences SET table_name = '', column_name = '' WHERE name = "+f.literal(name)+old)
	}
	s.Check = fmt.Sprintf("SELECT COUNT(*) FROM keyfill_sequences WHERE table_name IN (%s, %s) AND column_name = %s",
		f.literal(f.ref.Schema+"."+f.ref.Table), f.literal(f.ref.Table), f.literal(f.ref.Name))
	s.Look = "it is 0, now and a minute later: a process with the old source that still runs, or starts, may make its row again, and the new source is refused until that process has ended and the row is deleted. Where it is not 0, print this plan again."
	return s
}
