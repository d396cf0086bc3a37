// Package bench measures, for keyfill bench, which kind of key is fastest on a database. It
// stores rows in tables of its own under each kind of key, and sends INSERTs over several
// connections. It reports the results as text, JSON and an HTML page.
package bench

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/measure"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/stats"
	"github.com/keyfill/keyfill/policy"
)

// Options select what is measured.
type Options struct {
	Driver      string
	Rows        int           // the rows stored under each layout (a kind of key in one form)
	Rounds      int           // how often each layout and way is measured
	Time        time.Duration // how long each way to make keys inserts; 0 skips the ways
	MaxRows     int           // the most rows that each way to make keys stores
	Connections []int
}

// Measure runs the whole measurement, returns its report, and shows its progress on errOut.
func Measure(ctx context.Context, tables *Scratch, connector driver.Connector, o *Options, errOut io.Writer) (*Report, error) {
	columns, _ := measure.ColumnsOf(tables.dialect) // never fails: the command accepts only engines that have columns here
	b := &bench{options: o, db: tables.db, dialect: tables.dialect, connector: connector, columns: columns, tables: tables}
	b.begin(errOut)
	defer b.progress.End()
	return b.run(ctx)
}

// bench is one run of the measurement.
type bench struct {
	options   *Options
	db        *sql.DB
	dialect   *dialect.Dialect
	connector driver.Connector
	columns   measure.Columns
	tables    *Scratch

	layouts []measure.Layout
	methods []measure.Method

	progress *terminal.Progress
	rowsLeft int           // rows that are still to be stored to compare the layouts of keys
	rowsDone int           // rows that were stored to compare the layouts of keys
	filling  time.Duration // how long it took to store the rows of rowsDone
	waysLeft int           // how many measurements of ways to make keys remain
	ways     int           // how many measurements of ways to make keys are done
	inserts  time.Duration // how long the measurements of ways to make keys took
}

// identityAgain is a second measurement of the way identity, in which the engine makes the
// key. The difference between the two results of identity shows how much of a result is
// chance.
const identityAgain = "identity-again"

// Methods returns the ways to make keys that are measured over several connections.
func Methods(layouts []measure.Layout) []measure.Method {
	methods := measure.Methods()
	for _, l := range layouts {
		switch l.Name {
		case measure.V7:
			methods = append(methods, l.Method("uuidv7", "uuidv7, 16 bytes"))
		case measure.Flake:
			methods = append(methods, l.Method("snowflake", "snowflake"))
		case measure.OwnAgain:
			methods = append(methods, l.Method(identityAgain, "identity, again"))
		}
	}
	return methods
}

// begin sets which layouts of keys and which ways to make them are measured, and starts the
// progress bar.
func (b *bench) begin(out io.Writer) {
	b.layouts = measure.Layouts()
	if b.options.Driver == "postgres" {
		b.layouts = measure.SentAsText(b.layouts)
	}
	b.methods = Methods(b.layouts)
	b.rowsLeft = b.options.Rounds * len(b.layouts) * b.options.Rows
	if b.options.Time > 0 {
		b.waysLeft = b.options.Rounds * len(b.methods) * len(b.options.Connections)
	}
	b.progress = terminal.NewProgress(out, b.options.Rounds*len(b.layouts)+b.waysLeft)
}

// show draws the progress bar. It estimates the remaining time from the finished
// measurements of the same kind, and from Options.Time until the first way is measured.
func (b *bench) show(what string) {
	all := b.options.Rounds * len(b.layouts)
	done := b.rowsDone/b.options.Rows + b.ways
	left := time.Duration(float64(b.filling) / float64(max(b.rowsDone, 1)) * float64(b.rowsLeft))
	each := b.options.Time
	if b.ways > 0 {
		each = b.inserts / time.Duration(b.ways)
	}
	left += each * time.Duration(b.waysLeft)
	b.progress.Draw(done, left, fmt.Sprintf("%d of %d: %s", done, all+b.ways+b.waysLeft, what))
}

