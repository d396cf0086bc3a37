package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestReasonText: the word that is counted leads to the text of the error.
func TestReasonText(t *testing.T) {
	if got := keyfill.Reason("select").Text(); got != rewrite.ErrSelect.Error() {
		t.Errorf("Text = %q, want %q", got, rewrite.ErrSelect.Error())
	}
	if got := keyfill.Reason("no such word").Text(); got != "" {
		t.Errorf("Text of no reason = %q", got)
	}
}

// TestCauseWords: the words that are counted are those that the constants promise.
func TestCauseWords(t *testing.T) {
	want := []keyfill.Cause{
		keyfill.CauseStore, keyfill.CauseStoreBack, keyfill.CauseStoreBehind, keyfill.CauseExhausted, keyfill.CauseClock,
		keyfill.CauseWorker, keyfill.CauseOther, keyfill.CauseCanceled, keyfill.CauseEngine, keyfill.CauseColumn, keyfill.CauseConnection,
		keyfill.CauseTransaction, keyfill.CauseRows, keyfill.CauseUnended, keyfill.CauseConflict, keyfill.CauseCount, keyfill.CauseText,
	}
	var got []keyfill.Cause
	for c := report.CauseStore; c <= report.CauseText; c++ {
		got = append(got, keyfill.Cause(c.String()))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the words are %q, want %q", got, want)
	}
}

// numberedFrom is a policy for t with numbers, and a store for them that is in no database.
func numberedFrom(reserve func(n int64) (keysource.Reservation, error)) keyfill.Options {
	return keyfill.Options{
		Policy: &policy.Config{Version: 1, Dialect: "sqlite", Tables: map[string]policy.Table{
			"t": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, Block: 10}},
		}},
		Reservers: func(string) keysource.Reserver { return &reserving{reserve: reserve} },
	}
}

// reserving counts from 1, or answers as reserve does.
type reserving struct {
	mu      sync.Mutex
	next    int64
	reserve func(n int64) (keysource.Reservation, error)
}

