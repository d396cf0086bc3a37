package explainreport

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
)

// Actions are the outcomes of statements, the most serious first.
var Actions = []string{plans.Refuse.String(), plans.Keep.String(), plans.Fill.String(), plans.Pass.String()}

// Policy is a policy by which statements are explained.
type Policy struct {
	explainer explain.Explainer
	dialect   *dialect.Dialect
	tables    []string // the names of tables, as the policy writes them
	rules     *policy.Policy
	sibling   explain.Explainer // explains for MariaDB if the policy is for MySQL, and for MySQL if it is for MariaDB; nil if statements are explained on a database
	product   *dialect.Product  // which engine the server is, as the policy or the database says; nil if it is the dialect's own, or is not known
	Close     func()            // closes the connections to the database
}

// NewPolicy returns a policy for a dialect. If the address names a database, statements are
// explained on that database, and the caller has to call Close.
func NewPolicy(ctx context.Context, cfg *policy.Config, d *dialect.Dialect, a *database.Address) (*Policy, error) {
	rules, err := cfg.Compile(d)
	if err != nil {
		return nil, err
	}
	p := &Policy{dialect: d, rules: rules, product: dialect.ProductByName(cfg.Engine), Close: func() {}}
	if a.IsEmpty() {
		c, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: cfg})
		if err != nil {
			return nil, err
		}
		p.explainer, p.sibling = explain.By(c), siblingOf(cfg)
	} else {
		x, err := a.Explainer(ctx, cfg)
		if err != nil {
			return nil, err
		}
		if p.product == nil {
			if p.product, err = productOf(ctx, a); err != nil {
				return nil, err
			}
		}
		p.explainer, p.Close = x, func() { _ = x.Close() } // nothing was written, so an error of Close loses nothing
	}
	for name := range cfg.Tables {
		p.tables = append(p.tables, name)
	}
	slices.Sort(p.tables)
	return p, nil
}

// productOf asks a database which engine it is.
func productOf(ctx context.Context, a *database.Address) (*dialect.Product, error) {
	db, d, err := a.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return database.Product(ctx, db, d)
}

// remark returns what the engine makes of the keys of a table, empty if they suit it, or if
// nothing is known.
func (p *Policy) remark(written string) string {
	schema, name, err := p.rules.ParseName(written)
	if err != nil || p.product == nil {
		return ""
	}
	rule := p.rules.Match(schema, name)
	if rule == nil {
		return ""
	}
	for _, k := range rule.Keys {
		if text := database.Remark(p.product, k.Source.Kind, k.Joined); text != "" {
			return text
		}
	}
	return ""
}
