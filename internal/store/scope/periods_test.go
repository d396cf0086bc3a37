package scope_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/keysource"
)

// calendarOf returns a calendar.
func calendarOf(t *testing.T, every calendar.Every, starts, zone string) calendar.Calendar {
	t.Helper()
	c, err := calendar.New(every, starts, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// invoices returns a numbering of each year, within the given columns.
func invoices(t *testing.T, template string, within ...string) *scope.Scope {
	t.Helper()
	return &scope.Scope{
		Name: "invoices.number", Column: store.Column{Table: "invoices", Name: "number"}, Within: within,
		Periods: &scope.Periods{Calendar: calendarOf(t, calendar.Year, "", ""), Template: template},
	}
}

// TestPeriodNames: the name of a row belongs to one parent and one period, is short enough, and
// can be read again.
func TestPeriodNames(t *testing.T) {
	long := strings.Repeat("ä", 190)
	longState := strings.Repeat("s", scope.MaxPeriodName)
	seen := map[string]string{}
	for _, tt := range []struct {
		state  string
		every  calendar.Every
		values []any
		period string
		want   string // empty for a name with a hash
		parent string // empty for one that ends in a hash
	}{
		{"invoices.number", calendar.Year, nil, "2026", "invoices.number[2026]", ""},
		{"invoices.number", calendar.Year, nil, "2027", "invoices.number[2027]", ""},
		{"invoices.number", calendar.Year, []any{"acme"}, "2026", "invoices.number['acme',2026]", "'acme'"},
		{"invoices.number", calendar.Year, []any{"acme,2026"}, "2027", "invoices.number['acme,2026',2027]", "'acme,2026'"},
		{"invoices.number", calendar.Year, []any{"acme]"}, "2027", "invoices.number['acme]',2027]", "'acme]'"},
		{"invoices.number", calendar.Year, []any{""}, "2027", "invoices.number['',2027]", "''"},
		{"invoices.number", calendar.Year, []any{int64(2026)}, "2026", "invoices.number[2026,2026]", "2026"},
		{"invoices.number", calendar.Year, []any{int64(-1), "a", uint64(1 << 63)}, "2026", "invoices.number[-1,'a',9223372036854775808,2026]", "-1,'a',9223372036854775808"},
		{"invoices.number", calendar.Quarter, nil, "2026-Q3", "invoices.number[2026-Q3]", ""},
		{"invoices.number", calendar.Month, []any{"acme"}, "2026-11", "invoices.number['acme',2026-11]", "'acme'"},
		{"invoices.number", calendar.Day, []any{"acme"}, "2026-11-28", "invoices.number['acme',2026-11-28]", "'acme'"},
		{"invoices.number", calendar.Day, []any{long + "1"}, "2026-11-28", "", "hash"},
		{"invoices.number", calendar.Day, []any{long + "2"}, "2026-11-28", "", "hash"},
		{"invoices.number", calendar.Day, []any{long + "2"}, "2026-11-29", "", "hash"},
		{longState, calendar.Day, nil, "2026-11-29", longState + "[2026-11-29]", ""},
		{longState, calendar.Day, []any{long}, "2026-11-29", "", "hash"},
	} {
		q := invoices(t, "{year}-{n}")
		q.Name, q.Periods.Calendar = tt.state, calendarOf(t, tt.every, "", "")
		for range tt.values {
			q.Within = append(q.Within, "a")
		}
		if err := q.Check(); err != nil {
			t.Errorf("Check: %v", err)
		}
		got := q.PeriodRowFor(tt.values, tt.period)
		if tt.want != "" && got != tt.want {
			t.Errorf("PeriodRowFor(%v, %s) = %q, want %q", tt.values, tt.period, got, tt.want)
		}
		what := fmt.Sprint(tt.state, tt.values, tt.period)
		if other := seen[got]; other != "" {
			t.Errorf("%s and %s are both %q", other, what, got)
		}
		seen[got] = what
		if n := utf8.RuneCountInString(got); n > 190 || tt.want == "" && n != 190 {
			t.Errorf("PeriodRowFor(%v) has %d characters", tt.values, n)
		}
		r, isOne := q.ReadPeriodRow(got, -7, `scope of one parent "{year}-{n} \"x\""`)
		if !isOne || r.Name != got || r.Period.Name != tt.period || r.Next != 7 || !r.Closed || r.Template != `{year}-{n} "x"` {
			t.Errorf("ReadPeriodRow(%q) = %+v, %t", got, r, isOne)
		}
		if tt.parent != "hash" && r.Parent != tt.parent || tt.parent == "hash" && r.Parent == "" {
			t.Errorf("ReadPeriodRow(%q): the parent is %q, want %q", got, r.Parent, tt.parent)
		}
	}
	q := invoices(t, "")
	for _, other := range [][2]string{
		{"invoices.number", "scope of one parent"},
		{"invoices.number[2026", "scope of one parent"},
		{"invoices.number[26]", "scope of one parent"},
		{"invoices.number['acme',2026]", "scope of one parent"}, // the numbering has no such columns
		{"invoices.number[2026]", "binding"},
		{"invoices.number[2026]", "scope of one parent INV"},
		{"invoices.numbers[2026]", "scope of one parent"},
	} {
		if r, isOne := q.ReadPeriodRow(other[0], 1, other[1]); isOne {
			t.Errorf("ReadPeriodRow(%q, %q) = %+v", other[0], other[1], r)
		}
	}
	if r, isOne := q.ReadPeriodRow("invoices.number[2026]", 5, "scope of one parent"); !isOne || r.Closed || r.Next != 5 || r.Template != "" {
		t.Errorf("%+v, %t", r, isOne)
	}
}

// TestPeriodParameters: the parameters of the state's row distinguish calendars.
func TestPeriodParameters(t *testing.T) {
	berlin := calendarOf(t, calendar.Year, "04-01", "Europe/Berlin")
	for _, tt := range []struct {
		within, types []string
		periods       *scope.Periods
		want          string
	}{
		{nil, nil, &scope.Periods{Calendar: berlin}, "period year from 04-01 by clock in Europe/Berlin"},
		{nil, nil, &scope.Periods{Calendar: berlin, Column: "issued_on"}, `period year from 04-01 by "issued_on"`},
		{[]string{"branch"}, []string{"text"}, &scope.Periods{Calendar: calendarOf(t, calendar.Month, "", ""), Template: "{n}"}, `scope "branch" text period month from 01-01 by clock in UTC`},
	} {
		q := scope.Scope{Within: tt.within, Periods: tt.periods}
		if got := q.Parameters(tt.types); got != tt.want {
			t.Errorf("Parameters(%v) of %v = %s, want %s", tt.types, tt.within, got, tt.want)
		}
	}
}

// TestPeriodCheck: rows that could not be stored are refused beforehand.
func TestPeriodCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*scope.Scope)
		text   string
	}{
		{"long name", func(q *scope.Scope) { q.Name = strings.Repeat("n", scope.MaxPeriodName+1) }, "at most 144 characters"},
		{"long template", func(q *scope.Scope) { q.Periods.Template = strings.Repeat("x", 1000) + "{n}" }, "the format is too long"},
		{"no calendar", func(q *scope.Scope) { q.Periods.Calendar = calendar.Calendar{} }, "no calendar"},
	} {
		q := invoices(t, "{year}-{n}")
		tt.change(q)
		if err := q.Check(); !errors.Is(err, keysource.ErrOptions) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if err := (&scope.Scope{Name: strings.Repeat("n", 190)}).Check(); err != nil {
		t.Errorf("without periods: %v", err)
	}
}

