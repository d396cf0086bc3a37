package faults_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// servers are the engines that answer over a network.
var servers = []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}

// orders is a database of orders and their lines, by way of a cutter.
type orders struct {
	harness.Engine
	raw *sql.DB
	db  *sql.DB
}

// openOrders makes the tables. The keys of orders are UUIDs, the keys of lines are integers
// that a store gives, which is not reached by way of the cutter.
func openOrders(t *testing.T, e harness.Engine, params string, decide func() (cut, time.Duration)) *orders {
	t.Helper()
	dsn := e.DSN(t)
	p := newCommitCutter(t, e.Server.Addr(), decide)
	cfg := &policy.Config{
		Dialect: e.Dialect.Name,
		Stores:  map[string]policy.Store{"central": {Driver: e.Driver, DSN: e.DSN(t)}},
		Tables: map[string]policy.Table{
			"orders":      {Column: "id", Source: policy.KindUUIDv7},
			"order_lines": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Store: "central"}},
			"messages":    {Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv5, Namespace: "c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17", From: &policy.Scope{{Column: "no"}}}},
		},
	}
	o := &orders{Engine: e, raw: harness.Open(t, e.Driver, dsn)}
	harness.Must(t, o.raw,
		"CREATE TABLE orders (id CHAR(36) NOT NULL PRIMARY KEY, n INT NOT NULL)",
		"CREATE TABLE order_lines (id BIGINT NOT NULL PRIMARY KEY, order_id CHAR(36) NOT NULL, n INT NOT NULL)",
		"CREATE TABLE messages (id CHAR(36) NOT NULL PRIMARY KEY, no BIGINT NOT NULL, n INT)",
		"CREATE TABLE counts (id INT NOT NULL PRIMARY KEY, n INT NOT NULL)",
		"INSERT INTO counts VALUES (1, 0), (2, 0)")
	if params != "" {
		dsn = harness.WithParams(dsn, params)
	}
	o.db, _ = harness.OpenConnector(t, harness.ConnectorOf(t, e.Driver, p.dsn(e, dsn)), cfg)
	return o
}

// store stores an order with two lines, and returns the key of the order.
func (o *orders) store(ctx context.Context, tx *sql.Tx, n int) (uuid.UUID, error) {
	ctx, rec := keyfill.Record(ctx)
	return o.storeUnder(ctx, rec, tx, n)
}

// storeUnder is store under a recorder that there is.
func (o *orders) storeUnder(ctx context.Context, rec *keyfill.Recorder, tx *sql.Tx, n int) (uuid.UUID, error) {
	if _, err := tx.ExecContext(ctx, o.Placeholders("INSERT INTO orders (n) VALUES (?)"), n); err != nil {
		return uuid.Nil, err
	}
	id, ok := keyfill.Last[uuid.UUID](rec, "orders")
	if !ok {
		return uuid.Nil, errors.New("the key is not recorded")
	}
	_, err := tx.ExecContext(ctx, o.Placeholders("INSERT INTO order_lines (order_id, n) VALUES (?, ?), (?, ?)"), id.String(), n, id.String(), n)
	return id, err
}

// retry stores an order by Retry. Each attempt has the same key.
func (o *orders) retry(t *testing.T, ctx context.Context, n int) (id uuid.UUID, attempts int, err error) {
	err = keyfill.Retry(ctx, o.db, func(tx *sql.Tx) error {
		attempts++
		stored, err := o.store(ctx, tx, n)
		if err == nil && id != uuid.Nil && id != stored {
			t.Errorf("the key of order %d is another one in attempt %d", n, attempts)
		}
		if err == nil {
			id = stored
		}
		return err
	})
	return id, attempts, err
}

// have returns how often an order is stored.
func (o *orders) have(t *testing.T, n int) int {
	t.Helper()
	return harness.Count(t, o.raw, o.Placeholders("SELECT COUNT(*) FROM orders WHERE n = ?"), n)
}

