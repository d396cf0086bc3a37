package figures

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/stats"
	"github.com/keyfill/keyfill/policy"
)

// The names of the variants on an engine. Each of them fills a table of its own.
const (
	keyV7     = "v7 in 16 bytes"
	keyBlock  = "block"
	engineOwn = "the engine's own"

	// integerByHand is a key that the program counts itself and sends. It shows what
	// sending a key costs on the engine, without the cost of making it.
	integerByHand = "an integer sent by hand"
)

// inserter is a way to insert rows of three values.
type inserter struct {
	name, table, column string
	text                string // the text of the INSERT, with %s for its table
	key                 func() (any, error)
	filled              bool
}

// comparison is a variant, its rival (the program with which it is compared) and the same
// rival once more, and sometimes a second rival after them.
type comparison struct {
	what      string
	inserters []inserter
	cpu       Bar
}

// comparisons returns what is measured on an engine.
func comparisons(e engines.Engine) []comparison {
	const left = "INSERT INTO %s (customer, amount, note) VALUES (?, ?, ?)"
	given := func() (any, error) {
		id, err := uuid.NewV7()
		return id[:], err
	}
	var counted atomic.Int64
	counts := func() (any, error) { return counted.Add(1), nil }
	uuids, integers := e.UUID+" NOT NULL PRIMARY KEY", e.Identity
	const with = "INSERT INTO %s (customer, amount, note, id) VALUES (?, ?, ?, ?)"
	byHand := func(name, table string) inserter { return inserter{name, table, uuids, with, given, false} }
	byEngine := func(name, table string) inserter { return inserter{name, table, integers, left, nil, false} }
	block := atMost(1.10)
	if e.Dialect == "sqlite" {
		block = atMost(1.15)
	}
	return []comparison{
		{keyV7, []inserter{
			{ours, "filled_uuids", uuids, left, nil, true}, byHand(hand, "given_uuids"), byHand(hand+again, "given_again"),
		}, atMost(1.10)},
		{keyBlock, []inserter{
			{ours, "filled_integers", integers, left, nil, true}, byEngine(engineOwn, "made_integers"), byEngine(engineOwn+again, "made_again"),
			{integerByHand, "given_integers", integers, with, counts, false},
		}, block},
	}
}

// rowsDBs are the handles of an engine: the driver's own, and keyfill's.
type rowsDBs struct{ plain, filled *sql.DB }

// openRows opens the handles of an engine.
func openRows(e engines.Engine, connector driver.Connector) (rowsDBs, error) {
	filled, err := keyfill.OpenDB(connector, keyfill.Options{Policy: &policy.Config{
		Dialect: e.Dialect,
		Tables: map[string]policy.Table{
			"filled_uuids":    {Column: "id", Layout: dialect.SequentialAsBinary},
			"filled_integers": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}},
		},
	}})
	if err != nil {
		return rowsDBs{}, err
	}
	return rowsDBs{sql.OpenDB(connector), filled}, nil
}

