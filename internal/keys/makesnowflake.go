package keys

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

func (dr making) newSnowflake(ctx context.Context) (*counter, error) {
	src := dr.key.Rule.Source
	o := src.SnowflakeOptions()
	mapping, _, err := dr.key.bounded(dr.state)
	if err != nil {
		return nil, err
	}
	if src.Spread != "" {
		number, err := spreadIn(ctx, src.Spread)
		if err != nil {
			return nil, err
		}
		o.Worker = &number
	}
	if dr.tables.markless(src) {
		return dr.newMarkless(ctx, o, mapping)
	}
	st, err := dr.states(src)
	if err != nil {
		return nil, err
	}
	facts, columns, err := dr.columns(ctx)
	if err != nil {
		return nil, err
	}
	row := dr.key.row(dr.state, facts, columns)
	worker := worker.Worker{
		Name: dr.state, Owner: owner(), EnsureSchema: src.EnsureSchema, Parameters: o.Bits.String(),
		Columns: row.Columns, Exclusive: row.Exclusive,
	}
	c := &counter{mapping: mapping, unseen: facts.unseen, claimer: claimerOf(src, &row)}
	if src.WorkerLease > 0 {
		leased, err := dr.leased(src, o, st, worker)
		if err != nil {
			return nil, err
		}
		c.numbers, c.bound = &snowflake{flake: leased}, newBound(row, st.marker(worker).Bind)
		return c, nil
	}
	number, err := o.Number()
	if err != nil {
		return nil, err
	}
	worker.Number = int64(number)
	marker := st.marker(worker)
	if src.Spread == "" { // several processes may have one spread
		source := dr.source()
		marker = &numberedMark{markState: marker, log: dr.tables.Log, source: source, worker: worker.Number, rivals: dr.tables.paced.rivals.of(source)}
	}
	o.Marker = marker
	flake, err := keysource.NewSnowflake(o, dr.env())
	if err != nil {
		return nil, err
	}
	c.numbers, c.bound = &snowflake{flake: flake}, newBound(row, marker.Bind)
	return c, nil
}

// newMarkless returns the counter of a snowflake without a store, which all databases
// that are opened through one name share.
func (dr making) newMarkless(ctx context.Context, o keysource.SnowflakeOptions, mapping keysource.Mapping) (*counter, error) {
	flake, err := dr.flakes.get(o)
	if err != nil {
		return nil, err
	}
	number, err := o.Number()
	if err != nil {
		return nil, err
	}
	facts, err := dr.tables.Facts(ctx, dr.on, dr.table)
	if err != nil {
		return nil, err
	}
	return &counter{
		numbers: &snowflake{flake: flake, shared: true, floor: dr.floorOf(flake, facts, number)},
		mapping: mapping, unseen: facts.unseen,
		claimer: claims(binding.Claim{State: worker.State(dr.state), Parameters: o.Bits.String()}),
	}, nil
}

// leased returns a snowflake whose worker number is leased in a store.
func (dr making) leased(src policy.Source, o keysource.SnowflakeOptions, st stateStore, worker worker.Worker) (flake, error) {
	numbers := series.Options{
		Sequence: sequence.Sequence{
			Name: leasedName(worker.Name), Shared: true, Start: 1, Max: int64(o.Bits.Numbers()),
			Create: true, EnsureSchema: worker.EnsureSchema,
		},
		Size: 1, Lease: src.WorkerLease,
		Owner: owner() + "/" + rand.Text(), // see newRecycled
	}
	return keysource.NewLeased(keysource.LeasedOptions{
		Store: st.series(numbers), Lease: src.WorkerLease,
		Open: func(number int) (*keysource.Snowflake, error) {
			o, worker := o, worker
			worker.Number = int64(number)
			o.Worker, o.Marker = &number, st.marker(worker)
			return keysource.NewSnowflake(o, dr.env())
		},
	}, dr.env())
}

// leasedName returns the name of the rows that say which process has which worker's
// number of a state. For a long name it ends in a hash of the whole. A state of another
// source with that name has other parameters, by which it is told apart.
func leasedName(state string) string {
	const most, suffix = 190, " workers"
	if utf8.RuneCountInString(state)+len(suffix) <= most {
		return state + suffix
	}
	sum := sha256.Sum256([]byte(state))
	hash := " " + hex.EncodeToString(sum[:10])
	return strings.TrimSpace(string([]rune(state)[:most-len(hash)-len(suffix)])) + hash + suffix
}

// floorOf returns the floor of a snowflake for a key column, nil where the greatest
// key is not quickly found, or the policy does not want it to be asked for.
func (dr making) floorOf(flake *keysource.Snowflake, facts *Facts, number int) *floor {
	found := &facts.Columns[dr.index]
	composite, isText := dr.key.shape.(*keysource.Composite)
	if !found.leads || !isText && !found.ranked || dr.key.Rule.Source.OnBehind == keysource.RemedyWarn {
		return nil
	}
	return &floor{flake: flake, column: found.StoreColumn(dr.table.Rule, dr.key, false), tables: dr.tables, table: dr.table, index: dr.index, composite: composite, number: number}
}
