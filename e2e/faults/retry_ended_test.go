package faults_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// mariadbs and postgres are the servers by engine.
var mariadbs, postgres = servers[:2], servers[2:]

func never() (cut, time.Duration) { return cutNever, 0 }

// read executes a query whose rows are not looked at.
func read(tx *sql.Tx, query string) error {
	rows, err := tx.Query(query)
	if err != nil {
		return err
	}
	return rows.Close()
}

// victim makes a transaction of MariaDB the victim of a deadlock, and returns its error.
func (o *orders) victim(t *testing.T, tx *sql.Tx) error {
	t.Helper()
	if _, err := tx.Exec("UPDATE counts SET n = n + 1 WHERE id = 1"); err != nil {
		return err
	}
	other, err := o.raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"INSERT INTO counts SELECT 100000 + seq, 0 FROM seq_1_to_500", // the heavier one is no victim
		"UPDATE counts SET n = n + 1 WHERE id = 2",
	} {
		if _, err := other.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := other.Exec("UPDATE counts SET n = n + 1 WHERE id = 1")
		done <- errors.Join(err, other.Rollback())
	}()
	_, err = tx.Exec("UPDATE counts SET n = n + 1 WHERE id = 2")
	if err == nil {
		_, err = tx.Exec("UPDATE counts SET n = n + 1 WHERE id = 2")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	return err
}

// TestDeadlockForgotten: a function that goes on after a deadlock, as if nothing had
// happened, gets an error: what it has stored before is gone.
func TestDeadlockForgotten(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, mariadbs) {
		for _, params := range []string{"", "autocommit=0"} {
			t.Run(e.Name+"/"+params, func(t *testing.T) {
				t.Parallel()
				o := openOrders(t, e, params, never)
				runs := 0
				err := keyfill.Retry(t.Context(), o.db, func(tx *sql.Tx) error {
					runs++
					if _, err := o.store(t.Context(), tx, 0); err != nil {
						return err
					}
					if err := o.victim(t, tx); err == nil {
						t.Error("no deadlock")
					}
					_, err := o.store(t.Context(), tx, 1)
					return err
				})
				if err == nil || runs != 1 || o.have(t, 0) != 0 {
					t.Errorf("%v after %d runs, the first order is stored %d times", err, runs, o.have(t, 0))
				}
			})
		}
	}
}

// TestEndedByText: a function does not run again where a text in it has committed a part.
func TestEndedByText(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, servers) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			o := openOrders(t, e, "", never)
			texts := []string{"CREATE TABLE IF NOT EXISTS made (a INT)", "START TRANSACTION"}
			fails := "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213"
			if e.IsPostgres() {
				harness.Must(t, o.raw, "CREATE FUNCTION fails() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
				texts, fails = []string{"COMMIT", "BEGIN"}, "SELECT fails()"
			}
			runs := 0
			err := keyfill.Retry(t.Context(), o.db, func(tx *sql.Tx) error {
				runs++
				for _, query := range append([]string{fmt.Sprintf("INSERT INTO counts (id, n) VALUES (%d, 77)", 1000+runs)}, texts...) {
					if _, err := tx.Exec(query); err != nil {
						return err
					}
				}
				_, err := tx.Exec(fails)
				return err
			}, keyfill.RetryOptions{Attempts: 2})
			if n := harness.Count(t, o.raw, "SELECT COUNT(*) FROM counts WHERE n = 77"); err == nil || runs != 1 || n != 1 {
				t.Errorf("%v after %d runs, %d rows", err, runs, n)
			}
		})
	}
}

// TestNotEndedByText: a text that may end a transaction, and has not, leaves the function
// to run again.
func TestNotEndedByText(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, mariadbs) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			o := openOrders(t, e, "", never)
			runs := 0
			err := keyfill.Retry(t.Context(), o.db, func(tx *sql.Tx) error {
				if runs++; runs == 2 {
					return nil
				}
				if _, err := tx.Exec("DROP PREPARE nothing"); err == nil {
					t.Error("there is a prepared statement")
				}
				_, err := tx.Exec("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1205")
				return err
			})
			if err != nil || runs != 2 {
				t.Errorf("%v after %d runs", err, runs)
			}
		})
	}
}

