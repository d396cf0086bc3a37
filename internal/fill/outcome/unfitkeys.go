package outcome

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// noteUnfit finds out whether a statement has failed because a key column cannot hold
// the keys of its source: the engine or the driver has refused the statement, and
// according to the catalog the column has an unsuitable type.
func noteUnfit(ctx context.Context, x *execution.Execution, err error) {
	if x.Form.Kept || x.Plan.ByFunction() || !mayBeUnfit(x, err) || ctx.Err() != nil {
		return
	}
	f := unfitFacts(ctx, x)
	t := table.Of(&x.Plan.Inserts[0])
	for i, d := range x.Plan.Draws {
		if d.Insert == 0 && x.Holes.Counts[i] > 0 && d.Key < len(f.Unfit) && f.Unfit[d.Key] != nil {
			x.Fate.Unfit = true
			x.Conn.DrawingFor(t, d.Key).NoteUnfit(ctx, f.Unfit[d.Key])
		}
	}
}

// mayBeUnfit reports whether an error may be about the type of a value. A driver that
// encodes values by the column's type, as pgx does, refuses such a value itself.
func mayBeUnfit(x *execution.Execution, err error) bool {
	var network net.Error
	switch {
	case execution.IsBadConn(err), x.Fate.Gone != nil, x.Fate.Undone:
		return false
	case sqlcode.Answered(err):
		class := sqlcode.ClassOf(x.Plan.Dialect, err)
		return (class == dialect.ErrorOther || class == dialect.ErrorRefused) && !isOfRow(x.Plan.Dialect, err)
	}
	return !errors.As(err, &network) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// rowErrors lists the engines' error codes for a row that violates a constraint: a
// NULL, a check, a foreign key, a trigger. Such an error does not mean that the column
// refuses the type of the key.
var rowErrors = map[dialect.Family][]int{
	dialect.FamilyMySQL:     {1048, 1364, 1442, 1452, 1644, 3819, 4025},
	dialect.FamilySQLite:    {275, 787, 1299, 1811},
	dialect.FamilySQLServer: {515, 547, 50000},
	dialect.FamilyOracle:    {1400, 2290, 2291},
}

// isOfRow reports whether an error is one of rowErrors. PostgreSQL has classes of
// SQLSTATE for them: integrity constraints, and errors that functions raise.
func isOfRow(d *dialect.Dialect, err error) bool {
	code, _ := sqlcode.Of(err)
	return strings.HasPrefix(code.State, "23") || strings.HasPrefix(code.State, "P0") || slices.Contains(rowErrors[d.Family], code.Number)
}

// unfitFacts returns the catalog's facts about the rows of the execution's table. If
// the known facts do not show that the columns accept their keys, the catalog is
// queried, and again after a while. That answer is used only here, since the table may
// be altered before the next INSERT.
func unfitFacts(ctx context.Context, x *execution.Execution) *table.RowFacts {
	gate := x.Conn.GateOf(table.Of(&x.Plan.Inserts[0]))
	if f := gate.Rows.Load(); f != nil && !f.IsUnfit() {
		return f
	}
	if f := gate.Refused.Load(); f != nil && time.Now().UnixNano() < gate.RefusedUntil.Load() {
		return f
	}
	f, err := askRowFacts(ctx, x, execution.FoundPatience)
	if err != nil {
		f = unknownRows
	}
	gate.Refused.Store(f)
	gate.RefusedUntil.Store(time.Now().Add(execution.AskedAgain).UnixNano())
	return f
}
