package executor

import (
	"errors"
	"strings"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store"
)

// GoneTable is the error of a draw from a counter whose table does not exist any more.
type GoneTable struct{ error }

func (g GoneTable) Unwrap() error { return g.error }

// doubtUndrawn discards what a table's name is known to mean if its keys could not be
// drawn because the table is gone. The name may mean another table now. The statement's
// own proof of what the name means does not show that, since a statement without keys is
// not sent, and a text whose table was not found in the session's schemas has no proof.
func doubtUndrawn(x *execution.Execution, err error) error {
	d := x.Plan.Dialect
	if !errors.Is(err, store.ErrColumn) || !relation.ShowsMissing(d, err) {
		return err
	}
	for _, draw := range x.Plan.Draws {
		name := table.Of(&x.Plan.Inserts[draw.Insert]).Table
		x.Conn.Doubt(name[strings.LastIndexByte(name, '.')+1:])
	}
	return GoneTable{err}
}

// Proves reports whether the text of an execution contains a proof of what its keys
// depend on: that the transaction is open, or which table a name means.
func Proves(x *execution.Execution) bool {
	return x.Form.Joined || x.Plan.ProvesName() && x.Holes.Any()
}