// TestCommitOfFailed: PostgreSQL answers the COMMIT of a transaction in which a statement
// has failed, and Retry does not look for its rows.
func TestCommitOfFailed(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, postgres) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			o := openOrders(t, e, "", never)
			runs := 0
			err := keyfill.Retry(t.Context(), o.db, func(tx *sql.Tx) error {
				runs++
				if _, err := o.store(t.Context(), tx, 0); err != nil {
					return err
				}
				if _, err := tx.Exec("INSERT INTO counts (id, n) VALUES (1, 0)"); err == nil {
					t.Error("no duplicate")
				}
				return nil
			})
			if err == nil || errors.Is(err, keyfill.ErrCommitUnknown) || runs != 1 || o.have(t, 0) != 0 {
				t.Errorf("%v after %d runs, stored %d times", err, runs, o.have(t, 0))
			}
		})
	}
}

// TestCommitHeldMixed: a table whose engine has no transactions does not speak for the
// others, not even where the session sees what is not committed.
func TestCommitHeldMixed(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, mariadbs) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			o := openOrders(t, e, "tx_isolation=%27READ-UNCOMMITTED%27", once(cutHeld, 700*time.Millisecond))
			harness.Must(t, o.raw, "ALTER TABLE orders ENGINE=MyISAM")
			_, runs, err := o.retry(t, t.Context(), 0)
			if !errors.Is(err, keyfill.ErrCommitUnknown) || runs != 1 {
				t.Errorf("%v after %d runs", err, runs)
			}
			if n := harness.Count(t, o.raw, "SELECT COUNT(*) FROM order_lines"); n != 0 {
				t.Errorf("%d lines are stored", n)
			}
		})
	}
}

// TestCommitAutocommitOff: on sessions in which transactions begin implicitly Retry looks
// as well.
func TestCommitAutocommitOff(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, mariadbs) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			o := openOrders(t, e, "autocommit=0", once(cutLate, 700*time.Millisecond))
			if _, runs, err := o.retry(t, t.Context(), 0); err != nil || runs != 1 || o.have(t, 0) != 1 {
				t.Errorf("%v after %d runs, stored %d times", err, runs, o.have(t, 0))
			}
		})
	}
}

// TestCommitReads: queries of every form leave the answer to the keys, and what only looks
// like one does not.
func TestCommitReads(t *testing.T) {
	t.Parallel()
	type text struct {
		query  string
		writes bool
	}
	all := []text{
		{"WITH c AS (SELECT n FROM counts) SELECT n FROM c", false},
		{"(SELECT n FROM counts WHERE id = 1) UNION (SELECT 2)", false},
		{"EXPLAIN SELECT n FROM counts", false},
	}
	for _, e := range harness.ByTurns(t, servers) {
		texts := append(all[:3:3], text{"SET STATEMENT max_statement_time = 10 FOR UPDATE counts SET n = n + 1", true})
		if e.IsPostgres() {
			texts = append(all[:3:3], text{"SET LOCAL statement_timeout = '1min'", false},
				text{"WITH c AS (UPDATE counts SET n = n + 1 RETURNING n) SELECT n FROM c", true})
		}
		for _, c := range texts {
			t.Run(e.Name+"/"+c.query, func(t *testing.T) {
				t.Parallel()
				o := openOrders(t, e, "", once(cutAnswer, 0))
				err := keyfill.Retry(t.Context(), o.db, func(tx *sql.Tx) error {
					if _, err := o.store(t.Context(), tx, 0); err != nil {
						return err
					}
					return read(tx, c.query)
				})
				if o.have(t, 0) != 1 || err == nil == c.writes || c.writes && !errors.Is(err, keyfill.ErrCommitUnknown) {
					t.Errorf("%v, stored %d times", err, o.have(t, 0))
				}
			})
		}
	}
}