// fakePeriods is a database of a fake engine with the rows of periods: it answers by the
// words of the statements.
type fakePeriods struct {
	clock   string         // the server's
	next    int64          // the next number of all rows
	locked  string         // the parameters of a row that is locked
	replies []fakedb.Reply // to the statements that reserve, before the usual ones
}

func (f *fakePeriods) answer(query string) fakedb.Reply {
	row := func(values ...driver.Value) fakedb.Reply { return fakedb.Reply{Rows: [][]driver.Value{values}} }
	has := func(part string) bool { return strings.Contains(query, part) }
	switch {
	case has("SET autocommit"), query == "COMMIT":
		return fakedb.Reply{}
	case has("WHERE 0"):
		return fakedb.Reply{}
	case query == "BEGIN":
		return fakedb.Reply{Err: errors.New("cannot start a transaction within a transaction")}
	case has("INTO keyfill_sequences"):
		return fakedb.Reply{Affected: 1}
	case has("name IN ("):
		return fakedb.Reply{}
	case strings.HasPrefix(query, "SELECT") && !has("keyfill_sequences"):
		return row(f.clock)
	case has("SET next_value = -next_value"), has("THEN") && has("ELSE next_value END"):
		return fakedb.Reply{Affected: 1}
	case has("ORDER BY name"):
		return fakedb.Reply{}
	}
	if len(f.replies) > 0 {
		if has("AND parameters = ") {
			return fakedb.Reply{} // the statement that supposes the parameters is sent before the others
		}
		r := f.replies[0]
		f.replies = f.replies[1:]
		return r
	}
	switch {
	case has("FOR UPDATE"):
		return row(f.next, "made", "server", f.locked)
	case has("UPDATE keyfill_sequences"):
		const written = `scope of one parent "INV-{year}-{n:05}"`
		return fakedb.Reply{Rows: [][]driver.Value{{f.next + 10, "made", "server", written}}, Affected: 1, Out: []any{f.next + 10, "made", "server", written}}
	}
	return fakedb.Reply{Err: errors.New("not expected: " + query)}
}

