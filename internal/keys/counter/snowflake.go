package counter

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

func (dr Making) newSnowflake(ctx context.Context) (*Counter, error) {
	src := dr.Key.Rule.Source
	o := src.SnowflakeOptions()
	mapping, _, err := dr.Key.Bounded(dr.State)
	if err != nil {
		return nil, err
	}
	if src.Spread != "" {
		number, err := table.SpreadIn(ctx, src.Spread)
		if err != nil {
			return nil, err
		}
		o.Worker = &number
	}
	if dr.Tables.Markless(src) {
		return dr.newMarkless(ctx, o, mapping)
	}
	st, err := dr.States(src)
	if err != nil {
		return nil, err
	}
	facts, columns, err := dr.Columns(ctx)
	if err != nil {
		return nil, err
	}
	row := dr.Key.Row(dr.State, facts, columns)
	one := worker.Worker{
		Name: dr.State, Owner: owner(), EnsureSchema: src.EnsureSchema, Parameters: o.Bits.String(),
		Columns: row.Columns, Exclusive: row.Exclusive, OfValue: row.OfValue, Past: new(worker.Past),
	}
	c := &Counter{Mapping: mapping, Unseen: facts.Unseen}
	if elsewhere := claimerOf(src, &row); elsewhere != nil {
		c.Claimer = func(ctx context.Context, g *relation.Session) (binding.Claim, error) {
			claim, err := elsewhere(ctx, g)
			claim.Found = one.Past.Find
			return claim, err
		}
	}
	if src.WorkerLease > 0 {
		leased, err := dr.leased(src, o, st, one)
		if err != nil {
			return nil, err
		}
		c.Numbers, c.Bound = &numbering.Snowflake{Flake: leased}, newBound(row, st.Marker(one).Bind)
		return c, nil
	}
	number, err := o.Number()
	if err != nil {
		return nil, err
	}
	one.Number = int64(number)
	marker := st.Marker(one)
	if src.Spread == "" { // processes that have the same spread (the number that stands in keys instead of a worker's) are no rivals
		source := dr.Source()
		marker = &statestore.NumberedMark{MarkState: marker, Log: dr.Tables.Log, Source: source, Worker: one.Number, Rivals: dr.Tables.Paced.Rivals.Of(source)}
	}
	o.Marker = marker
	flake, err := counting.NewSnowflake(nil, o, dr.Env())
	if err != nil {
		return nil, err
	}
	c.Numbers, c.Bound = &numbering.Snowflake{Flake: flake}, newBound(row, marker.Bind)
	return c, nil
}

// newMarkless returns the counter of a snowflake without a store. All databases that
// are opened through one name share that snowflake.
func (dr Making) newMarkless(ctx context.Context, o keysource.SnowflakeOptions, mapping keysource.Mapping) (*Counter, error) {
	flake, err := dr.Flakes.Get(o)
	if err != nil {
		return nil, err
	}
	number, err := o.Number()
	if err != nil {
		return nil, err
	}
	facts, err := dr.Tables.Facts(ctx, dr.On, dr.Table)
	if err != nil {
		return nil, err
	}
	return &Counter{
		Numbers: &numbering.Snowflake{Flake: flake, Shared: true, Floor: dr.floorOf(flake, facts, number)},
		Mapping: mapping, Unseen: facts.Unseen,
		Claimer: claims(binding.Claim{State: worker.State(dr.State), Parameters: o.Bits.String()}),
	}, nil
}

// leased returns a snowflake whose worker number this process leases in a store.
func (dr Making) leased(src policy.Source, o keysource.SnowflakeOptions, st statestore.StateStore, worker worker.Worker) (numbering.Flake, error) {
	numbers := series.Options{
		Sequence: sequence.Sequence{
			Name: leasedName(worker.Name), Shared: true, Made: sequence.MadeRow{Start: 1}, Bounds: sequence.Bounds{Max: int64(o.Bits.Numbers())},
			Create: true, EnsureSchema: worker.EnsureSchema,
		},
		Size: 1, Lease: src.WorkerLease,
		Owner: owner() + "/" + rand.Text(), // a name of its own: see newRecycled
	}
	return counting.NewLeased(counting.LeasedOptions{
		Store: st.Series(numbers), Lease: src.WorkerLease,
		Open: func(number int) (*counting.Snowflake, error) {
			o, worker := o, worker
			worker.Number = int64(number)
			o.Worker, o.Marker = &number, st.Marker(worker)
			return counting.NewSnowflake(nil, o, dr.Env())
		},
	}, dr.Env())
}

// leasedName returns the name of the rows that lease a state's worker numbers to
// processes. If the state's name is too long, it is cut and ends in a hash of the whole
// name. If another source has a state (stored counter) with the resulting name, its
// parameters distinguish it.
func leasedName(state string) string {
	const most, suffix = 190, " workers"
	if utf8.RuneCountInString(state)+len(suffix) <= most {
		return state + suffix
	}
	sum := sha256.Sum256([]byte(state))
	hash := " " + hex.EncodeToString(sum[:10])
	return strings.TrimSpace(string([]rune(state)[:most-len(hash)-len(suffix)])) + hash + suffix
}

// floorOf returns the Floor of a snowflake for a key column, which raises the snowflake
// above the greatest key. It is nil if no index finds that key, or if the policy does
// not want it to be read.
func (dr Making) floorOf(flake *counting.Snowflake, facts *table.Facts, number int) *numbering.Floor {
	found := &facts.Columns[dr.Index]
	composite, isText := dr.Key.Shape.(*keysource.Composite)
	if !found.Leads || !isText && !found.Ranked || dr.Key.Rule.Source.OnBehind == keysource.RemedyWarn {
		return nil
	}
	return &numbering.Floor{Flake: flake, Column: found.StoreColumn(dr.Table.Rule, dr.Key, false), Tables: dr.Tables, Table: dr.Table, Index: dr.Index, Composite: composite, Number: number}
}
