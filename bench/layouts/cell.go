package layouts

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/internal/measure"
)

// Cell is a table that is filled.
type Cell struct {
	Engine engines.Engine
	Layout measure.Layout
	Table  string // a name that nothing has in the database yet
	Rows   int
}

// Result is what came of a cell.
type Result struct {
	Engine  string        `json:"engine"`
	Layout  string        `json:"layout"`
	Rows    int           `json:"rows"`
	Took    time.Duration `json:"took"`  // nanoseconds, as the others
	First   time.Duration `json:"first"` // the first quarter of the rows
	Last    time.Duration `json:"last"`
	Table   int64         `json:"table"`   // bytes
	Indexes int64         `json:"indexes"` // bytes beside the table
	Times   float64       `json:"times"`   // Took over the time of the engine's own keys
}

// Run fills the table and drops it.
func (c Cell) Run(ctx context.Context, connector driver.Connector) (r Result, err error) {
	plain := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, plain.Close()) }()
	if _, err := plain.ExecContext(ctx, c.Layout.Create(c.Engine.Columns, c.Table)); err != nil {
		return r, err
	}
	db := plain
	if cfg := c.Layout.Policy(c.Engine.Dialect, c.Table); cfg != nil {
		cfg.StoreWait = time.Minute // a server that is busy is no failure
		if db, err = keyfill.OpenDB(connector, keyfill.Options{Policy: cfg}); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	r = Result{Engine: c.Engine.Name, Layout: c.Layout.Name, Rows: c.Rows}
	db.SetMaxOpenConns(1)
	filled, err := c.Engine.Fill(ctx, db, c.Table, c.Rows)
	if err != nil {
		return r, err
	}
	r.Took, r.First, r.Last = filled.Took, filled.First, filled.Last
	if r.Table, r.Indexes, err = c.Engine.Size(ctx, plain, c.Table); err != nil {
		return r, err
	}
	if err := c.check(ctx, plain); err != nil {
		return r, err
	}
	_, err = plain.ExecContext(ctx, "DROP TABLE "+c.Table)
	return r, err
}

// check counts the rows: the primary key has kept them apart.
func (c Cell) check(ctx context.Context, db *sql.DB) error {
	var rows int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+c.Table).Scan(&rows); err != nil {
		return err
	}
	if rows != c.Rows {
		return fmt.Errorf("layouts: %s has %d rows, want %d", c.Table, rows, c.Rows)
	}
	return nil
}

// Whole returns the number of rows, at least one transaction a quarter, that a cell
// can have which is asked for so many.
func Whole(rows int) int { return max(1, rows/4/measure.Part) * 4 * measure.Part }
