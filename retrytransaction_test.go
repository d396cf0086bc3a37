package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"testing"

	"github.com/keyfill/keyfill"
)

// answered is an error of an engine for PostgreSQL, by its SQLSTATE.
type answered string

func (e answered) Error() string    { return "an answer of the engine" }
func (e answered) SQLState() string { return string(e) }

const (
	deadlock      = answered("40P01")
	serialization = answered("40001")
	duplicate     = answered("23505")
	unknown       = answered("40003") // whether the statement has run
)

const insertDollar = "INSERT INTO t (a, b) VALUES ($1, $2)"

// answers makes the executions that reach the driver end in these errors, one after the
// other; later ones succeed.
func (d *fakeDriver) answers(errs ...error) {
	d.exec = func(string, []driver.NamedValue) (driver.Result, error) {
		if len(errs) > 0 {
			err := errs[0]
			errs = errs[1:]
			if err != nil {
				return nil, err
			}
		}
		return driver.RowsAffected(1), nil
	}
}

// TestRetryAnswered: an INSERT that the engine has undone for the sake of others has its
// key when it comes again under a record, and another key after any other error.
func TestRetryAnswered(t *testing.T) {
	for _, c := range []struct {
		name     string
		err      error
		recorded bool
		want     []driver.Value
	}{
		{"deadlock", deadlock, true, []driver.Value{int64(1), int64(1), int64(2)}},
		{"serialization", serialization, true, []driver.Value{int64(1), int64(1), int64(2)}},
		{"without a record", deadlock, false, []driver.Value{int64(1), int64(2), int64(3)}},
		{"a duplicate key", duplicate, true, []driver.Value{int64(1), int64(2), int64(3)}},
		{"not known", unknown, true, []driver.Value{int64(1), int64(2), int64(3)}},
		{"a success", nil, true, []driver.Value{int64(1), int64(2), int64(3)}},
	} {
		for _, prepares := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				d := &fakeDriver{strength: contexts, skip: prepares}
				d.answers(c.err)
				db := open(t, d, sequences("postgres"))
				ctx := context.Background()
				if c.recorded {
					ctx, _ = keyfill.Record(ctx)
				}
				if _, err := db.ExecContext(ctx, insertDollar, 1, "x"); err != c.err {
					t.Fatalf("%v, want %v", err, c.err)
				}
				mustExecContext(t, ctx, db, insertDollar, 1, "x")
				mustExecContext(t, ctx, db, insertDollar, 1, "x")
				if got := lastArgs(d); !slices.Equal(got, c.want) {
					t.Errorf("keys %v, want %v", got, c.want)
				}
			})
		}
	}
}

