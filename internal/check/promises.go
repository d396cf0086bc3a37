package check

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/check/locktrial"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// lookAtProduct finds out which engine the server is, where several speak the protocol of
// one family, and adds a finding for each key whose source does not suit it.
func (c *checker) lookAtProduct() error {
	p, err := dialect.ProductByName(c.cfg.Engine), error(nil)
	if c.cfg.Engine == "" {
		p, err = dialect.ProductOf(c.d.Family, c.asked)
	}
	if p == nil || err != nil {
		return err
	}
	if !p.Speaks(c.d) {
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
			if f, found := advice(p, t, i); found && !t.isHandedBack(t.found.Column(c.d, t.table.KeyColumns[i].Name)) {
				c.add(f)
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

// advice returns a finding if the source of a key column does not suit the product.
func advice(p *dialect.Product, t *target, i int) (f Finding, found bool) {
	k := &t.table.KeyColumns[i]
	src := k.Rule.Source
	use, ok := dialect.UseOf(src.Kind, k.InTransaction)
	if !ok || src.Kind == policy.KindMaxPlusOne && src.Lock == policy.LockNone {
		return f, false
	}
	a := &p.Advice[use]
	f = Finding{Severity: Warning, Rule: ruleEngine, Table: t.found.Name, Column: k.Name, Line: t.lines(i).Source, Remedy: a.Cure,
		Message: fmt.Sprintf("%s on %s: %s (%s)", src.Kind, p.Title, a.Why, a.From)}
	switch a.Fit {
	case dialect.FitHot, dialect.FitCare:
		return f, true
	case dialect.FitNo:
		f.Class = SomeInserts
		return f, true
	}
	return f, false
}

// asked returns the answer to a query for one text. A question that the server does not
// understand has no answer; its error ends nothing, as no transaction is open.
func (c *checker) asked(query string) (string, error) {
	answer, err := c.text(query)
	if err != nil && c.ctx.Err() != nil {
		return "", err
	}
	return answer, nil
}

// lookAtLocks tries what the sources in use rely on, if the caller allows it: locks,
// savepoints, and the rows that an UPDATE returns.
func lookAtLocks(c *checker) error {
	if !c.o.Probe || c.o.Conn != nil {
		return nil
	}
	for name, one := range c.byName() {
		e := engines[one.dialect.Family]
		if one.bad || one.single || e.rowLock == nil {
			continue
		}
		line, used := locksRow(c, name, e)
		if !used {
			continue
		}
		if err := tryLock(c, e.rowLock, one, Finding{Line: line}); err != nil {
			return err
		}
		if e.returning != nil {
			if err := tryPromise(c, e.returning, one, Finding{Line: line, Class: FirstInsert}); err != nil {
				return err
			}
		}
	}
	one := c.stores[""]
	if one == nil || one.single {
		return nil
	}
	if f, found := firstKey(c, func(k *table.Column) bool { return k.InTransaction }); found && c.engine.savepoint != nil {
		if err := tryPromise(c, c.engine.savepoint, one, f); err != nil {
			return err
		}
	}
	isGreatest := func(k *table.Column) bool {
		return k.Rule.Source.Kind == policy.KindMaxPlusOne && k.Rule.Source.Lock != policy.LockNone
	}
	if f, found := firstKey(c, isGreatest); found && c.engine.greatestLock != nil {
		return tryLock(c, c.engine.greatestLock, one, f)
	}
	return nil
}

// firstKey returns a finding for the first key column that is meant, with its place alone.
func firstKey(c *checker, meant func(*table.Column) bool) (f Finding, found bool) {
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			if k := &t.table.KeyColumns[i]; meant(k) {
				return Finding{Table: t.found.Name, Column: k.Name, Line: t.lines(i).Source}, true
			}
		}
	}
	return f, false
}

// locksRow reports whether a source in use locks a row of keyfill_sequences in a database,
// and returns the line for a finding about it. On an engine with one writer it is any
// source whose key depends on the writer's lock.
func locksRow(c *checker, name string, e *engine) (line int, used bool) {
	for _, src := range c.usesOf(name) {
		if src.Table == nil && (hasRows(c.d, src) || e.rowLock.AlwaysThere()) {
			used = true
		}
	}
	if name == "" {
		return c.lineOfUse(), used
	}
	return c.lineOfDatabase(name), used
}

// tryLock adds f if the lock of a trial does not keep a second session out. A trial that
// cannot be made, such as for want of a right, shows nothing.
func tryLock(c *checker, p *locktrial.Trial, one *openedStore, f Finding) error {
	f.Severity, f.Rule, f.Message, f.Remedy = Error, ruleLock, p.Lost, p.Instead
	ctx, cancel := context.WithTimeout(c.ctx, storePatience)
	defer cancel()
	excludes, err := p.Excludes(ctx, one.db, one.dialect)
	switch {
	case c.ctx.Err() != nil:
		return err
	case sqlcode.ClassOf(one.dialect, err) == dialect.ErrorNoObject && p.AlwaysThere():
		f.Message, f.Class = fmt.Sprintf("the server does not know the lock that the source takes (%v)", shown(err)), FirstInsert
	case err != nil || excludes:
		return nil
	}
	c.add(f)
	return nil
}

// tryPromise adds f if the server does not keep a promise. One that cannot be tried shows
// nothing.
func tryPromise(c *checker, p *locktrial.Promise, one *openedStore, f Finding) error {
	ctx, cancel := context.WithTimeout(c.ctx, storePatience)
	defer cancel()
	kept, err := p.Kept(ctx, one.db, one.dialect)
	if c.ctx.Err() != nil {
		return err
	}
	if err == nil && !kept {
		f.Severity, f.Rule, f.Message, f.Remedy = Error, ruleLock, p.Lost, p.Instead
		c.add(f)
	}
	return nil
}
