package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/check/hotstate"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/store"
)

// Run compares the policy with the database. The error means that it could not compare
// them.
func Run(ctx context.Context, o Options) ([]Finding, error) {
	findings, _, err := RunCounted(ctx, o)
	return findings, err
}

// RunCounted does what Run does, and returns how many queries were sent to the catalog and
// the server; queries about stored counters are not included.
func RunCounted(ctx context.Context, o Options) ([]Finding, int, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &checker{ctx: ctx, o: o, cfg: o.Tables.Config(), stores: map[string]*openedStore{}}
	defer c.close()
	if err := c.connect(); err != nil {
		return nil, 0, err
	}
	for _, topic := range []struct {
		what string
		look func() error
	}{
		{"the server", c.lookAtServer},
		{"the tables", c.lookAtTables},
		{"the tables that have no rule", c.lookAtOthers},
		{"the columns", c.lookAtColumns},
		{"which engine the server is", c.lookAtProduct},
		{"what reads the session's last number", c.lookAtReads},
		{"the foreign keys", c.lookAtForeignKeys},
		{"the stores", c.lookAtStores},
		{"how many connections the user may have", c.lookAtConnectionLimit},
		{"what stands before PostgreSQL", c.lookAtPoolers},
		{"what stands before MySQL or MariaDB", c.lookAtProxies},
		{"which servers replicate to each other", c.lookAtTwoWay},
		{"keyfill's own tables", c.lookAtStateTables},
		{"the locks", func() error { return lookAtLocks(c) }},
		{"the states", c.lookAtStates},
		{"the rate of the states", func() error { return lookAtRates(c) }},
		{"the way back", c.lookAtHandbacks},
		{"the leases", c.lookAtLeases},
		{"the clocks", c.lookAtClock},
		{"the workers", c.lookAtWorkers},
	} {
		if o.Overview != nil && !slices.Contains(topicsOfScript, topic.what) {
			continue
		}
		if err := topic.look(); err != nil {
			if ctx.Err() != nil {
				return nil, 0, fmt.Errorf("%w: %w", ErrLook, ctx.Err())
			}
			c.add(Finding{Severity: Error, Rule: ruleNotLooked, Message: fmt.Sprintf("%s could not be looked at: %v", topic.what, shown(err)),
				Remedy: "let the user of the DSN read the catalog"})
		}
	}
	return sorted(c.findings), c.q.count, nil
}

// lookAtRates adds a finding for each state that comes near its limit at the rate that the
// caller knows.
func lookAtRates(c *checker) error {
	var states hotstate.States
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			k := &t.table.KeyColumns[i]
			src := k.Rule.Source
			if c.o.Rate == nil || !hotstate.Counts(src) || len(k.StateValues()) > 0 || t.isHandedBack(t.found.Column(c.d, k.Name)) {
				continue
			}
			d, driver := c.dialectOf(src.Store), ""
			if src.Store != "" && c.stores[src.Store] == nil {
				d, driver = nil, c.cfg.Stores[src.Store].Driver
			}
			message, remedy := states.Add(hotstate.Use{
				State: src.Store + "/" + k.Rule.State, Source: src, Joined: k.InTransaction, PerSecond: c.o.Rate(t.entry.Name), Limit: hotstate.LimitOf(d, driver),
			})
			if message != "" {
				c.add(Finding{Severity: Warning, Rule: ruleHotState, Table: t.found.Name, Column: k.Name, Line: t.lines(i).Source, Message: message, Remedy: remedy})
			}
		}
	}
	return nil
}

// topicsOfScript are the topics that are checked if there is only a script and no database.
var topicsOfScript = []string{"the tables", "the tables that have no rule", "the columns", "the foreign keys"}

// connect connects to the database and finds out its dialect.
func (c *checker) connect() error {
	d := c.o.Tables.Candidates[0].Dialect
	if c.o.Overview != nil {
		c.q, c.e, c.d = &counted{q: unasked{}}, relation.EngineFor(c.o.Tables, d, false), d
		c.engine = engines[d.Family]
		return nil
	}
	var q catalog.Querier
	if c.o.Conn != nil {
		q, c.home = catalog.Conn(c.o.Conn), store.On(d, c.o.Conn)
	} else {
		one := openPool(d, c.o.Connector)
		c.stores[""] = one
		q, c.home = catalog.DB(one.db), one.store
	}
	c.q = &counted{q: q}
	exact := false
	version, err := c.text(engines[d.Family].alive)
	if err != nil {
		return c.cannotLook(err)
	}
	if len(c.o.Tables.Candidates) > 1 && strings.Contains(strings.ToLower(version), "mariadb") {
		d = c.o.Tables.Candidates[1].Dialect
	}
	if d.Grammar.TableCase {
		if exact, err = catalog.Exact(c.ctx, c.q); err != nil {
			return c.cannotLook(err)
		}
	}
	if d.OneWriter && c.o.Conn == nil && relation.IsInMemory(c.ctx, c.q) {
		return ErrMemory
	}
	c.e = relation.EngineFor(c.o.Tables, d, exact)
	c.d, c.engine = c.e.Dialect, engines[c.e.Dialect.Family]
	if one := c.stores[""]; one != nil {
		one.store = store.New(c.d, one.db)
		c.home = one.store
	}
	return nil
}
