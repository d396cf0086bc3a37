package explainreport

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Actions are the outcomes, the gravest first.
var Actions = []string{rewrite.Refuse.String(), rewrite.Keep.String(), rewrite.Fill.String(), rewrite.Pass.String()}

// Policy is a policy by which statements are explained.
type Policy struct {
	explainer explain.Explainer
	dialect   *dialect.Dialect
	tables    []string // the names of the policy, as it has them
	rules     *policy.Policy
	sibling   explain.Explainer // for MariaDB where this is for MySQL, and the other way; nil with a database
	Close     func()            // the connections to the database
}

// NewPolicy returns a policy that is joined with the dialect. If a database is named,
// statements are explained on it.
func NewPolicy(ctx context.Context, cfg *policy.Config, d *dialect.Dialect, database *database.Address) (*Policy, error) {
	rules, err := cfg.Compile(d)
	if err != nil {
		return nil, err
	}
	p := &Policy{dialect: d, rules: rules, Close: func() {}}
	if database.IsEmpty() {
		c, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: cfg})
		if err != nil {
			return nil, err
		}
		p.explainer, p.sibling = explain.By(c), siblingOf(cfg)
	} else {
		x, err := database.Explainer(ctx, cfg)
		if err != nil {
			return nil, err
		}
		p.explainer, p.Close = x, func() { _ = x.Close() } // nothing was written that could fail now
	}
	for name := range cfg.Tables {
		p.tables = append(p.tables, name)
	}
	slices.Sort(p.tables)
	return p, nil
}
