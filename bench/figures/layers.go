package figures

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/bench/nulldriver"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// The names of the layers, as figures name rivals (programs compared with).
const (
	raw   = "raw driver"
	null  = "sqlmw's NullInterceptor"
	ours  = "keyfill"
	hand  = "key made by hand"
	again = " again" // added to the name of a rival (the program compared with) for its second turn
)

// layers are database handles on a driver that does nothing: the driver alone, wrapped by
// sqlmw with an interceptor that does nothing, and wrapped by keyfill.
type layers map[string]*sql.DB

// openLayers opens the handles; connections is the most that each may have. Keys of
// "orders" are UUIDs of version 7 as text, keys of "invoices" integers of a sequence.
func openLayers(d *nulldriver.Driver, dialect string, connections int) (layers, error) {
	mw, err := sqlmw.Driver(d, sqlmw.NullInterceptor{}).(driver.DriverContext).OpenConnector("")
	if err != nil {
		return nil, err
	}
	cfg := &policy.Config{
		Dialect: dialect,
		Tables: map[string]policy.Table{
			"orders":    {Column: "id"},
			"customers": {Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv7, Prefix: "cus"}},
			"invoices":  {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence}},
		},
	}
	switch dialect { // state the settings of the session, so that keyfill need not ask for them
	case "mysql":
		cfg.SQLMode = "default"
	case "postgres":
		cfg.StandardConformingStrings = "on"
	}
	kf, err := keyfill.WrapConnector(d, keyfill.Options{
		Policy:    cfg,
		Reservers: func(string) keysource.Reserver { return new(instantStore) },
	})
	if err != nil {
		return nil, err
	}
	all := layers{}
	for name, c := range map[string]driver.Connector{raw: d, null: mw, ours: kf} {
		all[name] = sql.OpenDB(c)
		all[name].SetMaxOpenConns(connections)
		all[name].SetMaxIdleConns(connections)
	}
	return all, nil
}

func (l layers) close() error {
	var err error
	for _, db := range l {
		err = errors.Join(err, db.Close())
	}
	return err
}

// instantStore is a store in memory that answers at once.
type instantStore struct{ used atomic.Int64 }

// Reserve reserves the next n integers.
func (s *instantStore) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	return keysource.Reservation{First: s.used.Add(n) - n + 1}, nil
}

// Advance does nothing: the benchmarks insert no keys of their own.
func (s *instantStore) Advance(context.Context, int64) error { return nil }

// execute returns a function that executes a text n times.
func execute(db *sql.DB, text string, args ...any) func(int) error {
	ctx := context.Background()
	return func(n int) error {
		for range n {
			if _, err := db.ExecContext(ctx, text, args...); err != nil {
				return err
			}
		}
		return nil
	}
}

// prepared returns a function that executes a statement n times, which is prepared once.
func prepared(stmt *sql.Stmt, args ...any) func(int) error {
	ctx := context.Background()
	return func(n int) error {
		for range n {
			if _, err := stmt.ExecContext(ctx, args...); err != nil {
				return err
			}
		}
		return nil
	}
}

// query returns a function that reads all rows of a query n times.
func query(db *sql.DB, text string) func(int) error {
	ctx := context.Background()
	return func(n int) error {
		for range n {
			if err := readAll(ctx, db, text); err != nil {
				return err
			}
		}
		return nil
	}
}

func readAll(ctx context.Context, db *sql.DB, text string) error {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	var c [5]int64
	for rows.Next() {
		if err := rows.Scan(&c[0], &c[1], &c[2], &c[3], &c[4]); err != nil {
			return err
		}
	}
	return rows.Err()
}

// rowsOf returns an INSERT of a number of rows, each with these placeholders.
func rowsOf(table, columns, placeholders string, rows int) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES " +
		strings.TrimSuffix(strings.Repeat("("+placeholders+"), ", rows), ", ")
}
