package approaches

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/measure"
)

// Cell is one measurement of a method.
type Cell struct {
	Engine      Engine
	Form        Form
	Method      measure.Method
	Connections int           // the number of connections that insert at the same time
	Time        time.Duration // how long the connections insert
	Table       string        // the name of a table that does not exist yet
}

// Result is the result of measuring a cell: one method with some number of connections.
type Result struct {
	Stored  int64   // all rows that were stored, also before the time began and after it was over
	Rows    int64   // the rows that were committed in the time
	Rate    float64 // the rows a second: Rows divided by the time
	Ends    Tally   // the errors that the engine has reported since the time began
	Refused int64   // how many transactions the caller saw fail with one of these errors
}

// Run measures the cell in the database of a DSN. It leaves nothing there but rows of
// keyfill's own tables. It returns an error if a statement fails for a reason other than
// concurrent transactions, or if the keys are wrong.
func (c Cell) Run(ctx context.Context, dsn string) (Result, error) {
	parent, err := c.Engine.Connector(dsn)
	if err != nil {
		return Result{}, err
	}
	raw := sql.OpenDB(parent)
	defer raw.Close()
	if err := c.create(ctx, raw); err != nil {
		return Result{}, err
	}
	count := new(counter)
	r, err := c.measure(ctx, parent, count)
	if err == nil {
		err = c.check(ctx, raw, r)
	}
	for _, table := range []string{c.Table, c.accounts()} {
		_, dropped := raw.ExecContext(ctx, "DROP TABLE "+table)
		err = errors.Join(err, dropped)
	}
	return r, err
}

// accounts returns the name of a second table, with a row for each connection, which the
// statements after the INSERT of a transaction change.
func (c Cell) accounts() string { return c.Table + "_accounts" }

func (c Cell) create(ctx context.Context, db *sql.DB) error {
	queries := []string{
		"CREATE TABLE " + c.Table + " (id " + c.Engine.column(c.Method) +
			" PRIMARY KEY, customer INT NOT NULL, amount INT NOT NULL, note VARCHAR(40) NOT NULL)",
		"CREATE TABLE " + c.accounts() + " (id INT NOT NULL PRIMARY KEY, amount INT NOT NULL)",
	}
	for i := range c.Connections {
		queries = append(queries, fmt.Sprintf("INSERT INTO %s (id, amount) VALUES (%d, 0)", c.accounts(), i))
	}
	for _, query := range queries {
		if _, err := db.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// measure lets the processes (connections) insert at the same time, and returns the result.
func (c Cell) measure(ctx context.Context, parent driver.Connector, count *counter) (r Result, err error) {
	all := make([]*process, c.Connections)
	defer func() {
		for _, p := range all {
			if p != nil {
				err = errors.Join(err, p.db.Close())
			}
		}
	}()
	for i := range all {
		if all[i], err = c.open(parent, count, i); err != nil {
			return r, err
		}
		if err := all[i].insert(ctx); err != nil {
			return r, err
		}
		all[i].stored++
	}
	before := count.tally()
	var (
		wg     sync.WaitGroup
		failed atomic.Bool
	)
	over := time.Now().Add(c.Time)
	for _, p := range all {
		wg.Go(func() {
			if p.err = p.run(ctx, over, &failed); p.err != nil {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	r.Ends = count.since(before)
	for _, p := range all {
		r.Stored += p.stored
		r.Rows += p.rows
		r.Refused += p.refused
		err = errors.Join(err, p.err)
	}
	r.Rate = float64(r.Rows) / c.Time.Seconds()
	return r, err
}

// open returns process i.
func (c Cell) open(parent driver.Connector, count *counter, i int) (*process, error) {
	connector, err := count.around(parent)
	if err != nil {
		return nil, err
	}
	p := &process{
		number: i,
		held:   c.Form.Held,
		query:  c.Engine.bind("INSERT INTO " + c.Table + " (customer, amount, note) VALUES (?, ?, ?)"),
		update: c.Engine.bind("UPDATE " + c.accounts() + " SET amount = amount + 1 WHERE id = ?"),
		may:    c.Method.Duplicates,
	}
	if cfg := c.Method.Policy(c.Engine.Dialect.Name, c.Table, i); cfg == nil {
		p.db = sql.OpenDB(connector)
	} else {
		cfg.StoreWait = time.Minute // wait longer than usual, since a server that is busy with other processes is no failure
		if p.db, err = keyfill.OpenDB(connector, keyfill.Options{Policy: cfg}); err != nil {
			return nil, err
		}
	}
	p.db.SetMaxOpenConns(1)
	return p, nil
}

// check compares the rows and keys in the table with the number of rows that were
// committed.
func (c Cell) check(ctx context.Context, db *sql.DB, r Result) error {
	var rows, different int64
	var greatest string
	query := "SELECT COUNT(*), COUNT(DISTINCT id), MAX(id) FROM " + c.Table
	if err := db.QueryRowContext(ctx, query).Scan(&rows, &different, &greatest); err != nil {
		return err
	}
	switch {
	case rows != r.Stored:
		return fmt.Errorf("approaches: %d rows are stored, %d were committed", rows, r.Stored)
	case different != rows:
		return fmt.Errorf("approaches: %d rows have %d different keys", rows, different)
	case c.Method.GapFree && greatest != fmt.Sprint(rows):
		return fmt.Errorf("approaches: %d rows have keys with gaps", rows)
	}
	return nil
}