// TestPeriodStatements compares what is sent for a new and a known period, where the clock
// stands in another one, in a transaction that may have ended, beside transactions, and by
// the commands, with testdata/periods_<dialect>.txtar. MariaDB, PostgreSQL and SQLite run the
// same statements in e2e.
func TestPeriodStatements(t *testing.T) {
	ctx := context.Background()
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			f := &fakePeriods{next: 1, locked: "scope of one parent", clock: "2026-12-31 22:59:59"}
			db, latest := &fakedb.DB{Answer: f.answer}, &fakedb.DB{Answer: f.answer}
			q := invoices(t, "INV-{year}-{n:05}", "branch")
			q.Periods.Calendar = calendarOf(t, calendar.Year, "", "Europe/Berlin")
			q.Periods.Now = func() time.Time { return time.Date(2026, 12, 31, 22, 50, 0, 0, time.UTC) }
			if d.OneWriter {
				f.clock = ""
			}
			if !d.OneWriter {
				q.Latest = fakedb.Pooled(t, d, latest)
			}
			values := []any{"north"}
			var got []txtar.File
			step := func(name string, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got = append(got, txtar.File{Name: name, Data: []byte(db.Lines() + "\n")})
				if beside := latest.Lines(); beside != "" {
					got = append(got, txtar.File{Name: name + ", beside it", Data: []byte(beside + "\n")})
				}
			}
			reserve := func(name string, at *store.Store, given *calendar.Period, want string) {
				t.Helper()
				taken, err := scope.New(at, q).ReservePeriod(ctx, values, given, 10)
				step(name, err)
				if taken.First != 1 || taken.Period.Name != want || taken.Template != "INV-{year}-{n:05}" || taken.Row != "invoices.number['north',"+want+"]" {
					t.Errorf("%s: %+v, want numbers of %s", name, taken, want)
				}
			}
			at := store.Within(d, fakedb.FullOf(db))
			reserve("new, by the clock", at, nil, "2026")
			reserve("known, by the clock", at, nil, "2026")
			f.replies, f.clock = []fakedb.Reply{{}}, "2026-12-31 23:00:00" // nothing fits
			want := "2027"
			if d.OneWriter {
				want = "2026"
				f.replies = nil
			}
			reserve("the clock stands in the next period", at, nil, want)
			p, err := q.Periods.Calendar.Parse("2020")
			if err != nil {
				t.Fatal(err)
			}
			reserve("by a date", at, &p, "2020")
			if !d.OneWriter {
				reserve("by a date, outside of transactions", q.Latest, &p, "2020")
			}
			reserve("in a transaction that may have ended", store.Joined(d, fakedb.FullOf(db), &store.Ongoing{}), &p, "2020")
			rows := scope.New(at, q)
			step("raise", rows.RaisePeriod(ctx, values, p, 100))
			_, err = rows.ClosePeriod(ctx, p)
			step("close", err)
			_, err = rows.ReopenPeriod(ctx, p)
			step("open again", err)
			q.Periods.Template, f.locked = "", `scope of one parent "INV-{year}-{n:05}"`
			reserve("numbers as they are", at, &p, "2020")
			fakedb.Compare(t, filepath.Join("testdata", "periods_"+goldens.Of(d)+".txtar"), got)
		})
	}
}

