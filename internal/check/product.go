package check

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/policy"
)

// lookAtProduct finds out which engine the server is, where several speak the protocol of
// one family, and adds a finding for each key whose source does not suit it.
func (c *checker) lookAtProduct() error {
	p, err := dialect.ProductByName(c.cfg.Engine), error(nil)
	if c.cfg.Engine == "" {
		p, err = c.product()
	}
	if p == nil || err != nil {
		return err
	}
	if p.Family != c.d.Family {
		c.add(Finding{Severity: Error, Rule: ruleEngine, Class: Note, Line: c.cfg.Line("engine", ""),
			Message: fmt.Sprintf("the policy says engine: %s, which does not speak the dialect %s", p.Name, c.d.Name),
			Remedy:  "in the policy: leave engine: out, so that the server is asked"})
		return nil
	}
	c.add(Finding{Severity: Info, Rule: ruleEngine, Line: c.cfg.Line("engine", ""),
		Message: "the server is " + p.Title + ", " + known(p) + ": key order, locks and transactions may differ from " + c.d.Title + "'s",
		Remedy:  "see docs/distributed.md"})
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			if k := &t.table.KeyColumns[i]; !t.isHandedBack(t.found.Column(c.d, k.Name)) {
				c.advise(p, t, i, k)
			}
		}
	}
	return nil
}

// known says how the facts about a product are known.
func known(p *dialect.Product) string {
	if p.Run {
		return "on which keyfill's tests have run"
	}
	return "which keyfill knows from its manual alone"
}

// advise adds a finding if the source of a key column does not suit the product.
func (c *checker) advise(p *dialect.Product, t *target, i int, k *table.Column) {
	src := k.Rule.Source
	use, ok := dialect.UseOf(src.Kind, k.InTransaction)
	if !ok || src.Kind == policy.KindMaxPlusOne && src.Lock == policy.LockNone {
		return
	}
	a := &p.Advice[use]
	f := Finding{Severity: Warning, Rule: ruleEngine, Table: t.found.Name, Column: k.Name, Line: t.lines(i).Source, Remedy: a.Cure,
		Message: fmt.Sprintf("%s on %s: %s (%s)", src.Kind, p.Title, a.Why, a.From)}
	switch a.Fit {
	case dialect.FitHot, dialect.FitCare:
		c.add(f)
	case dialect.FitNo:
		f.Class = SomeInserts
		c.add(f)
	}
}

// product returns the product that the server is, nil if it is the family's own engine or
// is not known. A question that the server does not understand is answered with an error,
// which ends nothing, as no transaction is open.
func (c *checker) product() (*dialect.Product, error) {
	answers := map[string]string{}
	for _, p := range dialect.Products() {
		if p.Family != c.d.Family {
			continue
		}
		for _, sign := range p.Signs {
			answer, asked := answers[sign.Query]
			if !asked {
				var err error
				if answer, err = c.text(sign.Query); err != nil && c.ctx.Err() != nil {
					return nil, err
				}
				answers[sign.Query] = answer
			}
			if sign.Found(answer) {
				return p, nil
			}
		}
	}
	return nil, nil
}
