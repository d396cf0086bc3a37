package forecast

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/rowcount"
	"github.com/keyfill/keyfill/rewrite"
)

// foresight says how a text that gets keys would be sent, as far as that is known
// before it has them.
type foresight struct {
	session   bool // the first key is sent as LAST_INSERT_ID(key)
	joined    bool // the keys are drawn in the transaction of the INSERT
	fromFirst bool // the engine numbers the rows from the first key on
	missing   bool // a table does not exist, as far as the catalog shows
}

// foresee decides how an INSERT would be sent, as [fill.directCall.decide] and
// [executor.choose] do, but draws no key, counts no row and begins no transaction. It
// returns a [plans.Refusal] if the INSERT is refused, or the error that the driver
// would return before it sends the INSERT. It assumes that no transaction is open.
func foresee(ctx context.Context, c *execution.Conn, p *plans.Plan, query string) (foresight, error) {
	h := bind.AssumedHoles(p)
	switch {
	case p.Load:
		return foresight{}, foreseeLoad(c, p)
	case p.NeedsParts():
		if r := executor.UnsuitedParts(c.DB.Tables, p); r != nil {
			return foresight{}, r
		}
		return foresight{}, nil
	}
	if reason := executor.Unsuited(c.DB.Tables, p, query); h.Any() && reason != "" {
		return foresight{}, p.Refused(reason)
	}
	x := &execution.Execution{Conn: c, Plan: p, Query: query, Args: unknownArguments(p), Holes: h}
	var err error
	if x.Form.Session, err = c.SendsLastInsertID(ctx, p); err == nil {
		err = foreseeExecutor(ctx, x)
	}
	f := foresight{session: x.Form.Session, joined: x.Form.Joined, fromFirst: x.Form.FromFirst}
	f.missing = err == nil && slices.ContainsFunc(p.Inserts, func(in plans.Insert) bool {
		facts, err := c.DB.Facts(ctx, &c.Session, table.Of(&in))
		return err == nil && facts.IsUnseen()
	})
	return f, err
}

// foreseeLoad returns a refusal of a bulk load if the driver does not accept its rows
// one by one, or if its keys belong to its transaction.
func foreseeLoad(c *execution.Conn, p *plans.Plan) error {
	for _, d := range p.Draws {
		if !c.DB.Driver.TakesRows() || table.Of(&p.Inserts[d.Insert]).KeyColumns[d.Key].Rule.Joined {
			return p.Refused(rewrite.ErrBulk)
		}
	}
	return nil
}

// foreseeExecutor finds the executor that executor.choose would give an execution.
func foreseeExecutor(ctx context.Context, x *execution.Execution) error {
	p, c := x.Plan, x.Conn
	t := &executor.Transactional{X: x, Needs: executor.JoiningOf(c.DB.Tables, p, x.Holes)}
	x.Form.Joined = t.Needs.Any
	if executor.CountsInTransaction(p) {
		x.Form.Joined = true
		if r := t.Unfit(false); r != nil {
			return r
		}
		var err error
		if x.Form.FromFirst, err = executor.TakesFirst(ctx, x); err != nil {
			return err
		}
		return foreseeNumbers(ctx, x)
	}
	if err := executor.CountsKeys(ctx, c, p); err != nil {
		return err
	}
	if p.Counts() {
		var err error
		if x.Form.FromFirst, err = executor.NumberedByEngine(ctx, x); err != nil {
			return err
		}
		if err := foreseeNumbers(ctx, x); err != nil {
			return err
		}
	}
	if r := t.Unfit(false); x.Form.Joined && r != nil {
		return r
	}
	return nil
}

// foreseeNumbers returns a refusal if the engine would not number the rows of a query
// correctly. An execution asks the server for that together with a count of the rows;
// here the server is asked without a count.
func foreseeNumbers(ctx context.Context, x *execution.Execution) error {
	if x.Form.FromFirst {
		return nil
	}
	if err := executor.KeepsValues(ctx, x); err != nil {
		return err
	}
	if x.Plan.CountsBeside() {
		if err := (&executor.InsertSelect{X: x}).SparesKeys(); err != nil {
			return err
		}
	}
	n := &x.Plan.Dialect.Numbering
	if len(n.Server) == 0 {
		return nil
	}
	query := "SELECT " + strings.Join(n.Server, ", ")
	if n.Carries {
		query += ", " + rowcount.Views(x.Plan)
	}
	row, err := x.Conn.QueryRow(ctx, query, nil)
	if err != nil {
		return err
	}
	if reason := executor.Unnumbered(x.Plan.Dialect, row); reason != "" {
		return x.Plan.Refused(reason)
	}
	if len(x.Plan.Inserts) != 1 {
		return nil
	}
	return executor.KeepsViews(ctx, x, row)
}

// unknownArguments returns arguments without values for the queries that foresee sends
// about an INSERT, since the caller of an explanation has no values. A text may have few
// placeholders and one with a number in the millions, which no engine takes. Then there are
// as many arguments as the engine takes.
func unknownArguments(p *plans.Plan) []driver.NamedValue {
	args := make([]driver.NamedValue, min(p.Placeholders(), max(p.Changes.Params.Count, p.Dialect.Params.Max)))
	for i := range args {
		args[i].Ordinal = i + 1
	}
	return args
}
