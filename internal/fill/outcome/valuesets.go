package outcome

import (
	"context"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// If a value in the only row of VALUES is a set (of a set-returning function),
// PostgreSQL stores several rows. So the values are written in such a way that the
// engine refuses a set: see plans.Plan.GuardsSets.

// SetRefused returns a refusal if err means that the engine has found a set among the
// values, and otherwise err.
func SetRefused(p *plans.Plan, err error) error {
	if err == nil || !p.GuardsSets {
		return err
	}
	// The error is "set-returning functions are not allowed in COALESCE", in any language.
	if c, ok := sqlcode.Of(err); !ok || c.State != "0A000" || !strings.Contains(err.Error(), "COALESCE") {
		return err
	}
	r := p.Refused(rewrite.ErrSet)
	return table.Of(&p.Inserts[0]).NewError(r.Table, r.Column, r.Offset, fmt.Errorf("%w: %w", rewrite.ErrSet, err))
}

// errStoredMore is returned when the engine has stored one row of VALUES as several
// rows.
var errStoredMore = anchor.New("rows", "more rows were stored than the statement has, perhaps with one key: undo it, and look for a rule that inserts into the table")

// storedMore returns an error if a statement with VALUES has stored more rows than it
// has, on an engine whose values may be sets. It also gives up the integers that are
// reserved for its keys.
func (a Answer) storedMore(ctx context.Context) error {
	p, c := a.x.Plan, a.x.Conn
	if !p.Alone() || a.in.Rows < 1 || a.in.Upsert.Conflict == plans.ConflictConditional {
		return nil
	}
	if n, err := a.res.RowsAffected(); err != nil || n <= int64(a.in.Rows) {
		return nil
	}
	for i, d := range p.Draws {
		if a.x.Holes.Counts[i] > 0 && a.table.KeyColumns[d.Key].Source == nil {
			c.DrawingFor(a.table, d.Key).DropBlock(ctx)
		}
	}
	return a.table.KeyError(0, errStoredMore)
}