// TestPeriodErrors: an error says what is wrong with which period, and nothing of the parent.
func TestPeriodErrors(t *testing.T) {
	ctx := context.Background()
	d := dialect.PostgreSQL()
	there := func(next int64) []fakedb.Reply {
		return []fakedb.Reply{{}, {Rows: [][]driver.Value{{"invoices.number['secret',2025]", next}}}}
	}
	for _, tt := range []struct {
		name     string
		template string
		replies  []fakedb.Reply
		n        int64
		is       error
		text     string
	}{
		{"no number", "", nil, 0, keysource.ErrCount, ""},
		{"closed", "", there(-8), 1, store.ErrPeriodClosed, `sequence "invoices.number" for invoices.number: the period of the row is closed: 2025 gives no more numbers`},
		{"used up", "", there(100), 5, keysource.ErrExhausted, "2025 has no number left up to the limit of 100: make the column wider"},
		{"used up in its width", "{n}", there(100), 5, keysource.ErrExhausted, "2025 has no number left up to the limit of 100: give {n} more digits"},
		{"not made by keyfill", "", []fakedb.Reply{{Rows: [][]driver.Value{{int64(2), "made", "", "mine"}}}}, 1, nil, "the period's row has other parameters"},
		{"the driver's error", "", []fakedb.Reply{{Err: fakedb.ErrRefused}}, 1, fakedb.ErrRefused, fakedb.ErrRefused.Error()},
		{"gone each time", "", nil, 1, nil, "removed as soon as it was made"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			replies := tt.replies
			f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				if len(replies) == 0 {
					return fakedb.Reply{}
				}
				r := replies[0]
				replies = replies[1:]
				return r
			}}
			q := invoices(t, tt.template, "branch")
			q.Max = 100
			p, err := q.Periods.Calendar.Parse("2025")
			if err != nil {
				t.Fatal(err)
			}
			got, err := scope.New(store.Within(d, fakedb.FullOf(f)), q).ReservePeriod(ctx, []any{"secret"}, &p, tt.n)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || got.First != 0 {
				t.Fatalf("%+v, %v, want %v", got, err, tt.is)
			}
			if !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("the text is %q, want %q in it", err, tt.text)
			}
			if errors.Is(err, store.ErrPeriodClosed) && errors.Is(err, keysource.ErrStoreState) {
				t.Error("a closed period is no fault of the store")
			}
		})
	}
}

// TestPeriodBeside: an INSERT beside the transaction that fails, since another process has
// made the row and drawn from it, does not fail the draw; a refusal does, and a row that is
// not there.
func TestPeriodBeside(t *testing.T) {
	ctx := context.Background()
	d := dialect.PostgreSQL()
	for _, tt := range []struct {
		name  string
		there bool // the row is there when it is looked for again
		fail  error
		want  error
	}{
		{"made by another process", true, context.DeadlineExceeded, nil},
		{"not made", false, context.DeadlineExceeded, keysource.ErrStoreDown},
		{"made by another process, and the connection broke", true, driver.ErrBadConn, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inserted := false
			latest := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				switch {
				case strings.Contains(query, "INSERT"):
					inserted = true
					return fakedb.Reply{Err: tt.fail}
				case inserted && tt.there:
					return fakedb.Reply{Rows: [][]driver.Value{{"invoices.number[2025]", int64(5)}}}
				}
				return fakedb.Reply{}
			}}
			db := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				return fakedb.Reply{Rows: [][]driver.Value{{int64(6), "made", "", "scope of one parent"}}}
			}}
			q := invoices(t, "")
			q.Latest = fakedb.Pooled(t, d, latest)
			p, err := q.Periods.Calendar.Parse("2025")
			if err != nil {
				t.Fatal(err)
			}
			got, err := scope.New(store.Within(d, fakedb.FullOf(db)), q).ReservePeriod(ctx, nil, &p, 1)
			if !errors.Is(err, tt.want) || tt.want == nil && (err != nil || got.First != 5) {
				t.Errorf("%+v, %v, want %v", got, err, tt.want)
			}
			if errors.Is(err, driver.ErrBadConn) {
				t.Error("the error would close the application's connection")
			}
		})
	}
}
