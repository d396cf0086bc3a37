package outcome

import (
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
)

// numberedKeys returns the keys that the rows of a query may have got, all with an
// unknown outcome: the engine does not report which rows were stored, nor in which
// order they were numbered.
func numberedKeys(x *execution.Execution) []execution.RecordedKey {
	var numbered []execution.RecordedKey
	for _, insert := range x.Plan.Counted() {
		t := table.Of(&x.Plan.Inserts[insert])
		for row := range x.Drawn.Rows[insert] {
			for i, d := range x.Plan.Draws {
				if d.Insert != insert || !x.Plan.Inserts[insert].Target.Keys[d.Key].Counted {
					continue
				}
				k := &t.KeyColumns[d.Key]
				key := boxing.Integers(x.Drawn.Keys[i][1].(int64)+1+row, 1, k.Layout)[0]
				numbered = append(numbered, execution.RecordedKey{Table: t.Table, Column: k.Name, Row: int(row), Key: k.Reported(key)})
			}
		}
	}
	return numbered
}

// Record records the keys of the execution with their outcomes.
func Record(x *execution.Execution, err error) {
	if x.Recording.Recorder == nil {
		return
	}
	keys := RecordedKeys(x)
	if !x.Plan.Alone() {
		ending{x, err}.noteTogether(keys)
		x.Recording.Write(keys)
		return
	}
	o := execution.OutcomeUnknown
	if err != nil {
		o = ending{x, err}.outcome()
	}
	for i := range keys {
		keys[i].Outcome = o
		if err == nil && len(x.Fate.Rows) == len(keys) {
			keys[i].Outcome = x.Fate.Rows[i]
		}
	}
	x.Recording.Write(keys)
}

// RecordedKeys returns the keys that the execution has drawn, in row order.
func RecordedKeys(x *execution.Execution) []execution.RecordedKey {
	var recorded []execution.RecordedKey
	for _, p := range bind.FilledPlaces(x.Plan, x.Holes) {
		if x.Plan.Inserts[p.Insert].Explained {
			continue
		}
		t := table.Of(&x.Plan.Inserts[p.Insert])
		k := &t.KeyColumns[p.Key]
		recorded = append(recorded, execution.RecordedKey{
			Table:  t.Table,
			Column: k.Name,
			Row:    p.Row,
			Key:    k.Reported(x.Drawn.Keys[p.Draw][p.N]),
		})
	}
	return append(recorded, numberedKeys(x)...)
}
