package figures

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/internal/measure"
)

// layoutEngines are the engines on which statements of many rows, as of "make layouts", are
// profiled too. Of MariaDB's two entries it names one, since the way in which the driver
// sends arguments changes these profiles little. SQLite is missing, since no limit is
// required for it.
var layoutEngines = []string{"PostgreSQL", "MariaDB"}

// ProfileRows profiles rows on a real engine, with one connection and with eight; on the
// engines in layoutEngines it also profiles the statements of 500 rows that "make layouts"
// executes.
func ProfileRows(ctx context.Context, r Run, folder string, e engines.Engine, connector driver.Connector) (all []Profile, err error) {
	dbs, err := openRows(e, connector)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dbs.close()) }()
	compared := comparisons(e)
	for _, c := range compared {
		if err := c.create(ctx, dbs.plain); err != nil {
			return nil, err
		}
	}
	p := profiler{r, folder}
	err = singly(func() (err error) {
		all, err = p.all(waysOfRows(ctx, e, compared, 1, dbs))
		return err
	})
	if err != nil {
		return nil, err
	}
	many, err := p.all(waysOfRows(ctx, e, compared, 8, dbs))
	if err != nil {
		return nil, err
	}
	all = append(all, many...)
	if !slices.Contains(layoutEngines, e.Name) {
		return all, nil
	}
	filled, err := p.filling(ctx, e, connector)
	return append(all, filled...), err
}

// waysOfRows returns the ways with one row a statement. If a program may send an integer
// key of its own, that program is the rival, so that both sides send one argument more than
// the engine's own key needs.
func waysOfRows(ctx context.Context, e engines.Engine, compared []comparison, connections int, dbs rowsDBs) (ways []way) {
	dbs.limit(connections)
	for _, c := range compared {
		what := e.Name + ", " + c.what
		if connections > 1 {
			what += fmt.Sprintf(", %d connections", connections)
		}
		variants := c.variants(ctx, e, connections, dbs)
		at := slices.IndexFunc(variants, func(v Variant) bool { return v.Name == integerByHand })
		ways = append(ways, way{what: what, ours: variants[0], rival: variants[max(at, 1)]})
	}
	return ways
}

// filling profiles how a table is filled with keys of UUIDv7 in 16 bytes, in comparison
// with keys that the engine makes. The unit of the times is a statement of 500 rows; a
// transaction has ten such statements.
func (p profiler) filling(ctx context.Context, e engines.Engine, connector driver.Connector) (all []Profile, err error) {
	fill := func(layout, name, table string) (Variant, *sql.DB, error) {
		db, err := openLayout(ctx, e, connector, layout, table)
		return Variant{Name: name, Run: func(n int) error {
			_, err := e.Fill(ctx, db, table, n*measure.StatementRows)
			return err
		}}, db, err
	}
	keyfills, filled, err := fill(measure.V7, ours, "filled_by_statements")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, filled.Close()) }()
	owns, made, err := fill(measure.Own, engineOwn, "made_by_statements")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	err = singly(func() (err error) {
		all, err = p.all([]way{{
			what: fmt.Sprintf("%s, %s, a row of %d in a statement", e.Name, measure.V7, measure.StatementRows),
			ours: keyfills, rival: owns, rows: measure.StatementRows,
		}})
		return err
	})
	return all, err
}

// openLayout opens a database with the policy of a layout, and creates the table there.
func openLayout(ctx context.Context, e engines.Engine, connector driver.Connector, layout, table string) (db *sql.DB, err error) {
	all := measure.Layouts()
	l := all[slices.IndexFunc(all, func(l measure.Layout) bool { return l.Name == layout })]
	if cfg := l.Policy(e.Dialect, table); cfg == nil {
		db = sql.OpenDB(connector)
	} else if db, err = keyfill.OpenDB(connector, keyfill.Options{Policy: cfg}); err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, l.Create(e.Columns, table)); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
