package keys

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// snowflake gives numbers made of the time and the number of a worker, or of another
// spread.
type snowflake struct {
	flake  flake
	shared bool // other counters draw from the flake too, so that close leaves it open

	// floor makes the flake begin above the keys in the table; nil where that is not
	// needed.
	floor *floor
}

// flake is a snowflake, or one whose worker's number is leased.
type flake interface {
	Reserve(ctx context.Context, n int64) (int64, error)
	Drop()
	Close(ctx context.Context) error
}

var (
	_ flake = (*keysource.Snowflake)(nil)
	_ flake = (*keysource.Leased)(nil)
)

func (s *snowflake) reserve(ctx context.Context, g *Session, n int64) (int64, error) {
	if err := s.floor.raise(ctx, g); err != nil {
		return 0, err
	}
	first, err := s.flake.Reserve(ctx, n)
	if s.floor != nil && s.floor.composite == nil && errors.Is(err, keysource.ErrClock) {
		err = fmt.Errorf("%w; say on_behind: warn if the greatest key in the table is another program's", err)
	}
	return first, err
}

func (s *snowflake) suspect() { s.flake.Drop() }

func (s *snowflake) close(ctx context.Context) error {
	if s.shared {
		return nil
	}
	if leased, ok := s.flake.(*keysource.Leased); ok {
		return leave(ctx, leased)
	}
	return s.flake.Close(ctx)
}

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
	if dr.db.markless(src) {
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
		marker = &numberedMark{markState: marker, log: dr.db.Log, source: source, worker: worker.Number, rivals: dr.db.paced.rivals.of(source)}
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
	facts, err := dr.db.Facts(ctx, dr.on, dr.table)
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

// spreadIn returns the number with which keys begin: the context's value of this name.
func spreadIn(ctx context.Context, name string) (int, error) {
	text, ok := ValuesOf(ctx)(name)
	if !ok {
		return 0, anchor.Errorf("value", "its keys begin with the value %q, which is not given: keyfill.WithValue(ctx, %[1]q, …)", name)
	}
	return keysource.ParseSpread(text)
}

// floor makes a snowflake without a mark begin above the keys that its worker has stored:
// the clock may have been set back while no process ran.
type floor struct {
	flake  *keysource.Snowflake
	column store.Column
	db     *Tables
	table  *Table
	index  int // of the key
	done   atomic.Bool

	// composite is the keys' form where they are text with the worker's number; nil
	// where they are integers.
	composite *keysource.Composite
	number    int
}

// floorOf returns the floor of a snowflake for a key column, nil where the greatest
// key is not quickly found, or the policy does not want it to be asked for.
func (dr making) floorOf(flake *keysource.Snowflake, facts *Facts, number int) *floor {
	found := &facts.Columns[dr.index]
	composite, isText := dr.key.shape.(*keysource.Composite)
	if !found.leads || !isText && !found.ranked || dr.key.Rule.Source.OnBehind == keysource.RemedyWarn {
		return nil
	}
	return &floor{flake: flake, column: found.StoreColumn(dr.table.Rule, dr.key, false), db: dr.db, table: dr.table, index: dr.index, composite: composite, number: number}
}

// read returns the number of the greatest key in the column; for a composite, of the
// greatest key with the worker's number.
func (f *floor) read(ctx context.Context, st *store.Store) (int64, error) {
	if f.composite == nil {
		return keycolumn.Of(st, f.column).MaxKey(ctx)
	}
	from, to := f.composite.Range(f.number)
	key, err := keycolumn.Of(st, f.column).MaxDigits(ctx, from, to)
	if err != nil || key == "" {
		return 0, err
	}
	return f.composite.Number(strings.TrimRight(key, " "))
}

// greatest returns the greatest key in the column. It waits for the policy's store_wait
// at most: the statement's own transaction may have locked the table, which the server
// does not see as a deadlock.
func (f *floor) greatest(ctx context.Context, st *store.Store) (int64, error) {
	if f.db.StatesOnConnection() {
		return f.read(ctx, st)
	}
	limited, cancel := context.WithTimeout(ctx, f.db.storeWait)
	defer cancel()
	key, err := f.read(limited, st)
	switch {
	case err == nil:
		return key, nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case limited.Err() != nil:
		return 0, fmt.Errorf("%w: the greatest key could not be read for %s (store_wait): look whether a transaction has locked the table", keysource.ErrStoreDown, f.db.storeWait)
	}
	return 0, err
}

// raise makes the first keys begin above the greatest one in the column.
func (f *floor) raise(ctx context.Context, g *Session) error {
	if f == nil || f.done.Load() {
		return nil
	}
	db := f.db
	var (
		st  *store.Store
		err error
	)
	if g.isAltered() {
		st = store.Within(db.Dialect(), g.Own())
	} else if db.StatesOnConnection() {
		if err := db.LockBeforeRead(ctx, g, f.table, f.index); err != nil {
			return err
		}
		st = store.On(db.Candidates[0].Dialect, g.Own())
	} else if st, err = db.stores.get(""); err != nil {
		return err
	}
	key, err := int64(0), error(nil)
	if g.isAltered() {
		key, err = f.read(ctx, st)
	} else {
		err = apart(ctx, g, []store.Column{f.column}, func(ctx context.Context) (err error) {
			key, err = f.greatest(ctx, st)
			return err
		})
	}
	if err != nil {
		return err
	}
	switch err := f.flake.Above(key); {
	case err != nil && f.composite == nil:
		return fmt.Errorf("%w: say on_behind: warn if they are other programs'", err)
	case err != nil:
		return err
	}
	f.done.Store(!g.isAltered()) // others may see other keys, or a rollback bring them back
	return nil
}
