package approaches

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestEndOf(t *testing.T) {
	tests := []struct {
		err  error
		want End
		ok   bool
	}{
		{&mysql.MySQLError{Number: 1213}, Deadlock, true},
		{fmt.Errorf("around: %w", &mysql.MySQLError{Number: 1205}), LockTimeout, true},
		{&mysql.MySQLError{Number: 1020}, Serialization, true},
		{&mysql.MySQLError{Number: 1062}, Duplicate, true},
		{&mysql.MySQLError{Number: 1064}, 0, false},
		{&pgconn.PgError{Code: "40P01"}, Deadlock, true},
		{&pgconn.PgError{Code: "55P03"}, LockTimeout, true},
		{fmt.Errorf("around: %w", &pgconn.PgError{Code: "40001"}), Serialization, true},
		{&pgconn.PgError{Code: "23505"}, Duplicate, true},
		{&pgconn.PgError{Code: "25P02"}, 0, false},
		{errors.New("1213"), 0, false},
		{nil, 0, false},
	}
	for _, tt := range tests {
		if end, ok := endOf(tt.err); end != tt.want || ok != tt.ok {
			t.Errorf("endOf(%v) = %d, %v, want %d, %v", tt.err, end, ok, tt.want, tt.ok)
		}
	}
}

// deadlocked is a driver all of whose statements, rows and commits end in a
// deadlock.
type deadlocked struct{}

func (d deadlocked) err() error                                   { return &pgconn.PgError{Code: "40P01"} }
func (d deadlocked) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d deadlocked) Driver() driver.Driver                        { return d }
func (d deadlocked) Open(string) (driver.Conn, error)             { return d, nil }
func (d deadlocked) Close() error                                 { return nil }
func (d deadlocked) Begin() (driver.Tx, error)                    { return d, nil }
func (d deadlocked) Commit() error                                { return d.err() }
func (d deadlocked) Rollback() error                              { return nil }
func (d deadlocked) Prepare(string) (driver.Stmt, error)          { return d, nil }
func (d deadlocked) NumInput() int                                { return 0 }
func (d deadlocked) Columns() []string                            { return []string{"a"} }
func (d deadlocked) Next([]driver.Value) error                    { return d.err() }
func (d deadlocked) Exec([]driver.Value) (driver.Result, error)   { return nil, d.err() }
func (d deadlocked) Query([]driver.Value) (driver.Rows, error)    { return d, nil }
func (d deadlocked) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return d, nil
}
func (d deadlocked) PrepareContext(context.Context, string) (driver.Stmt, error) { return d, nil }
func (d deadlocked) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return nil, d.err()
}
func (d deadlocked) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, d.err()
}

// TestCounter: each error is counted once, wherever the driver returns it.
func TestCounter(t *testing.T) {
	count := new(counter)
	c, err := count.around(deadlocked{})
	if err != nil {
		t.Fatal(err)
	}
	if _, same := c.Driver().(deadlocked); !same {
		t.Errorf("the driver is %T, want the counted one's", c.Driver())
	}
	db := sql.OpenDB(c)
	defer db.Close()
	stmt, err := db.Prepare("x")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	steps := map[string]func() error{
		"Exec":      func() error { _, err := db.Exec("x"); return err },
		"Query":     func() error { rows, err := db.Query("x"); return errors.Join(err, rowsErr(rows)) },
		"Stmt.Exec": func() error { _, err := stmt.Exec(); return err },
		"Rows.Next": func() error { rows, err := stmt.Query(); return errors.Join(err, rowsErr(rows)) },
		"Commit": func() error {
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			return tx.Commit()
		},
	}
	for name, step := range steps {
		before := count.tally()
		if end, ok := endOf(step()); !ok || end != Deadlock {
			t.Errorf("%s does not end in a deadlock", name)
		}
		if got, want := count.since(before), (Tally{Deadlock: 1}); got != want {
			t.Errorf("%s: counted %v, want %v", name, got, want)
		}
	}
}

// rowsErr returns the error of reading all rows.
func rowsErr(rows *sql.Rows) error {
	if rows == nil {
		return nil
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}
