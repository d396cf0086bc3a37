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
)

// keptForm is an INSERT after which keyfill may have to query the database, or to raise a
// numbering.
type keptForm struct {
	name   string
	text   map[string]string // the INSERT, by dialect; %t stands for the table
	joined bool
	brings bool // whether the argument is a key, which grows from row to row
}

// driverAlone is the name of the rival with which the INSERTs of keptForms are compared.
const driverAlone = "the driver alone"

// keptForms are the INSERTs of [Kept].
var keptForms = []keptForm{
	{"an INSERT that is ignored", map[string]string{
		"mariadb": "INSERT IGNORE INTO %t (u) VALUES (1)", "sqlite": "INSERT OR IGNORE INTO %t (u) VALUES (1)",
		"postgres": "INSERT INTO %t (u) VALUES (1) ON CONFLICT DO NOTHING"}, false, false},
	{"SELECT NULL for the key", map[string]string{
		"mariadb": "INSERT INTO %t (id, u) SELECT NULL, NULL", "sqlite": "INSERT INTO %t (id, u) SELECT NULL, NULL"}, false, false},
	{"a joined key of the application's own", map[string]string{
		"mariadb": "INSERT INTO %t (id, u) VALUES (?, NULL)", "sqlite": "INSERT INTO %t (id, u) VALUES (?, NULL)",
		"postgres": "INSERT INTO %t (id, u) VALUES ($1, NULL)"}, true, true},
}

// Kept measures the time of INSERTs on a real engine that keyfill sends unchanged, or that
// store nothing, in comparison with the plain driver.
func Kept(ctx context.Context, r Run, e engines.Engine, connector driver.Connector) (all []Figure, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	plain := sql.OpenDB(connector)
	tables := map[string]policy.Table{}
	for i, f := range keptForms {
		source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
		if f.joined {
			source.Transaction = policy.TransactionJoined
		}
		tables[fmt.Sprintf("kept_%d", i)] = policy.Table{Column: "id", InPlace: &source}
	}
	filled, err := keyfill.OpenDB(connector, keyfill.Options{Policy: &policy.Config{Dialect: e.Dialect, Tables: tables}})
	if err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	defer func() { err = errors.Join(err, filled.Close(), plain.Close()) }()
	for _, db := range []*sql.DB{plain, filled} {
		db.SetMaxOpenConns(1)
	}
	for i, f := range keptForms {
		text, has := f.text[e.Dialect]
		if !has {
			continue
		}
		variant := func(name string, db *sql.DB, table string) Variant {
			key := int64(1000)
			return Variant{
				Name: name,
				Setup: func(int) error {
					_, err := plain.ExecContext(ctx, "DELETE FROM "+table+" WHERE u IS NULL")
					return err
				},
				Run: func(n int) error {
					for range n {
						var args []any
						if f.brings {
							key++
							args = []any{key}
						}
						if _, err := db.ExecContext(ctx, strings.ReplaceAll(text, "%t", table), args...); err != nil {
							return err
						}
					}
					return nil
				},
			}
		}
		var variants []Variant
		for _, v := range []struct {
			name, table string
			db          *sql.DB
		}{{ours, fmt.Sprintf("kept_%d", i), filled}, {driverAlone, fmt.Sprintf("plain_%d", i), plain}, {driverAlone + again, fmt.Sprintf("again_%d", i), plain}} {
			for _, text := range []string{"CREATE TABLE " + v.table + " (id " + e.Identity + ", u INT UNIQUE)", "INSERT INTO " + v.table + " (u) VALUES (1)"} {
				if _, err := plain.ExecContext(ctx, text); err != nil {
					return nil, err
				}
			}
			variants = append(variants, variant(v.name, v.db, v.table))
		}
		samples, err := turns(moreRounds*r.Rounds, r.times(60), variants)
		if err != nil {
			return nil, err
		}
		control := stats.Of(stats.Ratios(samples[driverAlone+again].Wall, samples[driverAlone].Wall))
		all = append(all, Figure{What: fmt.Sprintf("%s, %s: time", e.Name, f.name), Against: driverAlone, Unit: Times, Control: &control,
			Optional: true,
			Value:    stats.Of(stats.Ratios(samples[ours].Wall, samples[driverAlone].Wall)),
			Note:     fmt.Sprintf("%.0f µs", stats.Of(samples[ours].Wall).Median/1e3)})
	}
	return all, nil
}
