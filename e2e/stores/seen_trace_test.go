package stores_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// traced runs f with a context that is traced, and returns the events.
func traced(f func(ctx context.Context)) []keyfill.Event {
	var all []keyfill.Event
	f(keyfill.WithTrace(context.Background(), func(e keyfill.Event) { all = append(all, e) }))
	return all
}

// TestTrace: each INSERT is reported once, with the decision, the source of its keys, and
// its end.
func TestTrace(t *testing.T) {
	t.Parallel()
	all := append(slices.Clone(engines), harness.MySQLInterp, harness.PgxSimple, harness.PQDefault, harness.SQLiteMemory)
	harness.Each(t, all, func(t *testing.T, s *harness.Scratch) {
		for _, table := range []string{"t", "u", "v", "other"} {
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT UNIQUE)")
		}
		blocks := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Create: new(true), Block: 10}
		joined := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Create: new(true), Transaction: policy.TransactionJoined}
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
			"t*": {Column: "id", InPlace: &blocks}, "u": {Column: "id", InPlace: &joined},
			"v": {Column: "id", InPlace: &blocks, Mode: policy.ModeDryRun},
		}})
		insert := s.Placeholders("INSERT INTO t (a) VALUES (?)")
		mustExec := func(ctx context.Context, query string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(ctx, query, args...); err != nil {
				t.Error(err)
			}
		}
		fails := func(ctx context.Context, query string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(ctx, query, args...); err == nil {
				t.Errorf("%s: no error", query)
			}
		}
		is := func(what string, got []keyfill.Event, want keyfill.Event) {
			t.Helper()
			if len(got) != 1 {
				t.Fatalf("%s: told of %d times: %+v", what, len(got), got)
			}
			e := got[0]
			if e.Waited > 0 != (e.Blocks > 0) {
				t.Errorf("%s: %d blocks, and %s", what, e.Blocks, e.Waited)
			}
			if want.Way == "" && want.Action == "fill" {
				want.Way = e.Way // the driver's own business
				if e.Way != "direct" && e.Way != "prepared" {
					t.Errorf("%s: the way is %q", what, e.Way)
				}
			}
			e.Waited = 0
			if e != want {
				t.Errorf("%s: told of\n%+v, want\n%+v", what, e, want)
			}
		}
		filled := keyfill.Event{Entry: "t*", Table: "t", Action: "fill", Offset: -1, Keys: 1, Kind: "sequence", Source: "t*.id", Outcome: keyfill.Stored}

		first := filled
		first.Blocks = 1
		is("the first key", traced(func(ctx context.Context) { mustExec(ctx, insert, 1) }), first)
		is("a key in hand", traced(func(ctx context.Context) { mustExec(ctx, insert, 2) }), filled)
		two := filled
		two.Keys = 2
		is("two rows", traced(func(ctx context.Context) { mustExec(ctx, "INSERT INTO t (a) VALUES (3), (4)") }), two)

		stmt, err := db.Prepare(insert)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		if s.Memory {
			stmt.Close() // the only connection is needed
		} else {
			prepared := filled
			prepared.Way = "prepared"
			is("prepared", traced(func(ctx context.Context) {
				if _, err := stmt.ExecContext(ctx, 5); err != nil {
					t.Error(err)
				}
			}), prepared)
		}

		failed := filled
		failed.Outcome, failed.Failed, failed.Cause = keyfill.NotStored, true, keyfill.CauseEngine
		is("a duplicate", traced(func(ctx context.Context) { fails(ctx, insert, 1) }), failed)

		brought := keyfill.Event{Entry: "t*", Table: "t", Action: "keep", Offset: -1, Way: "as it came"}
		notBrought := brought
		notBrought.Failed, notBrought.Cause = true, keyfill.CauseEngine
		if s.Dialect.OneWriter { // the numbering follows it
			brought.Way, brought.Outcome = "direct", keyfill.Stored
			notBrought.Way, notBrought.Outcome = "direct", keyfill.NotStored
		}
		is("a key of its own", traced(func(ctx context.Context) { mustExec(ctx, "INSERT INTO t (id, a) VALUES (1000, 1000)") }), brought)
		is("another table that works", traced(func(ctx context.Context) { mustExec(ctx, "INSERT INTO other (id, a) VALUES (1, 1)") }),
			keyfill.Event{Action: "pass", Offset: -1, Way: "as it came"})
		is("a key of its own that is there", traced(func(ctx context.Context) { fails(ctx, "INSERT INTO t (id, a) VALUES (1000, 1001)") }),
			notBrought)
		for range 2 { // the second time the text is known
			is("another table", traced(func(ctx context.Context) { fails(ctx, "INSERT INTO other (id, a) VALUES (1, 'x'), (1, 2)") }),
				keyfill.Event{Action: "pass", Offset: -1, Way: "as it came", Failed: true, Cause: keyfill.CauseEngine})
		}
		refused := traced(func(ctx context.Context) { fails(ctx, "INSERT INTO t VALUES (1, 2, 3)") })
		is("too many values", refused, keyfill.Event{Entry: "t*", Table: "t", Action: "refuse", Reason: "column_count",
			Offset: 21, Outcome: keyfill.NotStored, Failed: true})
		rehearsed := traced(func(ctx context.Context) { fails(ctx, "INSERT INTO v (a) VALUES ('x'), (NULL), (NULL), (1), (1)") })
		is("a rehearsal", rehearsed, keyfill.Event{Entry: "v", Table: "v", Action: "fill", Withheld: true, Offset: -1, Way: "as it came", Failed: true, Cause: keyfill.CauseEngine})

		inside := traced(func(ctx context.Context) {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(ctx, s.Placeholders("INSERT INTO u (a) VALUES (?)"), 1); err != nil {
				t.Error(err)
			}
		})
		if len(inside) == 1 {
			inside[0].Blocks, inside[0].Waited = 0, 0 // its number is drawn by a statement of its own
		}
		own := filled
		own.Entry, own.Table, own.Source, own.Joined = "u", "u", "u.id", true
		is("a key of the transaction", inside, own)

		if s.IsPostgres() || s.Server == nil {
			returned := traced(func(ctx context.Context) {
				var id int64
				if err := db.QueryRowContext(ctx, s.Placeholders("INSERT INTO t (a) VALUES (?) RETURNING id"), 6).Scan(&id); err != nil {
					t.Error(err)
				}
			})
			if len(returned) == 1 {
				returned[0].Blocks, returned[0].Waited = 0, 0
			}
			is("RETURNING", returned, filled)
		}
	})
}

// TestTraceStore: an INSERT that gets no key, since the store does not answer, is
// reported with its wait: most of store_wait, which begins a little earlier.
func TestTraceStore(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	cfg := harness.InPlace(policy.Source{Kind: policy.KindSequence, Store: "central", Start: 1})
	cfg.Stores = map[string]policy.Store{"central": {Driver: "mysql", DSN: "u:p@tcp(127.0.0.1:1)/d"}}
	cfg.StoreWait = 50 * time.Millisecond
	db, _ := s.Open(t, cfg)
	var err error
	told := traced(func(ctx context.Context) { _, err = db.ExecContext(ctx, harness.InsertT) })
	if err == nil || len(told) != 1 {
		t.Fatalf("the error is %v, and was told of: %+v", err, told)
	}
	e := told[0]
	if e.Action != "fill" || e.Keys != 0 || !e.Failed || e.Cause != keyfill.CauseStore || e.Outcome != keyfill.NotStored || e.Waited < 25*time.Millisecond {
		t.Errorf("told of %+v", e)
	}
}
