package layouts

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/policy"
)

// Cell is a table that is filled.
type Cell struct {
	Engine engines.Engine
	Layout Layout
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

// Rows of a statement, and statements of a transaction.
const (
	statementRows = 500
	statements    = 10
	part          = statementRows * statements
)

// note is the text of 100 characters that a row has beside its key.
var note = strings.Repeat("0123456789", 10)

// Run fills the table and drops it.
func (c Cell) Run(ctx context.Context, connector driver.Connector) (r Result, err error) {
	plain := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, plain.Close()) }()
	create := "CREATE TABLE " + c.Table + " (id " + c.Layout.column(c.Engine) + ", note CHAR(100) NOT NULL)"
	if _, err := plain.ExecContext(ctx, create); err != nil {
		return r, err
	}
	db := plain
	if c.Layout.source != nil {
		db, err = keyfill.OpenDB(connector, keyfill.Options{Policy: &policy.Config{
			Dialect: c.Engine.Dialect,
			Tables:  map[string]policy.Table{c.Table: {Column: "id", InPlace: c.Layout.source, Layout: c.Layout.sent}},
		}})
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	r = Result{Engine: c.Engine.Name, Layout: c.Layout.Name, Rows: c.Rows}
	if err := c.fill(ctx, db, &r); err != nil {
		return r, err
	}
	if r.Table, r.Indexes, err = c.Engine.Size(ctx, plain, c.Table); err != nil {
		return r, err
	}
	if err := c.check(ctx, plain); err != nil {
		return r, err
	}
	_, err = plain.ExecContext(ctx, "DROP TABLE "+c.Table)
	return r, err
}

// fill inserts the rows in four quarters.
func (c Cell) fill(ctx context.Context, db *sql.DB, r *Result) error {
	db.SetMaxOpenConns(1)
	values := strings.TrimSuffix(strings.Repeat("(?), ", statementRows), ", ")
	text := c.Engine.Bind("INSERT INTO " + c.Table + " (note) VALUES " + values)
	args := make([]any, statementRows)
	for i := range args {
		args[i] = note
	}
	for quarter := range 4 {
		begin := time.Now()
		for range c.Rows / 4 / part {
			if err := transaction(ctx, db, text, args); err != nil {
				return err
			}
		}
		took := time.Since(begin)
		r.Took += took
		switch quarter {
		case 0:
			r.First = took
		case 3:
			r.Last = took
		}
	}
	return nil
}

func transaction(ctx context.Context, db *sql.DB, text string, args []any) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for range statements {
		if _, err := tx.ExecContext(ctx, text, args...); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
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
func Whole(rows int) int { return max(1, rows/4/part) * 4 * part }
