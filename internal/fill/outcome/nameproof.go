package outcome

import (
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// The text of an execution may contain a proof of what its table's name means: see
// relation.ProvenNaming. If the proof fails, nothing is stored, and what was known
// about the session's schema is discarded. Outside of a transaction the statement is
// then decided and sent again.

// ErrOtherTable is returned if the name of an INSERT's table means another table than
// the one for which its keys were made.
var ErrOtherTable = anchor.New("name-moved", "the name now means another table than when the key was drawn: run the transaction again, or write schema.table")

// otherTable returns the proof (of what a table's name means) that has failed with err,
// and its INSERT; both are nil if no proof has failed.
func otherTable(x *execution.Execution, err error) (insert *plans.Insert, proof *plans.Proof) {
	if err == nil || !x.Plan.ProvesName() {
		return nil, nil
	}
	for _, d := range x.Plan.Draws {
		in := &x.Plan.Inserts[d.Insert]
		proof := &in.Target.Keys[d.Key].Proof
		if proof.Open != "" && relation.ShowsOther(x.Plan.Dialect, err, proof.Schema, proof.Name) {
			return in, proof
		}
	}
	return nil, nil
}

// Meant returns an ErrOtherTable if err shows that the proof of what a table's name means
// has failed, and otherwise err.
func Meant(x *execution.Execution, err error) error {
	in, _ := otherTable(x, err)
	if in == nil || errors.Is(err, ErrOtherTable) {
		return err
	}
	t := table.Of(in)
	return t.NewError(t.Table, t.KeyColumns[0].Name, -1, fmt.Errorf("%w: %w", ErrOtherTable, err))
}

// DoubtNames discards what is known about the meaning of a table's name if the proof of
// that meaning has failed.
func DoubtNames(x *execution.Execution, err error) {
	if _, proof := otherTable(x, err); proof != nil {
		x.Conn.Doubt(proof.Name)
	}
}
