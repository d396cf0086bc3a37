package figures

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/internal/stats"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// selectSizes are how many rows an INSERT … SELECT stores, and how often a turn repeats it.
var selectSizes = []struct{ rows, times int }{{1, 60}, {100, 15}, {10_000, 1}}

// selectSources are the sources of the keys. The rival (the program compared with) has a
// column for which the engine makes keys of the same kind: UUIDs or integers.
var selectSources = []struct {
	name   string
	source policy.Source
	uuid   bool
}{
	{keyBlock, policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}, false},
	{"v7 as text", policy.Source{Kind: policy.KindUUIDv7}, true},
}

// Selects measures the time of an INSERT … SELECT on a real engine, in comparison with an
// INSERT … SELECT whose keys the engine makes. A source is skipped if keyfill refuses the
// statement for it, as keyfill may do at an earlier commit.
func Selects(ctx context.Context, r Run, e engines.Engine, connector driver.Connector) (all []Figure, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	plain := sql.OpenDB(connector)
	tables := map[string]policy.Table{}
	for i, s := range selectSources {
		source := s.source
		tables[fmt.Sprintf("filled_%d", i)] = policy.Table{Column: "id", InPlace: &source}
	}
	filled, err := keyfill.OpenDB(connector, keyfill.Options{Policy: &policy.Config{Dialect: e.Dialect, Tables: tables}})
	if err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	defer func() { err = errors.Join(err, filled.Close(), plain.Close()) }()
	for _, db := range []*sql.DB{plain, filled} {
		db.SetMaxOpenConns(1)
	}
	if err := createFacts(ctx, plain); err != nil {
		return nil, err
	}
	for i, s := range selectSources {
		ownKey, key := e.Identity, e.Identity
		if s.uuid {
			key, ownKey = uuidText[e.Dialect], uuidText[e.Dialect]+" DEFAULT "+uuidMade[e.Dialect]
		}
		filledTable, made, madeAgain := fmt.Sprintf("filled_%d", i), fmt.Sprintf("made_%d", i), fmt.Sprintf("again_%d", i)
		for table, column := range map[string]string{filledTable: key, made: ownKey, madeAgain: ownKey} {
			if _, err := plain.ExecContext(ctx, "CREATE TABLE "+table+" (id "+column+", customer INT NOT NULL, amount INT NOT NULL, note VARCHAR(40) NOT NULL)"); err != nil {
				return nil, err
			}
		}
		for _, size := range selectSizes {
			variant := func(name string, db *sql.DB, table string) Variant {
				text := fmt.Sprintf("INSERT INTO %s (customer, amount, note) SELECT customer, amount, note FROM facts WHERE n <= %d", table, size.rows)
				return Variant{
					Name:  name,
					Setup: func(int) error { _, err := plain.ExecContext(ctx, "DELETE FROM "+table); return err },
					Run:   execute(db, text),
				}
			}
			variants := []Variant{variant(ours, filled, filledTable), variant(engineOwn, plain, made), variant(engineOwn+again, plain, madeAgain)}
			var refused rewrite.Reason
			if err := variants[0].Run(1); errors.As(err, &refused) {
				continue
			}
			samples, err := turns(moreRounds*r.Rounds, r.times(size.times), variants)
			if err != nil {
				return nil, err
			}
			what := fmt.Sprintf("%s, INSERT … SELECT, rows: %d, %s: time", e.Name, size.rows, s.name)
			control := stats.Of(stats.Ratios(samples[engineOwn+again].Wall, samples[engineOwn].Wall))
			all = append(all, Figure{What: what, Against: engineOwn, Unit: Times, Control: &control,
				Optional: true,
				Value:    stats.Of(stats.Ratios(samples[ours].Wall, samples[engineOwn].Wall)),
				Note:     fmt.Sprintf("%.2f ms", stats.Of(samples[ours].Wall).Median/1e6)})
		}
	}
	return all, nil
}

// uuidText is the type of a text column for UUIDs on each engine, and uuidMade the
// expression that makes a UUID for it.
var (
	uuidText = map[string]string{"postgres": "UUID PRIMARY KEY", "mariadb": "CHAR(36) CHARACTER SET ascii PRIMARY KEY", "sqlite": "TEXT PRIMARY KEY"}
	uuidMade = map[string]string{"postgres": "gen_random_uuid()", "mariadb": "(uuid())", "sqlite": "(lower(hex(randomblob(18))))"}
)

// createFacts creates the table that the rows come from.
func createFacts(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "CREATE TABLE facts (n INT NOT NULL PRIMARY KEY, customer INT NOT NULL, amount INT NOT NULL, note VARCHAR(40) NOT NULL)"); err != nil {
		return err
	}
	const most, at = 10_000, 1_000
	for first := 1; first <= most; first += at {
		var rows []string
		for n := first; n < first+at; n++ {
			rows = append(rows, fmt.Sprintf("(%d, 1, 12345, 'what a row of an order may say')", n))
		}
		if _, err := db.ExecContext(ctx, "INSERT INTO facts VALUES "+strings.Join(rows, ", ")); err != nil {
			return err
		}
	}
	return nil
}
