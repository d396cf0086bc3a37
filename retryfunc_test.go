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

// TestRetryFunc: the INSERTs of the next attempt have the keys of the attempt before by
// text and arguments, else by their place, and new keys where neither is the same.
func TestRetryFunc(t *testing.T) {
	const other, rows = "INSERT INTO t1 (a) VALUES ($1)", "INSERT INTO t (a) VALUES ($1), ($2)"
	type sent struct {
		query string
		args  []any
	}
	for _, c := range []struct {
		name          string
		first, second []sent
		want          []int64 // of the last argument of each, in the second attempt
	}{
		{"the same", []sent{{insertDollar, []any{1, 2}}, {other, []any{1}}}, []sent{{insertDollar, []any{1, 2}}, {other, []any{1}}}, []int64{1, 1}},
		{"alike, in their order", []sent{{other, []any{1}}, {other, []any{1}}}, []sent{{other, []any{1}}, {other, []any{1}}}, []int64{1, 2}},
		{"by arguments, in another order", []sent{{other, []any{1}}, {other, []any{2}}}, []sent{{other, []any{2}}, {other, []any{1}}}, []int64{2, 1}},
		{"by place, with other arguments", []sent{{other, []any{1}}, {other, []any{2}}}, []sent{{other, []any{3}}, {other, []any{4}}}, []int64{1, 2}},
		{"at another place, with other arguments", []sent{{other, []any{1}}, {insertDollar, []any{1, 2}}}, []sent{{insertDollar, []any{3, 4}}}, []int64{2}},
		{"another number of rows", []sent{{rows, []any{1, 2}}}, []sent{{"INSERT INTO t (a) VALUES ($1)", []any{1}}}, []int64{3}},
		{"one more", []sent{{other, []any{1}}}, []sent{{other, []any{1}}, {other, []any{1}}}, []int64{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts}
			db := open(t, d, sequences("postgres"))
			ctx, begun := context.Background(), 0
			attempts := [][]sent{c.first, c.second}
			err := keyfill.Retry(ctx, db, func(tx *sql.Tx) error {
				for _, s := range attempts[0] {
					if _, err := tx.ExecContext(ctx, s.query, s.args...); err != nil {
						return err
					}
				}
				if attempts = attempts[1:]; len(attempts) > 0 {
					begun = len(d.sent())
					return serialization
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, v := range lastArgs(d)[begun:] {
				got = append(got, v.(int64))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("keys %v, want %v", got, c.want)
			}
		})
	}
}

// TestRetryEnds: which errors make a transaction again, and which are returned.
func TestRetryEnds(t *testing.T) {
	own := errors.New("an error of the program")
	for _, c := range []struct {
		name     string
		f        error // of the first run of the function
		commit   error // of the first COMMIT
		attempts int
		want     error
		unknown  bool
	}{
		{"success", nil, nil, 1, nil, false},
		{"serialization", serialization, nil, 2, nil, false},
		{"deadlock", deadlock, nil, 2, nil, false},
		{"another answer", duplicate, nil, 1, duplicate, false},
		{"the program's", own, nil, 1, own, false},
		{"a COMMIT that is refused", nil, serialization, 2, nil, false},
		{"a COMMIT that finds a duplicate", nil, duplicate, 1, duplicate, false},
		{"a COMMIT that is not known", nil, unknown, 1, unknown, true},
		{"a COMMIT without an answer", nil, driver.ErrBadConn, 1, driver.ErrBadConn, true},
		{"a COMMIT that ends in shutdown", nil, answered("57P01"), 1, answered("57P01"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts, commit: c.commit}
			db := open(t, d, sequences("postgres"))
			ctx, runs := context.Background(), 0
			err := keyfill.Retry(ctx, db, func(tx *sql.Tx) error {
				if runs++; runs == 2 {
					d.commit = nil
				}
				if _, err := tx.ExecContext(ctx, insertDollar, 1, 2); err != nil {
					return err
				}
				if runs == 1 {
					return c.f
				}
				return nil
			})
			if !errors.Is(err, c.want) || errors.Is(err, keyfill.ErrCommitUnknown) != c.unknown || runs != c.attempts {
				t.Errorf("%v after %d attempts, want %v after %d", err, runs, c.want, c.attempts)
			}
		})
	}
}

// TestRetryStops: the number of attempts is bounded, the end of the context ends them, a
// panic rolls back, and a database of others is an error.
func TestRetryStops(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	db := open(t, d, sequences("postgres"))
	runs := 0
	again := func(*sql.Tx) error { runs++; return serialization }
	if err := keyfill.Retry(context.Background(), db, again); err != serialization || runs != 10 {
		t.Errorf("%v after %d attempts", err, runs)
	}
	runs = 0
	if err := keyfill.Retry(context.Background(), db, again, keyfill.RetryOptions{Attempts: 2}); err != serialization || runs != 2 {
		t.Errorf("%v after %d attempts", err, runs)
	}
	ctx, cancel := context.WithCancel(context.Background())
	runs = 0
	err := keyfill.Retry(ctx, db, func(*sql.Tx) error { runs++; cancel(); return serialization })
	if err != serialization || runs != 1 {
		t.Errorf("%v after %d attempts", err, runs)
	}
	// A database of its own: database/sql rolls back in the background where a context ends.
	d = &fakeDriver{strength: contexts}
	db = open(t, d, sequences("postgres"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		_ = keyfill.Retry(context.Background(), db, func(*sql.Tx) error { panic("of the program") })
	}()
	if n := len(d.took("rollback")); n != 1 {
		t.Errorf("%d rollbacks after a panic", n)
	}
	plain := sql.OpenDB(&fakeConnector{d})
	defer plain.Close()
	if err := keyfill.Retry(context.Background(), plain, again); err != keyfill.ErrNotOurs {
		t.Errorf("a database of others: %v", err)
	}
}

// TestRetryWithin: an INSERT that was sent again within its attempt has the same key in the
// next one.
func TestRetryWithin(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	d.answers(deadlock)
	db := open(t, d, sequences("postgres"))
	ctx, _ := keyfill.Record(context.Background())
	runs := 0
	err := keyfill.Retry(ctx, db, func(tx *sql.Tx) error {
		runs++
		_, err := tx.ExecContext(ctx, insertDollar, 1, 2)
		if err == deadlock { // after a savepoint
			_, err = tx.ExecContext(ctx, insertDollar, 1, 2)
		}
		if err == nil && runs == 1 {
			return serialization
		}
		return err
	})
	if got, want := lastArgs(d), []driver.Value{int64(1), int64(1), int64(1)}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, keys %v, want %v", err, got, want)
	}
}

// TestRetryUnderRecord: the recorder of all attempts shows each key once, as it was stored.
func TestRetryUnderRecord(t *testing.T) {
	d := &fakeDriver{strength: contexts, skip: true}
	db := open(t, d, sequences("postgres"))
	ctx, rec := keyfill.Record(context.Background())
	runs := 0
	err := keyfill.Retry(ctx, db, func(tx *sql.Tx) error {
		runs++
		for i := range 3 {
			if _, err := tx.ExecContext(ctx, insertDollar, i, []string{"x", "y"}[runs-1]); err != nil {
				return err
			}
		}
		if runs == 1 {
			return deadlock
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, k := range rec.All() {
		got = append(got, k.Key)
	}
	if want := []any{int64(1), int64(2), int64(3)}; !slices.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}
