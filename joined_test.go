package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/rewrite"
)

const numbered = "INSERT INTO t (a) VALUES (?)"

// insertNumber inserts a row through one of the two routes.
func insertNumber(ctx context.Context, db *sql.DB, by string) error {
	if by == "exec" {
		_, err := db.ExecContext(ctx, numbered, 1)
		return err
	}
	rows, err := db.QueryContext(ctx, numbered+" RETURNING id", 1)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// TestJoinedOutside: outside of a transaction there is one around the reservation
// and the INSERT, which ends before Exec or Query returns, whatever
// detour the driver asks for; the number is drawn once, at the inner execution.
//
//deviation:keys-of-a-transaction | keyfill sends a joined INSERT outside of transactions between BEGIN and COMMIT, with the statements that draw its key. Exec returns after the commit, with the commit's error if it failed. | all | `db.Exec` | `transaction: autonomous`
//deviation:keys-of-a-transaction | After a deadlock, a serialization failure or a lock timeout keyfill repeats the transaction that it made for a joined INSERT, up to ten times in ten seconds. It repeats neither after an error of the commit nor an INSERT with an io.Reader argument. | all | `db.Exec`; error 1213 | `transaction: autonomous`
func TestJoinedOutside(t *testing.T) {
	for name, n := range map[string]*numbersDB{"execs": {}, "skips": {skips: true}, "bare": {bare: true}} {
		for _, by := range []string{"exec", "query"} {
			t.Run(name+"/"+by, func(t *testing.T) {
				n := &numbersDB{skips: n.skips, bare: n.bare}
				db := n.open(t)
				for range 3 {
					if err := insertNumber(context.Background(), db, by); err != nil {
						t.Fatal(err)
					}
				}
				n.want(t, 1, 2, 3)
				want := "begin, make the row, reserve, insert, commit, begin, reserve, insert, commit, begin, reserve, insert, commit"
				if got := n.sent(); got != want {
					t.Errorf("sent %s\nwant %s", got, want)
				}
			})
		}
	}
}

// TestJoinedErrors: an error at any step takes the number back, and is the
// caller's; nothing is called stored that is not.
func TestJoinedErrors(t *testing.T) {
	for _, by := range []string{"exec", "query"} {
		for _, step := range []string{"begin", "reserve", "insert", "end of rows", "commit"} {
			if by == "exec" && step == "end of rows" {
				continue
			}
			t.Run(by+"/"+step, func(t *testing.T) {
				n := &numbersDB{}
				db := n.open(t)
				if err := insertNumber(context.Background(), db, by); err != nil {
					t.Fatal(err)
				}
				n.fails = failing(step, 1, errFake)
				ctx, rec := keyfill.Record(context.Background())
				if err := insertNumber(ctx, db, by); !errors.Is(err, errFake) {
					t.Errorf("%v, want the driver's error", err)
				}
				for _, k := range rec.All() {
					want := keyfill.NotStored
					if step == "commit" {
						want = keyfill.Unknown // it is not the engine that has answered
					}
					if k.Outcome != want {
						t.Errorf("key %v is %v, want %v", k.Key, k.Outcome, want)
					}
				}
				n.want(t, 1)
				if err := insertNumber(context.Background(), db, by); err != nil {
					t.Fatal(err)
				}
				n.want(t, 1, 2)
			})
		}
	}
}

// TestJoinedCommitsFirst: no row is shown before the commit. One whose commit has failed
// could be taken for stored: database/sql returns to no caller the error of rows that it
// closes because their context has ended.
func TestJoinedCommitsFirst(t *testing.T) {
	n := &numbersDB{}
	db := n.open(t)
	rows, err := db.Query(numbered+" RETURNING id", 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := n.sent(); !strings.HasSuffix(got, "insert, commit") {
		t.Errorf("sent %s before the rows were given", got)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	n.want(t, 1)
	n.fails = failing("commit", 1, errFake)
	if _, err := db.Query(numbered+" RETURNING id", 1); !errors.Is(err, errFake) {
		t.Errorf("Query: %v, want the error of the commit", err)
	}
	n.fails = failing("commit", 1, errFake)
	var id int
	if err := db.QueryRow(numbered+" RETURNING id", 1).Scan(&id); !errors.Is(err, errFake) {
		t.Errorf("QueryRow: %v, want the error of the commit", err)
	}
	n.want(t, 1)
}

// TestJoinedBadConn: a connection that breaks before the commit is sent has
// stored nothing, so that the statement is sent again with a number of its own;
// one that breaks at the commit may have stored the row, so that it is not.
//
//deviation:keys-of-a-transaction | If the connection breaks while keyfill commits a joined INSERT, the INSERT is an error and database/sql does not send it again, although the driver returns driver.ErrBadConn: the row may be stored. | all | – | –
func TestJoinedBadConn(t *testing.T) {
	for step, retried := range map[string]bool{"begin": true, "reserve": true, "insert": true, "commit": false} {
		t.Run(step, func(t *testing.T) {
			n := &numbersDB{}
			db := n.open(t)
			if err := insertNumber(context.Background(), db, "exec"); err != nil {
				t.Fatal(err)
			}
			n.fails = failing(step, 1, driver.ErrBadConn)
			ctx, rec := keyfill.Record(context.Background())
			err := insertNumber(ctx, db, "exec")
			if retried && err != nil || !retried && (err == nil || errors.Is(err, driver.ErrBadConn)) {
				t.Errorf("%v", err)
			}
			all := rec.All()
			last := all[len(all)-1]
			if retried {
				n.want(t, 1, 2)
				if last.Key != int64(2) || last.Outcome != keyfill.Stored {
					t.Errorf("recorded %+v", all)
				}
			} else if last.Outcome != keyfill.Unknown {
				t.Errorf("recorded %+v", all)
			}
		})
	}
}

// TestJoinedAgain: what the engine ends for the sake of others is made again,
// outside of a transaction and not for ever; inside one the error is the caller's.
func TestJoinedAgain(t *testing.T) {
	locked := errBusy
	for _, step := range []string{"begin", "reserve", "insert"} {
		n := &numbersDB{}
		db := n.open(t)
		n.fails = failing(step, 3, locked)
		ctx, rec := keyfill.Record(context.Background())
		if err := insertNumber(ctx, db, "exec"); err != nil {
			t.Errorf("%s: %v", step, err)
		}
		n.want(t, 1)
		if all := rec.All(); len(all) != 1 || all[0].Key != int64(1) || all[0].Outcome != keyfill.Stored {
			t.Errorf("%s: recorded %+v", step, all)
		}
		if got := strings.Count(n.sent(), "begin"); got != 4 {
			t.Errorf("%s: %d transactions, want 4", step, got)
		}
		n.fails = failing(step, 100, locked)
		if err := insertNumber(context.Background(), db, "query"); !errors.Is(err, locked) {
			t.Errorf("%s: %v", step, err)
		}
		n.want(t, 1)
		if got := strings.Count(n.sent(), "begin"); got != 11 {
			t.Errorf("%s: %d transactions, want 11", step, got)
		}
	}
	n := &numbersDB{}
	db := n.open(t)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	n.fails = failing("insert", 1, locked)
	if _, err := tx.Exec(numbered, 1); !errors.Is(err, locked) {
		t.Errorf("inside: %v", err)
	}
	if _, err := tx.Exec(numbered, 1); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	n.want(t, 1)
}

// TestJoinedAgainInVain: where the transaction that is made again comes to no number,
// the error is the caller's, and the number of the first one was not stored.
func TestJoinedAgainInVain(t *testing.T) {
	for _, step := range []string{"begin", "reserve"} {
		for _, by := range []string{"exec", "query"} {
			n := &numbersDB{}
			db := n.open(t)
			if err := insertNumber(context.Background(), db, by); err != nil {
				t.Fatal(err)
			}
			inserted := false
			n.fails = func(what string) error {
				switch {
				case what == "insert":
					inserted = true
					return errBusy
				case what == step && inserted:
					return stated("out of memory")
				}
				return nil
			}
			ctx, rec := keyfill.Record(context.Background())
			if err := insertNumber(ctx, db, by); !errors.Is(err, stated("out of memory")) {
				t.Errorf("%s, %s: %v", step, by, err)
			}
			n.want(t, 1)
			if all := rec.All(); len(all) != 1 || all[0].Key != int64(2) || all[0].Outcome != keyfill.NotStored {
				t.Errorf("%s, %s: recorded %+v", step, by, all)
			}
		}
	}
}

// TestJoinedAgainDraws: where a transaction of ours is undone between the drawing and
// the INSERT, the number goes back with it. The transaction that is made again draws
// one, which no other INSERT gets.
func TestJoinedAgainDraws(t *testing.T) {
	for _, by := range []string{"exec", "query"} {
		n := &numbersDB{}
		db := n.open(t)
		if err := insertNumber(context.Background(), db, by); err != nil {
			t.Fatal(err)
		}
		n.sent()
		drawn, undone := false, false
		n.undoes = func(query string) bool {
			now := drawn && !undone
			drawn, undone = drawn || strings.Contains(query, "UPDATE keyfill_sequences"), undone || now
			return now
		}
		if err := insertNumber(context.Background(), db, by); err != nil {
			t.Errorf("%s: %v", by, err)
		}
		if got := n.sent(); strings.Count(got, "reserve") != 2 || strings.Count(got, "insert") != 1 {
			t.Errorf("%s: sent %s, want two that reserve and one INSERT", by, got)
		}
		n.want(t, 1, 2)
		if err := insertNumber(context.Background(), db, by); err != nil {
			t.Errorf("%s: %v", by, err)
		}
		n.want(t, 1, 2, 3)
	}
}

// TestJoinedPanic: a driver that panics in a transaction of ours leaves it open. The
// connection is not used again, so that no row is reported as stored that is never
// committed.
func TestJoinedPanic(t *testing.T) {
	for _, step := range []string{"reserve", "insert", "commit"} {
		n := &numbersDB{}
		db := n.open(t)
		if err := insertNumber(context.Background(), db, "exec"); err != nil {
			t.Fatal(err)
		}
		panicked := false
		n.fails = func(what string) error {
			if what == step && !panicked {
				panicked = true
				panic("the driver's")
			}
			return nil
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", step)
				}
			}()
			_ = insertNumber(context.Background(), db, "exec")
		}()
		if err := insertNumber(context.Background(), db, "exec"); err != nil {
			t.Errorf("%s: %v", step, err)
		}
		n.want(t, 1, 2)
	}
}

// TestJoinedInside: inside a transaction a savepoint stands around the reservation
// and the INSERT, so that the number of one that fails is the next one's.
//
//deviation:keys-of-a-transaction | With `transaction: joined` the savepoint `keyfill_keys` is set before the number is reserved, and stays: the number of an INSERT that fails goes back to it. | MySQL, MariaDB, SQL Server, Oracle; SQLite releases it | – | –
func TestJoinedInside(t *testing.T) {
	n := &numbersDB{}
	db := n.open(t)
	if err := insertNumber(context.Background(), db, "exec"); err != nil {
		t.Fatal(err)
	}
	n.sent()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	n.fails = failing("insert", 1, errFake)
	if _, err := tx.Exec(numbered, 1); !errors.Is(err, errFake) {
		t.Errorf("%v, want the driver's error", err)
	}
	if _, err := tx.Exec(numbered, 1); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	const around = "SAVEPOINT keyfill_keys, reserve, insert, "
	want := "begin, " + around + "ROLLBACK TO SAVEPOINT keyfill_keys, RELEASE SAVEPOINT keyfill_keys, " +
		around + "RELEASE SAVEPOINT keyfill_keys, commit"
	if got := n.sent(); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	n.want(t, 1, 2)
}

// TestJoinedUnknown: where it is not known whether a transaction is open nothing
// is sent.
func TestJoinedUnknown(t *testing.T) {
	n := &numbersDB{}
	db := n.open(t)
	if err := insertNumber(context.Background(), db, "exec"); err != nil {
		t.Fatal(err)
	}
	raw(t, db, func(dc rawConn) { keyfill.Unwrap(dc) })
	n.sent()
	for _, by := range []string{"exec", "query"} {
		err := insertNumber(context.Background(), db, by)
		if !errors.Is(err, rewrite.ErrTransaction) || !strings.Contains(err.Error(), "BeginTx") {
			t.Errorf("%s: %v", by, err)
		}
	}
	if got := n.sent(); got != "" {
		t.Errorf("sent %s", got)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := insertNumber(context.Background(), db, "exec"); err != nil {
		t.Errorf("behind a transaction: %v", err)
	}
	n.want(t, 1, 2)
}

// TestJoinedCancelled: after a context that ends while the number is drawn, nothing is
// left open.
func TestJoinedCancelled(t *testing.T) {
	n := &numbersDB{}
	db := n.open(t)
	ctx, cancel := context.WithCancel(context.Background())
	n.fails = func(what string) error {
		if what == "reserve" && ctx.Err() == nil {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	if err := insertNumber(ctx, db, "exec"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := insertNumber(context.Background(), db, "exec"); err != nil {
		t.Fatal(err)
	}
	n.want(t, 1)
}

// TestJoinedExplained: a refusal because of a transaction is explained as one, if the
// text shows it.
func TestJoinedExplained(t *testing.T) {
	n := &numbersDB{}
	x, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: n.config()})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"INSERT INTO t (a) VALUES (1)":                               "",
		"INSERT INTO t (id, a) VALUES (7, 1) ON CONFLICT DO NOTHING": "",
		"INSERT INTO t (a) VALUES (1) ON CONFLICT DO NOTHING":        rewrite.ErrGap.Error(),
		"INSERT INTO t (a) VALUES (changes())":                       rewrite.ErrReadsCount.Error(),
		"INSERT INTO t (a) VALUES (last_insert_rowid())":             rewrite.ErrReadsKey.Error(),
		"INSERT INTO t (a) VALUES (1); COMMIT":                       rewrite.ErrTogether.Error(),
		"INSERT INTO t (a) SELECT b FROM s":                          "",
		"INSERT OR IGNORE INTO t (a) SELECT b FROM s":                rewrite.ErrGap.Error(),
		"INSERT INTO t (a) SELECT 1":                                 "",
		"INSERT INTO t (a) SELECT 1 WHERE NOT EXISTS (SELECT 1)":     "",
	} {
		ex, err := explain.By(x).Explain(query)
		if err != nil || ex.Reason != want || (ex.Action == "refuse") != (want != "") {
			t.Errorf("%s: %s, %q, %v; want %q", query, ex.Action, ex.Reason, err, want)
		}
	}
}
