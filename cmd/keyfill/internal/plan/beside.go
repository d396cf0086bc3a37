package plan

//row:changes | the steps that `keyfill plan` prints | `cmd/keyfill/internal/plan`, a file for each kind, and `raise.go` for the counter; `figures.go` reads the table, `states.go` its states, `engine.go` has each engine's SQL. `e2e/apps` executes the steps

import (
	"fmt"
	"slices"
)

// beside returns the steps that replace a column's sequence by one of another name. The new
// sequence begins above the numbers of the old one, with which processes still insert. It
// sets the last number of the old one itself, so the user has to run no statement first.
func beside(f *figures) ([]Step, error) {
	switch {
	case !f.column.Integer:
		return nil, fmt.Errorf("%s is %s, and a sequence numbers integer columns: add a column by keyfill plan uuid", f.ref, f.column.Type)
	case f.keyBits() == 0:
		return nil, fmt.Errorf("%s is %s, and integers of keyfill have 31 bits or more: make it wider first, see keyfill plan bigint", f.ref, f.column.Type)
	case f.states == nil && f.foreign == "":
		return nil, fmt.Errorf("no row of keyfill_sequences counts for %s: begin with keyfill plan there", f.ref)
	case f.column.Identity != "":
		return nil, fmt.Errorf("%s is numbered by the engine too (%s), whose counter has to be looked at: leave --name out", f.ref, f.column.Identity)
	case f.sharing != nil || f.shared != nil:
		return nil, fmt.Errorf("the state of %s numbers other columns too, and would end for them: leave --name out", f.ref)
	}
	if err := f.refuseForeign(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(f.states, func(s state) bool { return s.name == f.Name }) {
		return nil, fmt.Errorf("%s is numbered by the state %q already: give another --name", f.ref, f.Name)
	}
	f.room = min(f.room, 1<<f.keyBits()-1)
	at, err := f.raised(f.used())
	if err != nil {
		return nil, err
	}
	steps := []Step{{
		Title:  "Give this policy to new processes. One after the other may begin; processes with the old entry go on.",
		Policy: f.policyNamed(f.Name, fmt.Sprintf("start_at: %d", at)),
		Check:  fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s >= %d", f.table, f.key, at),
		Look:   "it grows with each row of a process with the new entry.",
	}}
	for _, s := range f.states {
		steps = append(steps, Step{
			Title: "See that the old sequence ends there, as soon as a process with the new entry has inserted.",
			Check: "SELECT incarnation FROM keyfill_sequences WHERE name = " + f.literal(s.name),
			Look:  fmt.Sprintf("it ends in <%d, or in < and a lower number where the sequence had an end before.", at),
		})
	}
	return append(steps, Step{
		Title: "End the last process with the old entry. Keep start_at: in the policy, and the row of the old sequence: a process that begins with the old entry by mistake stays below its end.",
	}), nil
}