func (r *reserving) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	if r.reserve != nil {
		return r.reserve(n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.next + 1
	r.next += n
	return keysource.Reservation{First: first}, nil
}

func (r *reserving) Advance(context.Context, int64) error { return nil }

// TestStatsOfName: the statistics of a name are the sums over its databases, of which the
// closed ones keep their counts. The states of its sources are the sums over the open ones.
func TestStatsOfName(t *testing.T) {
	fails := errors.New("the connection is gone")
	d := &fakeDriver{strength: contexts, exec: func(query string, args []driver.NamedValue) (driver.Result, error) {
		if len(args) > 0 && args[0].Value == int64(13) {
			return nil, fails
		}
		return driver.RowsAffected(1), nil
	}}
	name := t.Name() + "-keyfill"
	all, err := keyfill.Register(name, d, numberedFrom(nil))
	if err != nil {
		t.Fatal(err)
	}
	one, two := mustOpen(t, name), mustOpen(t, name)
	for _, db := range []*sql.DB{one, two} {
		mustExec(t, db, insert, 1, 2)
		if _, err := db.Exec(insert, 13, 2); !errors.Is(err, fails) {
			t.Fatal(err)
		}
	}
	before := all.Stats().Tables["t"]
	sources := all.Sources()
	if len(sources) != 1 || sources[0].Source != "t.id" || sources[0].States != 2 || sources[0].Fetches < 2 || sources[0].Left < 2*8 || sources[0].Next != 0 {
		t.Errorf("the sources of two databases: %+v", sources)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if after := all.Stats().Tables["t"]; !reflect.DeepEqual(after, before) {
		t.Errorf("behind Close the statistics are %+v, want %+v", after, before)
	}
	want := map[keyfill.Cause]uint64{keyfill.CauseConnection: 2}
	if before.Filled != 4 || before.Stored != 2 || before.Unknown != 2 || !maps.Equal(before.UnknownBy, want) || before.FailedBy != nil || before.Entry != "t" {
		t.Errorf("counted %+v, want 2 stored, and 2 of which nobody knows", before)
	}
	fetches := sources[0].Fetches
	if sources = all.Sources(); len(sources) != 1 || sources[0].States != 1 || sources[0].Next != 3 || sources[0].Fetches < fetches {
		t.Errorf("the sources of one database: %+v, want the %d fetches of both", sources, fetches)
	}

	// They marshal, as a program does that publishes them by expvar.
	text, err := json.Marshal(all.Stats())
	if err != nil {
		t.Fatal(err)
	}
	var back keyfill.Stats
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, all.Stats()) {
		t.Errorf("read back from JSON: %+v, %v", back, err)
	}
	if text, err = json.Marshal(sources); err != nil {
		t.Fatal(err)
	}
	var again []keyfill.SourceStats
	if err := json.Unmarshal(text, &again); err != nil || again[0].Source != sources[0].Source || again[0].FetchTime != sources[0].FetchTime || !again[0].LastFetchAt.Equal(sources[0].LastFetchAt) {
		t.Errorf("read back from JSON: %+v, %v", again, err)
	}
}

// TestSourcesOfClosed: what sources have done stays counted when their databases are closed,
// once and without a state, and what is opened then is added.
func TestSourcesOfClosed(t *testing.T) {
	t.Parallel()
	worker := newNumber()
	o := numberedFrom(nil)
	o.Policy.Tables["u"] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone, Worker: &worker}}
	var failing atomic.Bool
	o.Reservers = func(string) keysource.Reserver {
		counts := new(reserving)
		return &reserving{reserve: func(n int64) (keysource.Reservation, error) {
			if failing.Load() {
				return keysource.Reservation{}, errors.Join(keysource.ErrStoreBehind, keysource.ErrStoreState)
			}
			return counts.Reserve(t.Context(), n, 0)
		}}
	}
	name := t.Name() + "-keyfill"
	d := &fakeDriver{strength: contexts, exec: func(string, []driver.NamedValue) (driver.Result, error) { return driver.RowsAffected(1), nil }}
	all, err := keyfill.Register(name, d, o)
	if err != nil {
		t.Fatal(err)
	}
	counts := func() (fetches, failures, waits uint64) {
		t.Helper()
		sources := all.Sources()
		if len(sources) != 2 || sources[0].Source != "t.id" || sources[1].Source != "u.id" {
			t.Fatalf("the sources are %+v, want those of t and u", sources)
		}
		for _, s := range sources {
			if last := len(s.FetchTimes) - 1; s.Fetches > 0 && s.FetchTimes[last].Count != s.Fetches {
				t.Errorf("%s has %d fetches, and in buckets %v", s.Source, s.Fetches, s.FetchTimes)
			}
		}
		return sources[0].Fetches, sources[0].FetchErrors, sources[1].Waits
	}
	var fetched uint64
	for generation := range 2 {
		one, two := mustOpen(t, name), mustOpen(t, name)
		for _, db := range []*sql.DB{one, two} {
			mustExec(t, db, insert, 1, 2)
			mustExec(t, db, "INSERT INTO u (a) VALUES (1)")
		}
		failing.Store(true)
		for range 20 { // more than are in hand
			_, _ = two.Exec(insert, 1, 2)
		}
		failing.Store(false)
		fetches, failures, waits := counts()
		if fetches <= fetched || failures == 0 || waits == 0 {
			t.Fatalf("%d: %d fetches, %d failures and %d waits are counted", generation, fetches, failures, waits)
		}
		for _, db := range []*sql.DB{two, one} {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if f, e, w := counts(); f < fetches || e < failures || w != waits {
				t.Errorf("%d: behind Close %d fetches, %d failures and %d waits are counted, want %d, %d and %d", generation, f, e, w, fetches, failures, waits)
			}
		}
		fetched = fetches
		for _, s := range all.Sources() {
			if s.States != 0 || s.Left != 0 || s.LastError != "" || s.Kind == "" || len(s.Tables) != 1 {
				t.Errorf("%d: without a database there is %+v", generation, s)
			}
		}
	}
}

