package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// sequences is a policy that fills "id" of every table called t, t1, t2 … with
// integers from 1.
func sequences(d string) keyfill.Options {
	return keyfill.Options{
		Policy: &policy.Config{
			Dialect: d,
			Tables:  map[string]policy.Table{"t*": {Column: "id", Source: policy.KindSequence}},
		},
		Reservers: func(string) keysource.Reserver { return new(countingStore) },
	}
}

// countingStore stands in for a store: its integers count from 1.
type countingStore struct{ used atomic.Int64 }

func (c *countingStore) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	return keysource.Reservation{First: c.used.Add(n) - n + 1}, nil
}

func (c *countingStore) Advance(_ context.Context, to int64) error {
	c.used.Store(max(c.used.Load(), to-1))
	return nil
}

// breaking makes the next n executions that reach the driver, or preparations,
// end in driver.ErrBadConn.
type breaking struct{ exec, prepare int }

func (b *breaking) use(d *fakeDriver) {
	d.exec = func(string, []driver.NamedValue) (driver.Result, error) {
		if b.exec > 0 {
			b.exec--
			return nil, driver.ErrBadConn
		}
		return driver.RowsAffected(1), nil
	}
	d.query = func(string, []driver.NamedValue) (driver.Rows, error) {
		if b.exec > 0 {
			b.exec--
			return nil, driver.ErrBadConn
		}
		return &fakeRows{columns: []string{"id"}}, nil
	}
	d.prepares = func(string) error {
		if b.prepare > 0 {
			b.prepare--
			return driver.ErrBadConn
		}
		return nil
	}
}

// allBroken is more attempts than database/sql makes: two on connections of the
// pool, one on a new one.
const allBroken = 3

// lastArgs returns the last argument of each execution that reached the driver.
func lastArgs(d *fakeDriver) []driver.Value {
	var all []driver.Value
	for _, c := range d.sent() {
		all = append(all, c.args[len(c.args)-1].Value)
	}
	return all
}

// Ways to send an INSERT.
func execOnce(ctx context.Context, db *sql.DB) error {
	return second(db.ExecContext(ctx, insert, 1, []byte("x")))
}

func queryOnce(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, insert, nil, 1.5)
	if err == nil {
		err = rows.Close()
	}
	return err
}

func preparedOnce(ctx context.Context, db *sql.DB) error {
	stmt, err := db.PrepareContext(ctx, insert)
	if err != nil {
		return err
	}
	defer stmt.Close()
	return second(stmt.ExecContext(ctx, 1, "x"))
}

// TestRetry: the attempts of database/sql have the same key under a record, whatever the
// way, and each its own without.
//
//deviation:integer-keys | With `Record`, an INSERT that database/sql sends again after driver.ErrBadConn keeps its first keys: if the row was stored the first time, the second time is a duplicate-key error. | all | a connection that breaks after the server has stored the row | no `Record`
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		name    string
		skip    bool // the driver answers ErrSkip
		broken  breaking
		run     func(context.Context, *sql.DB) error
		sent    int   // how many executions reach the driver
		without int64 // the key that is stored without a record
	}{
		{"exec", false, breaking{exec: 2}, execOnce, 3, 3},
		{"query", false, breaking{exec: 2}, queryOnce, 3, 3},
		{"prepared", false, breaking{exec: 2}, preparedOnce, 3, 3},
		{"skip, exec", true, breaking{exec: 2}, execOnce, 3, 3},
		{"skip, query", true, breaking{exec: 2}, queryOnce, 3, 3},
		{"skip, prepare", true, breaking{prepare: 2}, execOnce, 1, 3},
		{"skip, prepare and exec", true, breaking{prepare: 1, exec: 1}, execOnce, 2, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, recorded := range []bool{true, false} {
				d := &fakeDriver{strength: contexts, skip: c.skip}
				b := c.broken
				b.use(d)
				db := open(t, d, sequences("sqlite"))
				ctx, want := context.Background(), c.without
				var rec *keyfill.Recorder
				if recorded {
					ctx, rec = keyfill.Record(ctx)
					want = 1
				}
				if err := c.run(ctx, db); err != nil {
					t.Fatal(err)
				}
				got := lastArgs(d)
				if len(got) != c.sent || got[len(got)-1] != want {
					t.Errorf("recorded %v: keys %v, want %d of which the last is %d", recorded, got, c.sent, want)
				}
				if recorded && len(slices.Compact(got)) != 1 {
					t.Errorf("the attempts had the keys %v", got)
				}
				if recorded && (len(rec.All()) != 1 || rec.All()[0].Key != int64(1)) {
					t.Errorf("recorded %v, want the key once", rec.All())
				}
				if err := c.run(ctx, db); err != nil {
					t.Fatal(err)
				}
				if got := lastArgs(d); got[len(got)-1] == want {
					t.Errorf("recorded %v: the next statement has key %v again", recorded, want)
				}
			}
		})
	}
}

