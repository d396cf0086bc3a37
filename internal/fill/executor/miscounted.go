package executor

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// errRule replaces errRowsGrew and similar errors if the table has a rule.
var errRule = anchor.New("rows", "a rule of the table has run its query again, with another number of rows: write the rule as a trigger, or select the keys too")

// miscounted returns why an INSERT … SELECT had another number of rows than was
// counted: errRule if its table has a rule, otherwise reason. It also returns reason if
// the engine cannot be asked, as in a transaction that an error has aborted.
func miscounted(ctx context.Context, x *execution.Execution, insert int, reason error) error {
	in := &x.Plan.Inserts[insert]
	if in.Query == nil {
		return reason
	}
	ctx, cancel := execution.Aside(ctx)
	defer cancel()
	rule, err := catalog.InsertRule(ctx, x.Plan.Dialect, catalog.Conn(x.Conn.Own()), in.Query.Table.Schema, in.Query.Table.Table)
	if err != nil || rule == (catalog.Rule{}) {
		return reason
	}
	return fmt.Errorf("%w: %s", errRule, rule)
}

// grewError returns the error of an INSERT … SELECT, from keyfill's reason and the
// engine's error.
func grewError(x *execution.Execution, insert int, reason, err error) error {
	t := table.Of(&x.Plan.Inserts[insert])
	return t.NewError(t.Table, t.KeyColumns[0].Name, -1, fmt.Errorf("%w: %w", reason, err))
}
