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

// Cell is a table that is filled and measured.
type Cell struct {
	Engine engines.Engine
	Layout measure.Layout
	Table  string // the name of a table that does not exist yet
	Rows   int
}

// Result is the result of filling a cell's table.
type Result struct {
	Engine  string        `json:"engine"`
	Layout  string        `json:"layout"`
	Rows    int           `json:"rows"`
	Took    time.Duration `json:"took"`  // the time for all rows, in nanoseconds, as First and Last
	First   time.Duration `json:"first"` // the time for the first quarter of the rows; Last is the time for the last quarter
	Last    time.Duration `json:"last"`
	Table   int64         `json:"table"`   // bytes
	Indexes int64         `json:"indexes"` // bytes of the indexes, which Table does not contain
	Times   float64       `json:"times"`   // Took divided by the time of the engine's own keys
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
		cfg.StoreWait = time.Minute // wait longer than usual, since a server that is busy is no failure
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

// check compares the number of rows with what was inserted. The primary key ensures that
// the keys differ.
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

// Whole returns the number of rows of a cell, which is near rows but divides into four
// quarters that each consist of complete transactions.
func Whole(rows int) int { return max(1, rows/4/measure.Part) * 4 * measure.Part }