// TestRetryConditions: keys of an attempt that ended in driver.ErrBadConn are
// handed over once, to a statement of the same text, arguments, mount and
// record.
func TestRetryConditions(t *testing.T) {
	const other = "INSERT INTO t (b, a) VALUES (?, ?)"
	ctx, _ := keyfill.Record(context.Background())
	otherRecord, _ := keyfill.Record(context.Background())
	nested, _ := keyfill.Record(ctx)
	for _, c := range []struct {
		name  string
		ctx   context.Context
		query string
		args  []any
		same  bool
	}{
		{"the same", ctx, insert, []any{int64(1), []byte("x")}, true},
		{"another text", ctx, other, []any{int64(1), []byte("x")}, false},
		{"another argument", ctx, insert, []any{int64(2), []byte("x")}, false},
		{"another type", ctx, insert, []any{int64(1), "x"}, false},
		{"nil for empty", ctx, insert, []any{int64(1), []byte(nil)}, false},
		{"another record", otherRecord, insert, []any{int64(1), []byte("x")}, false},
		{"a record within", nested, insert, []any{int64(1), []byte("x")}, false},
		{"no record", context.Background(), insert, []any{int64(1), []byte("x")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts}
			b := breaking{exec: allBroken}
			b.use(d)
			db := open(t, d, sequences("sqlite"))
			if _, err := db.ExecContext(ctx, insert, int64(1), []byte("x")); !errors.Is(err, driver.ErrBadConn) {
				t.Fatalf("every attempt broken: %v", err)
			}
			for range 2 {
				if _, err := db.ExecContext(c.ctx, c.query, c.args...); err != nil {
					t.Fatal(err)
				}
			}
			want := []driver.Value{int64(1), int64(1), int64(1), int64(2), int64(3)}
			if c.same {
				want = []driver.Value{int64(1), int64(1), int64(1), int64(1), int64(2)}
			}
			if got := lastArgs(d); !slices.Equal(got, want) {
				t.Errorf("keys %v, want %v", got, want)
			}
		})
	}
}

// TestRetryOtherMount: one record over two databases: keys stay in theirs.
func TestRetryOtherMount(t *testing.T) {
	ctx, _ := keyfill.Record(context.Background())
	broken := &fakeDriver{strength: contexts}
	b := breaking{exec: allBroken}
	b.use(broken)
	if _, err := open(t, broken, config("sqlite")).ExecContext(ctx, insert, 1, 2); err == nil {
		t.Fatal("no error")
	}
	whole := &fakeDriver{strength: contexts}
	if _, err := open(t, whole, config("sqlite")).ExecContext(ctx, insert, 1, 2); err != nil {
		t.Fatal(err)
	}
	if a, b := lastArgs(broken), lastArgs(whole); a[0] == b[0] {
		t.Errorf("both databases got the key %v", a[0])
	}
}