// TestStatsOfNoKey: what gets no key is counted by cause, and not as filled.
func TestStatsOfNoKey(t *testing.T) {
	for cause, fault := range map[keyfill.Cause]error{
		keyfill.CauseStore:       keysource.ErrStoreState,
		keyfill.CauseStoreBack:   keysource.ErrStoreBack,
		keyfill.CauseStoreBehind: keysource.ErrStoreBehind,
		keyfill.CauseExhausted:   keysource.ErrExhausted,
	} {
		t.Run(string(cause), func(t *testing.T) {
			o := numberedFrom(func(int64) (keysource.Reservation, error) {
				return keysource.Reservation{}, errors.Join(fault, keysource.ErrStoreState)
			})
			if fault == keysource.ErrExhausted {
				o = numberedFrom(func(int64) (keysource.Reservation, error) { return keysource.Reservation{}, fault })
			}
			db, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{strength: contexts}}, o)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			m, err := keyfill.From(db)
			if err != nil {
				t.Fatal(err)
			}
			stmt, err := db.Prepare(insert)
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			for _, exec := range []func() error{
				func() error { _, err := db.Exec(insert, 1, 2); return err },
				func() error { _, err := stmt.Exec(1, 2); return err },
				func() error { rows, err := db.Query(insert, 1, 2); return errors.Join(err, closed(rows)) },
			} {
				if err := exec(); !errors.Is(err, fault) {
					t.Errorf("the error is %v, want %v", err, fault)
				}
			}
			if got := m.Stats().Tables["t"]; got.Filled != 0 || got.Keys != 0 || got.Failed != 0 || !maps.Equal(got.FailedBy, map[keyfill.Cause]uint64{cause: 3}) {
				t.Errorf("counted %+v, want 3 by %s", got, cause)
			} else if got.NoKeyAt.IsZero() || got.KeysSince != 0 {
				t.Errorf("the last INSERT without a key was at %v, and %d keys came since", got.NoKeyAt, got.KeysSince)
			}
			if got := m.Sources()[0]; fault != keysource.ErrExhausted && (got.FetchErrors == 0 || got.LastError != fault.Error()) {
				t.Errorf("the source says %q of %d errors", got.LastError, got.FetchErrors)
			}
		})
	}
}

// closed closes rows, if there are any.
func closed(rows *sql.Rows) error {
	if rows == nil {
		return nil
	}
	return rows.Close()
}

// TestSourcesUnderLoad asks for statistics while keys are drawn: no counter goes back, and
// no statement is counted as stored that is not filled.
func TestSourcesUnderLoad(t *testing.T) {
	d := &fakeDriver{strength: contexts, exec: func(string, []driver.NamedValue) (driver.Result, error) { return driver.RowsAffected(1), nil }}
	db, err := keyfill.OpenDB(&fakeConnector{d}, numberedFrom(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	const each = 300
	for range 4 {
		running.Go(func() {
			for range each {
				if _, err := db.Exec(insert, 1, 2); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	var last keyfill.TableStats
	var fetches uint64
	for more := true; more; {
		select {
		case <-done:
			more = false
		default:
		}
		now, source := m.Stats().Tables["t"], m.Sources()[0]
		if now.Filled < last.Filled || now.Stored < last.Stored || now.Stored > now.Filled || source.Fetches < fetches {
			t.Fatalf("behind %+v and %d fetches came %+v and %+v", last, fetches, now, source)
		}
		last, fetches = now, source.Fetches
	}
	if last.Filled != 4*each || last.Stored != 4*each {
		t.Errorf("counted %+v, want %d stored", last, 4*each)
	}
}