// run runs the whole measurement and returns its report.
func (b *bench) run(ctx context.Context) (*Report, error) {
	r := newReport(b)
	var version string
	if err := b.db.QueryRowContext(ctx, engines[b.dialect.Family].version).Scan(&version); err != nil {
		return nil, err
	}
	r.Engine = b.dialect.Title + " " + version
	for round := range b.options.Rounds {
		for _, i := range stats.Order(round, len(b.layouts)) {
			if err := b.fill(ctx, r, i); err != nil {
				return nil, err
			}
		}
		if b.options.Time == 0 {
			continue
		}
		for _, connections := range b.options.Connections {
			for _, i := range stats.Order(round, len(b.methods)) {
				if err := b.insert(ctx, r, i, connections); err != nil {
					return nil, err
				}
			}
		}
	}
	r.compare()
	return r, nil
}

// refused reports whether an error means that keyfill cannot make keys of this kind on this
// engine, which is a result and not a failure.
func refused(ctx context.Context, err error) bool {
	var ours *keyfill.Error
	return errors.As(err, &ours) && ctx.Err() == nil
}

// table creates a table, calls f with its name, and drops it.
func (b *bench) table(ctx context.Context, create func(name string) string, f func(name string) error) error {
	name, err := b.tables.name(ctx)
	if err != nil {
		return err
	}
	if err := b.tables.exec(ctx, create(name)); err != nil {
		return err
	}
	err = f(name)
	if ctx.Err() != nil {
		return errors.Join(err, ctx.Err()) // the interrupted table is dropped by Scratch.Close
	}
	return errors.Join(err, b.tables.drop(ctx, name))
}

// open opens the database through keyfill, or without it if cfg is nil.
func (b *bench) open(cfg *policy.Config) (db *sql.DB, err error) {
	if cfg == nil {
		db = sql.OpenDB(b.connector)
	} else if db, err = database.OpenFilled(b.connector, cfg); err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// fill measures layout i: it stores rows under its keys and notes the result in r.
func (b *bench) fill(ctx context.Context, r *Report, i int) error {
	l, rows := b.layouts[i], b.options.Rows
	b.show(l.Name)
	var f filled
	err := b.table(ctx, func(name string) string { return l.Create(b.columns, name) }, func(name string) (err error) {
		db, err := b.open(l.Policy(b.dialect.Name, name))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		// The first row is not measured, since keyfill reads the catalog and reserves
		// numbers for it.
		if err := b.tables.firstRow(ctx, db, name); err != nil {
			return err
		}
		begin, before := b.filling, b.rowsDone
		start := time.Now()
		f.Filled, err = measure.Fill{DB: db, Dialect: b.dialect, Table: name, Rows: rows, Committed: func(rows int) {
			b.rowsDone, b.rowsLeft, b.filling = b.rowsDone+rows, b.rowsLeft-rows, begin+time.Since(start)
			b.show(l.Name)
		}}.Run(ctx)
		if err != nil {
			// If the layout failed, count its missing rows as stored, so that the progress
			// is right for the layouts that follow.
			b.rowsLeft -= rows - (b.rowsDone - before)
			b.rowsDone = before + rows
			return err
		}
		if err := b.count(ctx, name, 1+int64(rows)); err != nil {
			return err
		}
		f.table, f.indexes, err = b.columns.Size(ctx, b.db, name)
		if err != nil && ctx.Err() == nil && b.dialect.Family == dialect.FamilySQLite {
			err = nil // this SQLite was built without the table dbstat
		}
		return err
	})
	if refused(ctx, err) {
		r.layouts[i].refusal, err = err, nil
	}
	r.layouts[i].add(f)
	return err
}

// count returns an error unless the table has want rows, all with different keys.
func (b *bench) count(ctx context.Context, table string, want int64) error {
	var rows, different int64
	if err := b.db.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(DISTINCT id) FROM "+table).Scan(&rows, &different); err != nil {
		return err
	}
	if rows != want || different != want {
		return fmt.Errorf("%d rows were stored, and the table has %d with %d different keys: write an issue for keyfill", want, rows, different)
	}
	return nil
}