// TestRetryOtherTypes: arguments that are not of a driver's basic types equal
// none.
func TestRetryOtherTypes(t *testing.T) {
	d := &fakeDriver{strength: checkers}
	b := breaking{exec: 2}
	b.use(d)
	db := open(t, d, sequences("sqlite"))
	ctx, rec := keyfill.Record(context.Background())
	mustExecContext(t, ctx, db, insert, []string{"a"}, 1)
	if got, want := lastArgs(d), []driver.Value{int64(1), int64(2), int64(3)}; !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	if id, ok := keyfill.Last[int64](rec, "t"); !ok || id != 3 {
		t.Errorf("Last = %d, %v", id, ok)
	}
}

// TestRetryOtherErrors: an error that is no driver.ErrBadConn gives nothing to
// the next statement.
func TestRetryOtherErrors(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	fails := true
	d.exec = func(string, []driver.NamedValue) (driver.Result, error) {
		if fails {
			fails = false
			return nil, errors.New("refused")
		}
		return driver.RowsAffected(1), nil
	}
	db := open(t, d, sequences("sqlite"))
	ctx, _ := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, insert, 1, 2); err == nil {
		t.Fatal("no error")
	}
	mustExecContext(t, ctx, db, insert, 1, 2)
	if got, want := lastArgs(d), []driver.Value{int64(1), int64(2)}; !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
}

// TestRetryLiterals: keys that are literals come again too.
func TestRetryLiterals(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	b := breaking{exec: 2}
	b.use(d)
	db := open(t, d, sequences("sqlite"))
	ctx, _ := keyfill.Record(context.Background())
	for range 2 {
		mustExecContext(t, ctx, db, "INSERT INTO t (a) VALUES ('x'), ('y')")
	}
	var got []string
	for _, c := range d.sent() {
		got = append(got, c.query[strings.Index(c.query, "VALUES"):])
	}
	first, next := "VALUES ('x', 1), ('y', 2)", "VALUES ('x', 3), ('y', 4)"
	if !slices.Equal(got, []string{first, first, first, next}) {
		t.Errorf("sent %q", got)
	}
}

// TestRetryMany: what a record keeps for retries is bounded.
func TestRetryMany(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	const most = 1000 // executions that wait for their retry
	b := breaking{exec: allBroken * (most + 1)}
	b.use(d)
	db := open(t, d, sequences("sqlite"))
	ctx, _ := keyfill.Record(context.Background())
	for i := range most + 1 {
		if _, err := db.ExecContext(ctx, insert, i, 2); err == nil {
			t.Fatal("no error")
		}
	}
	mustExecContext(t, ctx, db, insert, 0, 2)    // the oldest, forgotten
	mustExecContext(t, ctx, db, insert, most, 2) // the newest
	got := lastArgs(d)
	if a, b := got[len(got)-2], got[len(got)-1]; a != int64(most+2) || b != int64(most+1) {
		t.Errorf("keys %v and %v, want %d and %d", a, b, most+2, most+1)
	}
}

func mustExecContext(t *testing.T, ctx context.Context, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(ctx, query, args...); err != nil {
		t.Fatal(err)
	}
}

// TestBrokenBetweenParts: where the connection breaks after some statements of a text that
// is executed in parts, database/sql does not send the text again, whose first statements
// have stored their rows.
func TestBrokenBetweenParts(t *testing.T) {
	for _, breaks := range []int{0, 1, 2} {
		d := &fakeDriver{strength: contexts}
		sent := 0
		d.exec = func(string, []driver.NamedValue) (driver.Result, error) {
			if sent++; sent == breaks+1 {
				return nil, driver.ErrBadConn
			}
			return driver.RowsAffected(1), nil
		}
		o := sequences("mysql")
		o.Policy.Tables["t*"] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, FollowExplicit: true}}
		db := open(t, d, o)
		_, err := db.Exec("INSERT INTO t (id, a) VALUES (7, 1); INSERT INTO u (a) VALUES (1); INSERT INTO t (a) VALUES (1)")
		want := breaks + 1
		if breaks == 0 {
			want = 4 // the first statement twice
		}
		if again := err == nil; again != (breaks == 0) || errors.Is(err, driver.ErrBadConn) || sent != want {
			t.Errorf("broken after %d statements: %d are sent, error %v", breaks, sent, err)
		}
	}
}
