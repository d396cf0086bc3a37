package keys

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/anchor"
)

// counters returns the set that keeps the counter of the key column. only is the place
// where the counter is found without the name of its state; nil if the state has several
// names, the counter is the connection's own, or the table is not remembered.
func (dr Drawing) counters(ctx context.Context) (set *Counters, only *atomic.Pointer[counter]) {
	set, only = dr.sources.counters, dr.sources.found.of(dr.key)
	if dr.on != nil {
		if dr.on.DetectOwnMemory(ctx); dr.on.InMemory {
			set, only = dr.own.inMemoryNow(ctx, dr.sources.forgets.Load()), nil
		}
	}
	if dr.on.isAltered() {
		set, only = dr.own.here(dr.key, set), nil
	}
	if len(dr.key.StateValues()) > 0 {
		only = nil
	}
	return set, only
}

// Counter returns the counter of a key column, which is made at its first use.
func (dr Drawing) Counter(ctx context.Context) (*counter, error) {
	set, only := dr.counters(ctx)
	if only != nil {
		if c := only.Load(); c != nil {
			return c, nil
		}
	}
	state, err := dr.key.Rule.StateFor(ValuesOf(ctx))
	if err != nil {
		return nil, err
	}
	create := func() (*counter, error) {
		made, err := making{Site: dr.Site, state: state, flakes: dr.sources.flakes, standIn: dr.sources.standIn}.newCounter(ctx)
		if err == nil {
			made.source = SourceName(dr.table.Rule.Entry, &dr.key.Rule)
			_, flake := made.numbers.(*snowflake)
			made.ofValue = only == nil && len(dr.key.Rule.Values) > 0 && !flake
		}
		return made, err
	}
	id := state
	if spread := dr.key.Rule.Source.Spread; spread != "" {
		number, err := spreadIn(ctx, spread)
		if err != nil {
			return nil, err
		}
		id += "\x00" + strconv.Itoa(number)
	}
	c, err := set.get(ctx, id, create)
	if err == nil && c.unseen != nil {
		return dr.seenSince(ctx, c, func() (*counter, error) {
			if err := set.forget(ctx, id, c); err != nil {
				return nil, err
			}
			return set.get(ctx, id, create)
		})
	}
	if err == nil {
		err = dr.atHome(ctx, c)
	}
	if err == nil {
		err = dr.bindTo(ctx, c)
	}
	done := false
	if err == nil {
		done, err = dr.claim(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	if only != nil && done {
		only.Store(c)
	}
	return c, nil
}

// errHomes is returned when tables of one name in two schemas have the same state: an
// entry of a bare name matches a table in every schema.
var errHomes = anchor.New("shared-state", "its state numbers a table of that name in another schema: write schema.table into the policy, or {schema} into the name of the state")

// atHome returns an error if the counter numbers another table.
func (dr Drawing) atHome(ctx context.Context, c *counter) error {
	if c.home == "" {
		return nil
	}
	f, err := dr.tables.Facts(ctx, dr.on, dr.table)
	if err != nil {
		return err
	}
	if here := f.Columns[dr.index].home(); here != "" && here != c.home {
		return errHomes
	}
	return nil
}

// seenSince returns c, the counter of a table that was not there when the counter was made. If
// the table is there now, it returns a new counter.
func (dr Drawing) seenSince(ctx context.Context, c *counter, anew func() (*counter, error)) (*counter, error) {
	f, err := dr.tables.Facts(ctx, dr.on, dr.table)
	switch {
	case err != nil:
		return nil, err
	case f.unseen != nil:
		return c, nil
	}
	return anew()
}
