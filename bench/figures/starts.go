package figures

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/internal/stats"
	"github.com/keyfill/keyfill/policy"
)

// startMost is the limit for the first INSERT of a process, in comparison with the plain
// driver's.
const startMost = 6

// startRounds is by how much the number of rounds of other figures is multiplied, since a
// round here is only one INSERT.
const startRounds = 5

// Starts measures the first INSERT of a process into a table with a sequence, whose state
// (a stored counter) exists, in comparison with the plain driver. Both are connected
// already. keyfill opens a connection of its own, asks for the table and its state, and
// reserves a block of numbers.
func Starts(ctx context.Context, r Run, e engines.Engine, connector driver.Connector) (all []Figure, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	setup := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, setup.Close()) }()
	for _, table := range []string{"starts", "starts_plain"} {
		if _, err := setup.ExecContext(ctx, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, v INT)"); err != nil {
			return nil, err
		}
	}
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	cfg := &policy.Config{Dialect: e.Dialect, Tables: map[string]policy.Table{"starts": {Column: "id", InPlace: &source}}}
	openFilled := func() (*sql.DB, error) { return keyfill.OpenDB(connector, keyfill.Options{Policy: cfg}) }
	openPlain := func() (*sql.DB, error) { return sql.OpenDB(connector), nil }
	first, err := openFilled()
	if err != nil {
		return nil, err
	}
	_, err = first.ExecContext(ctx, "INSERT INTO starts (v) VALUES (1)") // this creates the state (stored counter) of the sequence
	if err = errors.Join(err, first.Close()); err != nil {
		return nil, err
	}
	key := 0
	variant := func(name string, open func() (*sql.DB, error), insert func() string) (Variant, func() error) {
		var db *sql.DB
		end := func() error {
			if db == nil {
				return nil
			}
			return db.Close()
		}
		return Variant{
			Name: name,
			Setup: func(int) (err error) {
				if err = end(); err != nil {
					return err
				}
				if db, err = open(); err != nil {
					return err
				}
				return db.PingContext(ctx)
			},
			Run: func(int) error { _, err := db.ExecContext(ctx, insert()); return err },
		}, end
	}
	plainInsert := func() string { key++; return fmt.Sprintf("INSERT INTO starts_plain (v, id) VALUES (1, %d)", key) }
	filled, endFilled := variant(ours, openFilled, func() string { return "INSERT INTO starts (v) VALUES (1)" })
	plain, endPlain := variant(driverAlone, openPlain, plainInsert)
	control, endControl := variant(driverAlone+again, openPlain, plainInsert)
	defer func() { err = errors.Join(err, endFilled(), endPlain(), endControl()) }()
	samples, err := turns(startRounds*moreRounds*r.Rounds, 1, []Variant{filled, plain, control})
	if err != nil {
		return nil, err
	}
	spread := stats.Of(stats.Ratios(samples[driverAlone+again].Wall, samples[driverAlone].Wall))
	return []Figure{{
		What: e.Name + ", the first INSERT of a process, sequence: time", Against: driverAlone, Unit: Times, Control: &spread, Bar: atMost(startMost),
		Value: stats.Of(stats.Ratios(samples[ours].Wall, samples[driverAlone].Wall)),
		Note:  fmt.Sprintf("%.2f ms", stats.Of(samples[ours].Wall).Median/1e6),
	}}, nil
}