// whole checks that each of the orders 0 … n−1 is stored once, with its key and its lines.
func (o *orders) whole(t *testing.T, ids []uuid.UUID) {
	t.Helper()
	rows, err := o.raw.Query("SELECT n, id FROM orders")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen := make([]int, len(ids))
	for rows.Next() {
		var n int
		var id string
		if err := rows.Scan(&n, &id); err != nil {
			t.Fatal(err)
		}
		if seen[n]++; id != ids[n].String() {
			t.Errorf("order %d is stored with another key than it was answered with", n)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for n, times := range seen {
		if times != 1 {
			t.Errorf("order %d is stored %d times", n, times)
		}
	}
	if got := harness.Count(t, o.raw, "SELECT COUNT(*) FROM order_lines"); got != 2*len(ids) {
		t.Errorf("%d lines, want %d", got, 2*len(ids))
	}
	if got := harness.Count(t, o.raw, "SELECT COUNT(*) FROM order_lines l JOIN orders o ON o.id = l.order_id AND o.n = l.n"); got != 2*len(ids) {
		t.Errorf("%d lines belong to their orders, want %d", got, 2*len(ids))
	}
}

// once cuts the first COMMIT, and no other.
func once(how cut, late time.Duration) func() (cut, time.Duration) {
	var seen atomic.Bool
	return func() (cut, time.Duration) {
		if seen.CompareAndSwap(false, true) {
			return how, late
		}
		return cutNever, 0
	}
}

// TestCommitWaits: Retry waits for a COMMIT that reaches the server long after the
// connection was cut, and answers nil then.
func TestCommitWaits(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, servers) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			o := openOrders(t, e, "", once(cutLate, 700*time.Millisecond))
			id, attempts, err := o.retry(t, t.Context(), 0)
			if err != nil || attempts != 1 {
				t.Fatalf("%v after %d attempts", err, attempts)
			}
			o.whole(t, []uuid.UUID{id})
		})
	}
}

// TestCommitHeld: what is not committed is not taken for stored, even where a session sees
// it, and the function does not run again while it may still be.
func TestCommitHeld(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, servers) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			params := ""
			if !e.IsPostgres() {
				params = "tx_isolation=%27READ-UNCOMMITTED%27"
			}
			o := openOrders(t, e, params, once(cutHeld, 700*time.Millisecond))
			begun := time.Now()
			id, attempts, err := o.retry(t, t.Context(), 0)
			if time.Since(begun) < 700*time.Millisecond {
				t.Error("the answer came before the transaction had ended")
			}
			if e.IsPostgres() {
				if err != nil || attempts != 2 {
					t.Fatalf("%v after %d attempts", err, attempts)
				}
				o.whole(t, []uuid.UUID{id})
			} else if stored := o.have(t, 0); !errors.Is(err, keyfill.ErrCommitUnknown) || attempts != 1 || stored != 0 {
				t.Errorf("%v after %d attempts, stored %d times", err, attempts, stored)
			}
		})
	}
}

// TestCommitMade: a key that is made from columns proves nothing about the COMMIT, since an
// earlier delivery may have stored its row: the outcome is unknown, and the function does
// not run again.
func TestCommitMade(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, servers) {
		for name, how := range map[string]cut{"not committed": cutBefore, "committed": cutAnswer} {
			for _, again := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/again=%t", e.Name, name, again), func(t *testing.T) {
					t.Parallel()
					o := openOrders(t, e, "", once(how, 0))
					clause := " ON CONFLICT (id) DO UPDATE SET n = excluded.n"
					if !e.IsPostgres() {
						clause = " ON DUPLICATE KEY UPDATE n = VALUES(n)"
					}
					if again {
						harness.Exec(t, o.db, "INSERT INTO messages (no, n) VALUES (7, 1)")
					} else {
						clause = ""
					}
					runs := 0
					err := keyfill.Retry(t.Context(), o.db, func(tx *sql.Tx) error {
						runs++
						_, err := tx.ExecContext(t.Context(), "INSERT INTO messages (no, n) VALUES (7, 2)"+clause)
						return err
					})
					if !errors.Is(err, keyfill.ErrCommitUnknown) || runs != 1 {
						t.Errorf("%v after %d runs", err, runs)
					}
					want := 0
					if how == cutAnswer {
						want = 1
					}
					if n := harness.Count(t, o.raw, "SELECT COUNT(*) FROM messages WHERE no = 7 AND n = 2"); n != want {
						t.Errorf("%d rows are stored, want %d", n, want)
					}
				})
			}
		}
	}
}