// limit sets the number of connections of each handle.
func (d rowsDBs) limit(connections int) {
	for _, db := range []*sql.DB{d.plain, d.filled} {
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
}

func (d rowsDBs) close() error { return errors.Join(d.filled.Close(), d.plain.Close()) }

// create creates the tables.
func (c comparison) create(ctx context.Context, db *sql.DB) error {
	for _, i := range c.inserters {
		text := "CREATE TABLE " + i.table + " (id " + i.column + ", customer INT NOT NULL, amount INT NOT NULL, note VARCHAR(40) NOT NULL)"
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// variants returns the variants that insert rows, in the order of the inserters.
func (c comparison) variants(ctx context.Context, e engines.Engine, connections int, dbs rowsDBs) (variants []Variant) {
	for _, i := range c.inserters {
		db := dbs.plain
		if i.filled {
			db = dbs.filled
		}
		variants = append(variants, Variant{Name: i.name, Run: i.insert(ctx, db, e.Bind(fmt.Sprintf(i.text, i.table)), connections)})
	}
	return variants
}

// Rows measures rows on a real engine, with one connection and with eight. It returns
// the version of the engine too.
func Rows(ctx context.Context, r Run, e engines.Engine, connector driver.Connector) (all []Figure, version string, err error) {
	dbs, err := openRows(e, connector)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, dbs.close()) }()
	if version, err = e.Describe(ctx, dbs.plain); err != nil {
		return nil, "", err
	}
	for _, c := range comparisons(e) {
		if err := c.create(ctx, dbs.plain); err != nil {
			return nil, "", err
		}
		for _, connections := range []int{1, 8} {
			dbs.limit(connections)
			figures, err := c.measure(ctx, r, e, connections, dbs)
			if err != nil {
				return nil, "", fmt.Errorf("%s, %s, %d connections: %w", e.Name, c.what, connections, err)
			}
			all = append(all, figures...)
		}
	}
	return all, version, nil
}

// Turns on an engine are short and many. So a disturbance of one of them, such as a
// checkpoint of the server, is far from the median.
const (
	turnTime   = 200 * time.Millisecond // roughly
	moreRounds = 3                      // how many times as many rounds as other figures have
)

// measure returns the client's CPU time a row and the rows a second, against the rivals
// (programs compared with). One connection has one processor for Go.
func (c comparison) measure(ctx context.Context, r Run, e engines.Engine, connections int, dbs rowsDBs) ([]Figure, error) {
	if connections == 1 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	variants := c.variants(ctx, e, connections, dbs)
	n := r.times(int(rowsIn(turnTime, variants[1])))
	samples, err := turns(moreRounds*r.Rounds, n, variants)
	if err != nil {
		return nil, err
	}
	rival := variants[1].Name
	what := fmt.Sprintf("%s, %s, %s", e.Name, c.what, map[int]string{1: "1 connection", 8: "8 connections"}[connections])
	figures := []Figure{
		ratio(what+clientCPU, samples, ours, rival, rival+again, c.cpu),
		rate(what, samples, ours, rival, rival+again, asFast()),
	}
	if _, sends := samples[integerByHand]; sends {
		sent := strings.Replace(what, c.what, integerByHand, 1)
		figures = append(figures,
			ratio(what+clientCPU, samples, ours, integerByHand, "", Bar{}),
			rate(what, samples, ours, integerByHand, "", Bar{}),
			ratio(sent+clientCPU, samples, integerByHand, rival, "", Bar{}),
			rate(sent, samples, integerByHand, rival, "", Bar{}))
	}
	return figures, nil
}

// clientCPU is appended to the name of a figure.
const clientCPU = ": client CPU a row"

// rate returns the rows a second of a variant against a rival (the program compared with).
// They are the inverse of the time of a row.
func rate(what string, all map[string]*Samples, variant, rival, again string, bar Bar) Figure {
	f := Figure{What: what + ": rows a second", Against: rival, Unit: Times, Bar: bar,
		Value: stats.Of(stats.Ratios(all[rival].Wall, all[variant].Wall)),
		Note:  fmt.Sprintf("%.0f a second", 1e9/stats.Of(all[variant].Wall).Median)}
	if s, ok := all[again]; ok {
		control := stats.Of(stats.Ratios(all[rival].Wall, s.Wall))
		f.Control = &control
	}
	return f
}

// rowsIn returns how many rows a variant inserts in a time, at least ten. It inserts some
// rows to find out. It ignores an error, since the first turn will return the same error.
func rowsIn(d time.Duration, v Variant) float64 {
	n := 10
	for {
		start := time.Now()
		if err := v.Run(n); err != nil {
			return 10
		}
		if took := time.Since(start); took > d/10 {
			return max(10, float64(n)*float64(d)/float64(took))
		}
		n *= 2
	}
}

// insert returns a function that inserts n rows, shared among connections.
func (i inserter) insert(ctx context.Context, db *sql.DB, text string, connections int) func(int) error {
	one := func() error {
		args := []any{1, 12345, "what a row of an order may say"}
		if i.key != nil {
			key, err := i.key()
			if err != nil {
				return err
			}
			args = append(args, key)
		}
		_, err := db.ExecContext(ctx, text, args...)
		return err
	}
	return func(n int) error {
		errs := make([]error, connections)
		var wg sync.WaitGroup
		for c := range connections {
			wg.Go(func() {
				for k := c; k < n && errs[c] == nil; k += connections {
					errs[c] = one()
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}
