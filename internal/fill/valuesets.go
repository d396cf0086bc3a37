package fill

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// Where a value of the only row of VALUES is a set, PostgreSQL stores several rows.
// The values are written so that the engine refuses one: see rewrite.Plan.GuardsSets.

// setRefused returns err, or the refusal that it means where the engine found that a
// value is a set.
func setRefused(p *rewrite.Plan, err error) error {
	if err == nil || !p.GuardsSets() {
		return err
	}
	// "set-returning functions are not allowed in COALESCE", in any language.
	if c, ok := sqlcode.Of(err); !ok || c.State != "0A000" || !strings.Contains(err.Error(), "COALESCE") {
		return err
	}
	r := p.Refused(rewrite.ErrSet)
	return keys.TableOf(&p.Inserts[0]).NewError(r.Table, r.Column, r.Offset, fmt.Errorf("%w: %w", rewrite.ErrSet, err))
}

// errStoredMore is for a row of VALUES that the engine has stored as several rows.
var errStoredMore = errors.New("the engine stored more rows than the statement has, so that several may have one key: look for a rule that inserts into the table, and undo the statement")

// storedMore is the error for a statement with VALUES that has stored more rows than
// it has. What is reserved for its keys is given up.
func (x *execution) storedMore(ctx context.Context, res driver.Result) error {
	if !x.plan.Dialect().Grammar.ValueSets || !x.plan.Alone() {
		return nil
	}
	in := &x.plan.Inserts[0]
	if in.Rows < 1 || in.Conflict == rewrite.ConflictConditional {
		return nil
	}
	if n, err := res.RowsAffected(); err != nil || n <= int64(in.Rows) {
		return nil
	}
	t := keys.TableOf(in)
	for i, d := range x.plan.Draws {
		if x.holes.Counts[i] > 0 && t.KeyColumns[d.Key].Source == nil {
			x.conn.DB.DrawingFor(&x.conn.Conn, t, d.Key).DropBlock(ctx)
		}
	}
	return t.KeyError(0, errStoredMore)
}