// TestCommitOthers: if something else was written than rows with keys from outside of the
// transaction, Retry does not look: the answer is the error of the COMMIT, and the
// function does not run again, stored or not.
func TestCommitOthers(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, servers) {
		for name, write := range map[string]string{
			"UPDATE":           "UPDATE counts SET n = n + 1 WHERE id = 1",
			"a key of its own": "INSERT INTO orders (id, n) VALUES ('00000000-0000-7000-8000-000000000001', 7)",
			"no key":           "INSERT INTO counts (id, n) VALUES (3, 0)",
			"DELETE":           "DELETE FROM counts WHERE id = 2",
			"a COMMIT of text": "COMMIT",
		} {
			for _, how := range []cut{cutBefore, cutAnswer} {
				t.Run(e.Name+"/"+name, func(t *testing.T) {
					t.Parallel()
					decide := once(how, 0)
					if write == "COMMIT" {
						// The first one is the text's, which succeeds.
						var seen atomic.Int64
						decide = func() (cut, time.Duration) {
							if seen.Add(1) == 2 {
								return how, 0
							}
							return cutNever, 0
						}
					}
					o := openOrders(t, e, "", decide)
					runs := 0
					err := keyfill.Retry(t.Context(), o.db, func(tx *sql.Tx) error {
						runs++
						if _, err := o.store(t.Context(), tx, 0); err != nil {
							return err
						}
						_, err := tx.ExecContext(t.Context(), write)
						return err
					})
					if !errors.Is(err, keyfill.ErrCommitUnknown) || runs != 1 {
						t.Errorf("%v after %d runs", err, runs)
					}
				})
			}
		}
	}
}

// TestCommitDeleted: a row that is deleted before Retry looks is not stored again.
func TestCommitDeleted(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, servers) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			o := openOrders(t, e, "", func() (cut, time.Duration) { return cutAnswer, 0 })
			if e.IsPostgres() {
				harness.Must(t, o.raw,
					"CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM orders WHERE id = NEW.id; RETURN NULL; END $$",
					"CREATE CONSTRAINT TRIGGER gone AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION gone()")
			} else {
				// The lines are stored after the order, in the same transaction.
				harness.Must(t, o.raw, "CREATE TRIGGER gone AFTER INSERT ON order_lines FOR EACH ROW DELETE FROM orders WHERE id = NEW.order_id")
			}
			_, runs, err := o.retry(t, t.Context(), 0)
			if !errors.Is(err, keyfill.ErrCommitUnknown) || runs != 1 {
				t.Errorf("%v after %d runs", err, runs)
			}
			if got := harness.Count(t, o.raw, "SELECT COUNT(*) FROM order_lines"); got != 2 {
				t.Errorf("%d lines, want those of one run", got)
			}
		})
	}
}

// looksOnFor is for how long Retry looks for the outcome of a COMMIT after the end of the
// caller's context. It may not know then.
const looksOnFor = 5 * time.Second

// TestCommitContext: a context that ends while the server works on the COMMIT leaves an
// answer that is right.
func TestCommitContext(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, servers) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			o := openOrders(t, e, "", func() (cut, time.Duration) {
				time.AfterFunc(20*time.Millisecond, cancel)
				return cutLate, 300 * time.Millisecond
			})
			begun := time.Now()
			_, runs, err := o.retry(t, ctx, 0)
			late := errors.Is(err, keyfill.ErrCommitUnknown) && time.Since(begun) >= looksOnFor
			want := 0
			if err == nil {
				want = 1
			}
			if got := o.have(t, 0); got != want && !(late && got == 1) || runs != 1 {
				t.Errorf("%v after %d runs, and the order is stored %d times", err, runs, got)
			}
		})
	}
}
