package fill

import (
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/rewrite"
)

// The text of an execution may prove what its table's name means: see
// keys.ProvenNaming. Where the proof fails, nothing is stored, and what was known of
// the place is forgotten. Outside of a transaction the statement is decided and sent
// again.

// errOtherTable is returned where the name of an INSERT's table means another one than its
// keys were made for.
var errOtherTable = anchor.New("name-moved", "the key was drawn for another table than the one that the name means now: a function changed search_path or made a temporary table, or somebody made a table of this name: run the transaction again, or write the schema in front of the name")

// otherTable returns the proof that has failed with err, nil where none has.
func otherTable(x *execution, err error) (insert *rewrite.Insert, proof *rewrite.Proof) {
	if err == nil || !x.plan.ProvesName() {
		return nil, nil
	}
	for _, d := range x.plan.Draws {
		in := &x.plan.Inserts[d.Insert]
		proof := &in.Target.Keys[d.Key].Proof
		if proof.Open != "" && keys.ShowsOther(x.plan.Dialect(), err, proof.Schema, proof.Name) {
			return in, proof
		}
	}
	return nil, nil
}

// meant returns err, or what it means where a proof has failed.
func meant(x *execution, err error) error {
	in, _ := otherTable(x, err)
	if in == nil || errors.Is(err, errOtherTable) {
		return err
	}
	t := keys.TableOf(in)
	return t.NewError(t.Table, t.KeyColumns[0].Name, -1, fmt.Errorf("%w: %w", errOtherTable, err))
}

// doubtNames forgets what the name of a table means whose proof has failed.
func doubtNames(x *execution, err error) {
	if _, proof := otherTable(x, err); proof != nil {
		x.conn.Doubt(proof.Name)
	}
}

// goneTable is the error of a draw from the numbering of a table that is not there any more.
type goneTable struct{ error }

func (g goneTable) Unwrap() error { return g.error }

// doubtUndrawn forgets what the name of a table means if its keys could not be drawn because
// the table is gone. The name may mean another one by now: no proof tells that before there
// are keys, and a text has none whose table was not found where the session was.
func doubtUndrawn(x *execution, err error) error {
	d := x.plan.Dialect()
	if err == nil || !errors.Is(err, store.ErrColumn) || !keys.ShowsMissing(d, err) {
		return err
	}
	for _, draw := range x.plan.Draws {
		name := keys.TableOf(&x.plan.Inserts[draw.Insert]).Table
		x.conn.Doubt(name[strings.LastIndexByte(name, '.')+1:])
	}
	return goneTable{err}
}

// unprepared is both for a text that could not be prepared, since its name is looked up there.
func unprepared(c *connection, p *rewrite.Plan, err error) error {
	x := &execution{conn: c, plan: p}
	doubtNames(x, err)
	return meant(x, err)
}

// proves reports whether the text of an execution proves what its keys depend on: keys that
// are drawn need that.
func proves(x *execution) bool { return x.joined || x.plan.ProvesName() && x.holes.Any() }

// maxDecisions is how often a statement is decided: the first proof may show that the
// session is in another place, and the second that the name means another table there than
// when it was last looked for.
const maxDecisions = 3

// decided calls a function that decides and sends a statement, until no proof shows that
// its table's name means another table than was thought.
func decided[T any](c *connection, once func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		answer, err := once()
		if n == maxDecisions || !decidesAgain(c, err) {
			return answer, err
		}
	}
}

// decidesAgain reports whether a statement that has ended in err is decided once more: the
// name of its table meant another one, or one that is gone, and no transaction has failed
// with it.
func decidesAgain(c *connection, err error) bool {
	if err == nil || c.Tx != session.Outside && c.DB.Dialect().ErrorsAbort {
		return false
	}
	var gone goneTable
	return errors.Is(err, errOtherTable) || errors.As(err, &gone)
}
