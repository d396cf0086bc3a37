package check

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/policy"
)

func openPool(d *dialect.Dialect, connector driver.Connector) *openedStore {
	db := store.Pool(d, connector)
	return &openedStore{store: store.New(d, db), db: db, dialect: d}
}

// storePatience is how long the check waits for a store.
const storePatience = 5 * time.Second

// lookAtStores adds a finding for each database that the policy names as a store and that
// cannot be used.
func (c *checker) lookAtStores() error {
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Stores)) {
		f := Finding{Severity: Error, Rule: ruleStore, Line: c.cfg.Line("stores", name)}
		if hasNoDriver(c.cfg.Stores[name]) {
			f.Severity = Info
			f.Message = fmt.Sprintf("store %q is of driver %q, which this program does not have: neither whether it can be reached nor the states in it were looked at", name, c.cfg.Stores[name].Driver)
			f.Remedy = "none is needed: an INSERT whose key comes from the store says what is wrong with it"
			c.add(f)
			continue
		}
		connector, d, err := statestore.OpenStore(c.cfg.Stores[name])
		if err != nil {
			f.Message = fmt.Sprintf("store %q: %s", name, strings.TrimPrefix(err.Error(), "policy: "))
			f.Remedy = "in the policy: the driver and dsn_env of the store; in the environment: the variable that holds the DSN"
			c.add(f)
			continue
		}
		if connector == nil {
			asked, err := c.reach(c.cfg.Stores[name])
			switch {
			case err != nil:
				f.Message = fmt.Sprintf("store %q cannot be used: %v", name, err)
				f.Remedy = "in the policy, in the environment or on the store's server: what the message names"
				c.add(f)
				continue
			case asked:
				f.Severity = Info
				f.Message = fmt.Sprintf("store %q is no database of SQL: it answers, but the states in it were not looked at", name)
				f.Remedy = "none is needed: an INSERT whose key comes from the store says what is wrong with it"
				c.add(f)
				continue
			}
			f.Severity = Info
			f.Message = fmt.Sprintf("store %q is no database of SQL: neither whether it can be reached nor the states in it were looked at", name)
			f.Remedy = "none is needed: an INSERT whose key comes from the store says what is wrong with it"
			c.add(f)
			continue
		}
		one := openPool(d, connector)
		c.stores[name] = one
		ctx, cancel := context.WithTimeout(c.ctx, storePatience)
		err = one.db.PingContext(ctx)
		cancel()
		if err != nil {
			one.bad = true
			f.Message = fmt.Sprintf("store %q cannot be reached: %v", name, shown(err))
			if why := store.Refusal(d, err); why != nil {
				f.Message = fmt.Sprintf("store %q cannot be used: %v: %v", name, why, shown(err))
			}
			f.Remedy = "let the store's server be reached from here, and mend the DSN"
			c.add(f)
		}
	}
	return nil
}

// reach asks a store without SQL whether it can be used.
func (c *checker) reach(s policy.Store) (asked bool, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, storePatience)
	defer cancel()
	return statestore.ReachStore(ctx, s)
}

// hasNoDriver reports whether this program lacks the driver of a store, although the
// application may have it. That is a store without SQL, since only such a store has
// endpoints: the command keyfill contains the drivers of databases and no others.
func hasNoDriver(s policy.Store) bool {
	_, endpoints, _ := s.ResolveEndpoints()
	return endpoints && !slices.Contains(sql.Drivers(), s.Driver)
}

// storeOf returns the database that holds the stored counter of a source; nil if it cannot
// be used.
func (c *checker) storeOf(name string) *store.Store {
	if name == "" {
		return c.home
	}
	one := c.stores[name]
	if one == nil || one.bad {
		return nil
	}
	return one.store
}

// dialectOf returns the dialect of a store's database.
func (c *checker) dialectOf(name string) *dialect.Dialect {
	if one := c.stores[name]; one != nil && name != "" {
		return one.dialect
	}
	return c.d
}

// usesOf returns the sources whose counters are kept in a store; the empty name means the
// application's database.
func (c *checker) usesOf(name string) []policy.Source {
	var uses []policy.Source
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			k := &t.table.KeyColumns[i]
			src := k.Rule.Source
			if policy.Stateful(src) && src.Store == name && !t.isHandedBack(t.found.Column(c.d, k.Name)) {
				uses = append(uses, src)
			}
		}
	}
	return uses
}

// hasRows reports whether a source keeps rows in keyfill's tables. A source maxplusone
// keeps a row only if the engine cannot make a second session wait when it reads the
// greatest key.
func hasRows(d *dialect.Dialect, src policy.Source) bool {
	if src.Kind == policy.KindMaxPlusOne {
		return src.Lock != policy.LockNone && keycolumn.NeedsMutex(d)
	}
	return src.Kind != policy.KindNative && src.Table == nil &&
		src.Store != policy.StoreNone && (src.Via != policy.ViaProcedure || src.Procedure == "")
}

// lookAtWorkers adds a finding for each worker's number that this program cannot find out.
func (c *checker) lookAtWorkers() error {
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			if err := t.table.KeyColumns[i].Worker(); err != nil {
				c.add(Finding{Severity: Warning, Rule: ruleWorker, Table: t.found.Name, Column: t.table.KeyColumns[i].Name, Line: t.lines(i).Source,
					Message: "the worker's number is not known where this check runs: " + err.Error(),
					Remedy:  "in the environment of each process: a number of its own; or in the policy: worker_lease: 30s in the source"})
			}
		}
	}
	return nil
}
