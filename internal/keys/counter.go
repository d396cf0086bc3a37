package keys

//row:changes | which counter a key comes from, and when it is made | `internal/keys/counter.go`, `internal/keys/counter/counters.go`

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// Counter returns the counter of a key column, and makes it on first use. It finds a
// counter by the column alone, without composing the name of its state (its row in the
// store), unless the state has several names, the counter belongs to the connection, or the
// table is not remembered.
func (dr Drawing) Counter(ctx context.Context) (*counter.Counter, error) {
	set, only := dr.sources.counters, dr.sources.found.Of(dr.Key)
	if dr.On != nil {
		if dr.On.DetectOwnMemory(ctx); dr.On.InMemory {
			set, only = dr.own.InMemoryNow(ctx, dr.sources.forgets.Load()), nil
		}
		if dr.On.Altered.On && dr.On.IsAltered() {
			set, only = dr.own.Here(dr.Key, set), nil
		}
	}
	if only != nil {
		if c := only.Load(); c != nil {
			return c, nil
		}
	}
	return dr.counterIn(ctx, set, only)
}

// counterIn returns the counter of the key column from a set, and makes it on first use.
// It also stores the counter in only, where Counter looks first the next time; only is nil
// if Counter has to look in the set each time.
func (dr Drawing) counterIn(ctx context.Context, set *counter.Counters, only *atomic.Pointer[counter.Counter]) (*counter.Counter, error) {
	state, err := dr.Key.Rule.StateFor(table.ValuesOf(ctx))
	if err != nil {
		return nil, err
	}
	create := func() (*counter.Counter, error) {
		made, err := counter.Making{Site: dr.Site, State: state, Flakes: dr.sources.flakes, StandIn: dr.sources.standIn}.NewCounter(ctx)
		if err == nil {
			made.Source = table.SourceName(dr.Table.Rule.Entry, &dr.Key.Rule)
			_, flake := made.Numbers.(*numbering.Snowflake)
			made.OfValue = only == nil && len(dr.Key.Rule.Values) > 0 && !flake
		}
		return made, err
	}
	id := state
	if spread := dr.Key.Rule.Source.Spread; spread != "" {
		number, err := table.SpreadIn(ctx, spread)
		if err != nil {
			return nil, err
		}
		id += "\x00" + strconv.Itoa(number)
	}
	c, err := set.Get(ctx, id, create)
	if err == nil && c.Unseen != nil {
		return dr.seenSince(ctx, c, func() (*counter.Counter, error) {
			if err := set.Forget(ctx, id, c); err != nil {
				return nil, err
			}
			return set.Get(ctx, id, create)
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

// errHomes is returned when tables of one name in two schemas have the same state (a
// stored counter): an entry of the policy without a schema matches a table in every
// schema.
var errHomes = anchor.New("shared-state", "the source's state numbers a table of the same name in another schema: write schema.table into the policy, or {schema} into the name of the state")

// atHome returns an error if the counter numbers another table than the drawing's.
func (dr Drawing) atHome(ctx context.Context, c *counter.Counter) error {
	if c.Home == "" {
		return nil
	}
	f, err := dr.Tables.Facts(ctx, dr.On, dr.Table)
	if err != nil {
		return err
	}
	if here := f.Columns[dr.Index].Home(); here != "" && here != c.Home {
		return errHomes
	}
	return nil
}

// seenSince returns c, the counter of a table that did not exist when the counter was
// made. If the table exists now, it returns a new counter instead, which anew makes.
func (dr Drawing) seenSince(ctx context.Context, c *counter.Counter, anew func() (*counter.Counter, error)) (*counter.Counter, error) {
	f, err := dr.Tables.Facts(ctx, dr.On, dr.Table)
	switch {
	case err != nil:
		return nil, err
	case f.Unseen != nil:
		return c, nil
	}
	return anew()
}