// TestRetryRolledBack: what a transaction has stored that was rolled back has its keys
// when it comes again under the record, in the order of the statements.
func TestRetryRolledBack(t *testing.T) {
	twice := []driver.Value{int64(1), int64(2), int64(3), int64(1), int64(2), int64(3)}
	anew := []driver.Value{int64(1), int64(2), int64(3), int64(4), int64(5), int64(6)}
	for _, c := range []struct {
		name   string
		end    func(*sql.Tx) error
		commit error // of the driver
		want   []driver.Value
	}{
		{"rolled back", (*sql.Tx).Rollback, nil, twice},
		{"a COMMIT that is refused", (*sql.Tx).Commit, serialization, twice},
		{"a COMMIT that is not known", (*sql.Tx).Commit, unknown, anew},
		{"a COMMIT without an answer", (*sql.Tx).Commit, driver.ErrBadConn, anew},
		{"a COMMIT that finds a duplicate", (*sql.Tx).Commit, duplicate, anew},
		{"committed", (*sql.Tx).Commit, nil, anew},
		{"committed by a text", func(tx *sql.Tx) error {
			if _, err := tx.Exec("COMMIT"); err != nil {
				return err
			}
			return tx.Rollback()
		}, nil, anew},
		{"behind a savepoint", func(tx *sql.Tx) error {
			if _, err := tx.Exec("SAVEPOINT a"); err != nil {
				return err
			}
			return tx.Rollback()
		}, nil, twice},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts, commit: c.commit}
			db := open(t, d, sequences("postgres"))
			ctx, rec := keyfill.Record(context.Background())
			attempt := func() *sql.Tx {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				// Two are alike, and differ by their place alone.
				for _, b := range []string{"x", "x", "y"} {
					if _, err := tx.ExecContext(ctx, insertDollar, 1, []byte(b)); err != nil {
						t.Fatal(err)
					}
				}
				return tx
			}
			if err := c.end(attempt()); !errors.Is(err, c.commit) {
				t.Fatalf("%v, want %v", err, c.commit)
			}
			d.commit = nil
			if err := attempt().Commit(); err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(lastOf(d), func(v driver.Value) bool { return v == nil })
			if !slices.Equal(got, c.want) {
				t.Errorf("keys %v, want %v", got, c.want)
			}
			if n := len(rec.All()); c.want[3] == int64(1) && n != 3 || c.want[3] != int64(1) && n != 6 {
				t.Errorf("recorded %v", rec.All())
			}
		})
	}
}

// lastOf is lastArgs, with nil for an execution without arguments.
func lastOf(d *fakeDriver) []driver.Value {
	var all []driver.Value
	for _, c := range d.sent() {
		if len(c.args) == 0 {
			all = append(all, nil)
		} else {
			all = append(all, c.args[len(c.args)-1].Value)
		}
	}
	return all
}

// TestRetryOwnsArguments: a program may use the memory of its arguments again once the
// statement has been sent: the next attempt is compared with what was sent.
func TestRetryOwnsArguments(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	d.answers(deadlock)
	db := open(t, d, sequences("postgres"))
	ctx, _ := keyfill.Record(context.Background())
	arg := []byte("x")
	if _, err := db.ExecContext(ctx, insertDollar, 1, arg); err != deadlock {
		t.Fatal(err)
	}
	arg[0] = 'y'
	mustExecContext(t, ctx, db, insertDollar, 1, arg)
	mustExecContext(t, ctx, db, insertDollar, 1, []byte("x"))
	if got, want := lastArgs(d), []driver.Value{int64(1), int64(2), int64(1)}; !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
}

// TestRetryAfterDeadlock: on MySQL the engine ends a transaction at a deadlock, and
// commits each later statement at once. If the error was not seen, nothing is taken for
// rolled back, nor after a procedure, which may have committed.
func TestRetryAfterDeadlock(t *testing.T) {
	for _, c := range []struct {
		ended  bool
		behind string
		want   int64
	}{
		{false, "UPDATE t SET a = 1", 1},
		{true, "UPDATE t SET a = 1", 2},
		{false, "CALL p()", 2},
	} {
		d := &fakeDriver{strength: contexts}
		d.exec = func(query string, _ []driver.NamedValue) (driver.Result, error) {
			if c.ended && query == "RELEASE SAVEPOINT keyfill_proof" {
				return nil, &MySQLError{Number: 1305}
			}
			return driver.RowsAffected(1), nil
		}
		db := open(t, d, sequences("mysql"))
		ctx, _ := keyfill.Record(context.Background())
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, insert, 1, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, c.behind); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		mustExecContext(t, ctx, db, insert, 1, "x")
		want := []driver.Value{int64(1), c.want}
		if got := slices.DeleteFunc(lastOf(d), func(v driver.Value) bool { return v == nil }); !slices.Equal(got, want) {
			t.Errorf("%+v: keys %v, want %v", c, got, want)
		}
	}
}

// MySQLError is an error of an engine for MySQL, as go-sql-driver has it.
type MySQLError struct{ Number uint16 }

func (e *MySQLError) Error() string { return "an answer of the engine" }
