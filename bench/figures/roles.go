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

// roleSources are the sources of [Roles].
var roleSources = []struct {
	name, column string
	source       policy.Source
}{
	{"uuidv7", "UUID", policy.Source{Kind: policy.KindUUIDv7}},
	{"sequence", "BIGINT", policy.Source{Kind: policy.KindSequence, EnsureSchema: true}},
	{"joined", "BIGINT", policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}},
}

// Roles measures the time of a transaction of PostgreSQL that sets another role and inserts
// a row, in comparison with the plain driver: keyfill asks where the role looks for tables,
// and with transaction: joined once whether it may reserve.
func Roles(ctx context.Context, r Run, e engines.Engine, connector driver.Connector) (all []Figure, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	plain := sql.OpenDB(connector)
	tables := map[string]policy.Table{}
	for i := range roleSources {
		tables[fmt.Sprintf("roles_%d", i)] = policy.Table{Column: "id", InPlace: &roleSources[i].source}
	}
	filled, err := keyfill.OpenDB(connector, keyfill.Options{Policy: &policy.Config{Dialect: e.Dialect, Tables: tables}})
	if err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	defer func() { err = errors.Join(err, filled.Close(), plain.Close()) }()
	for _, db := range []*sql.DB{plain, filled} {
		db.SetMaxOpenConns(1)
	}
	const role = "kf_bench_role"
	run := func(db *sql.DB, queries ...string) error {
		for _, query := range queries {
			if _, err := db.ExecContext(ctx, query); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
		return nil
	}
	if err := run(plain, "DROP ROLE IF EXISTS "+role, "CREATE ROLE "+role); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run(plain, "DROP OWNED BY "+role, "DROP ROLE "+role)) }()
	for i, s := range roleSources {
		for _, name := range []string{"roles", "roles_plain", "roles_again"} {
			if err := run(plain, fmt.Sprintf("CREATE TABLE %s_%d (id %s DEFAULT %s PRIMARY KEY, v INT)", name, i, s.column, map[bool]string{true: "gen_random_uuid()", false: "0"}[s.column == "UUID"])); err != nil {
				return nil, err
			}
		}
		if err := run(filled, fmt.Sprintf("INSERT INTO roles_%d (v) VALUES (1)", i)); err != nil { // this creates the state (stored counter) of the source
			return nil, err
		}
	}
	if err := run(plain, "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role); err != nil {
		return nil, err
	}
	for i, s := range roleSources {
		variant := func(name string, db *sql.DB, table string) Variant {
			insert := fmt.Sprintf("INSERT INTO %s_%d (v) VALUES ($1)", table, i)
			return Variant{Name: name, Run: func(n int) error {
				for range n {
					if err := asRole(ctx, db, role, insert); err != nil {
						return err
					}
				}
				return nil
			}}
		}
		samples, err := turns(moreRounds*r.Rounds, r.times(60), []Variant{
			variant(ours, filled, "roles"), variant(driverAlone, plain, "roles_plain"), variant(driverAlone+again, plain, "roles_again"),
		})
		if err != nil {
			return nil, err
		}
		control := stats.Of(stats.Ratios(samples[driverAlone+again].Wall, samples[driverAlone].Wall))
		all = append(all, Figure{What: fmt.Sprintf("%s, a transaction that takes a role, %s: time", e.Name, s.name), Against: driverAlone, Unit: Times, Control: &control,
			Optional: true,
			Value:    stats.Of(stats.Ratios(samples[ours].Wall, samples[driverAlone].Wall)),
			Note:     fmt.Sprintf("%.0f µs", stats.Of(samples[ours].Wall).Median/1e3)})
	}
	return all, nil
}

// asRole inserts a row as another role, in a transaction that is rolled back: nothing waits
// for the disk, and the table stays empty.
func asRole(ctx context.Context, db *sql.DB, role, insert string) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	if _, err := tx.ExecContext(ctx, "SET LOCAL ROLE "+role); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, insert, 1)
	return err
}