// insert measures method i over a number of connections and notes the result in r.
func (b *bench) insert(ctx context.Context, r *Report, i, connections int) error {
	m := b.methods[i]
	b.show(fmt.Sprintf("%s, %d connections", m.Title, connections))
	start := time.Now()
	var result inserted
	err := b.table(ctx, func(name string) string { return m.Create(b.columns, name) }, func(name string) (err error) {
		result, err = b.insertOver(ctx, m, name, connections)
		if err != nil {
			return err
		}
		return b.count(ctx, name, result.stored)
	})
	b.inserts, b.ways, b.waysLeft = b.inserts+time.Since(start), b.ways+1, b.waysLeft-1
	way := r.way(i, connections)
	if refused(ctx, err) {
		way.refusal, err = err, nil
	}
	way.add(result)
	return err
}

// inserted is the result of measuring a way to make keys.
type inserted struct {
	stored  int64   // the rows stored, including the first one of each connection
	rate    float64 // how many rows were stored in a second
	retries int64   // INSERTs that failed because of other transactions, and were sent again
}

// inserter is one connection that inserts.
type inserter struct {
	db            *sql.DB
	number        int
	duplicates    bool // whether another inserter may have stored the same key
	rows, retries int64
}

// insertOver inserts over a number of connections. Each connection has its own *sql.DB and
// its own counters, as separate processes would.
func (b *bench) insertOver(ctx context.Context, m measure.Method, table string, connections int) (r inserted, err error) {
	var all []*inserter
	defer func() {
		for _, one := range all {
			err = errors.Join(err, one.db.Close())
		}
	}()
	query := measure.Bind(b.dialect, "INSERT INTO "+table+" (customer, amount, note) VALUES (?, ?, ?)")
	for i := range connections {
		db, err := b.open(m.Policy(b.dialect.Name, table, i))
		if err != nil {
			return r, err
		}
		one := &inserter{db: db, number: i, duplicates: m.Duplicates}
		all = append(all, one)
		// The first row is not measured, since keyfill reads the catalog and reserves
		// numbers for it.
		if err := b.insertRow(ctx, one, query); err != nil {
			return r, err
		}
	}
	var (
		wg     sync.WaitGroup
		rows   atomic.Int64
		failed = make(chan error, connections)
	)
	run, stop := context.WithCancel(ctx)
	defer stop()
	start := time.Now()
	for _, one := range all {
		wg.Go(func() {
			for run.Err() == nil && time.Since(start) < b.options.Time && rows.Add(1) <= int64(b.options.MaxRows) {
				if err := b.insertRow(ctx, one, query); err != nil {
					failed <- err
					stop()
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	for _, one := range all {
		r.stored, r.retries = r.stored+one.rows, r.retries+one.retries
	}
	r.rate = float64(r.stored-int64(connections)) / took.Seconds()
	select {
	case err := <-failed:
		return r, err
	default:
		return r, ctx.Err()
	}
}

// insertRow stores a row. It sends the INSERT again if that failed because of another
// transaction, or if another inserter has stored the same key.
func (b *bench) insertRow(ctx context.Context, one *inserter, query string) error {
	for begin := time.Now(); ; {
		_, err := one.db.ExecContext(ctx, query, one.number, one.rows, "what a row of an order may say")
		if err == nil {
			one.rows++
			return nil
		}
		class := sqlcode.ClassOf(b.dialect, err)
		again := class.Transient() || class == dialect.ErrorDuplicate && one.duplicates
		if !again || ctx.Err() != nil || time.Since(begin) > maxWait {
			return err
		}
		one.retries++
		if class == dialect.ErrorLock { // retry after a pause, since SQLite without a busy_timeout returns a lock error at once
			time.Sleep(time.Millisecond)
		}
	}
}
