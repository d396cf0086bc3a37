package scope_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/keysource"
)

// TestScopeRowFor: every parent has a name of its own, and no more characters than
// a name may have.
func TestScopeRowFor(t *testing.T) {
	long := strings.Repeat("ä", 190)
	seen := map[string][]any{}
	for _, tt := range []struct {
		values []any
		want   string // empty for a name that ends in a hash
	}{
		{[]any{int64(7)}, "lines.no[7]"},
		{[]any{int64(-7)}, "lines.no[-7]"},
		{[]any{uint64(math.MaxUint64)}, "lines.no[18446744073709551615]"},
		{[]any{"7"}, "lines.no['7']"},
		{[]any{""}, "lines.no['']"},
		{[]any{"it's"}, "lines.no['it''s']"},
		{[]any{"a", "b"}, "lines.no['a','b']"},
		{[]any{"a','b"}, "lines.no['a'',''b']"},
		{[]any{"a,b", "c"}, "lines.no['a,b','c']"},
		{[]any{"a", "b,c"}, "lines.no['a','b,c']"},
		{[]any{int64(1), int64(2)}, "lines.no[1,2]"},
		{[]any{int64(12), int64(0)}, "lines.no[12,0]"},
		{[]any{int64(1), "2"}, "lines.no[1,'2']"},
		{[]any{long + "1"}, ""},
		{[]any{long + "2"}, ""},
	} {
		q := scope.Scope{Name: "lines.no"}
		got := q.RowFor(tt.values)
		if tt.want != "" && got != tt.want {
			t.Errorf("RowFor(%v) = %q, want %q", tt.values, got, tt.want)
		}
		if other := seen[got]; other != nil {
			t.Errorf("%v and %v are both %q", other, tt.values, got)
		}
		seen[got] = tt.values
		if n := utf8.RuneCountInString(got); n > 190 || tt.want == "" && n != 190 {
			t.Errorf("RowFor(%v) has %d characters", tt.values, n)
		}
	}
}

// TestScopeParameters: the parameters in the row of the state distinguish one scope from
// any other.
func TestScopeParameters(t *testing.T) {
	for _, tt := range []struct {
		within, types []string
		want          string
	}{
		{[]string{"order_id"}, []string{"integer"}, `scope "order_id" integer`},
		{[]string{"order_id"}, []string{"text"}, `scope "order_id" text`},
		{[]string{"a", "b"}, []string{"integer", "text"}, `scope "a" integer, "b" text`},
	} {
		q := scope.Scope{Within: tt.within}
		if got := q.Parameters(tt.types); got != tt.want {
			t.Errorf("Parameters(%v) of %v = %s, want %s", tt.types, tt.within, got, tt.want)
		}
	}
}

// TestScopeStatements compares what is sent for a parent with a row and for a new
// one with testdata/scope_<dialect>.txtar. MariaDB, PostgreSQL and SQLite run the
// same statements in e2e.
func TestScopeStatements(t *testing.T) {
	ctx := context.Background()
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			made := false
			f, latest := new(fakedb.DB), new(fakedb.DB)
			f.Answer = func(query string) fakedb.Reply {
				switch {
				case strings.Contains(query, "INTO keyfill_sequences"):
					made = true
				case strings.Contains(query, "MAX("):
					return fakedb.Reply{Rows: [][]driver.Value{{[]byte("40")}}}
				case !made && !strings.Contains(query, "WHERE 0"):
					return fakedb.Reply{} // there is no row
				}
				return fakedb.EngineAnswers(d)(query)
			}
			latest.Answer = fakedb.EngineAnswers(d)
			q := scope.Scope{
				Name: "sales.lines.no", Column: store.Column{Schema: "sales", Table: "lines", Name: "no"},
				Within: []string{"order_id", "shop"}, Latest: fakedb.Pooled(t, d, latest),
			}
			if d.OneWriter {
				q.Latest = nil
			}
			at := store.Within(d, fakedb.FullOf(f))
			values := []any{int64(7), "a"}
			var got []txtar.File
			for _, name := range []string{"new", "known"} {
				first, err := scope.New(at, &q).Reserve(ctx, values, 10)
				if err != nil || first != 42 {
					t.Fatalf("%s: %d, %v", name, first, err)
				}
				got = append(got, txtar.File{Name: name, Data: []byte(f.Lines() + "\n")})
				if name == "new" && q.Latest != nil {
					got = append(got, txtar.File{Name: "new, beside it", Data: []byte(latest.Lines() + "\n")})
				}
				engineAnswers := f.Answer
				f.Answer = func(query string) fakedb.Reply {
					if strings.Contains(query, "parameters FROM keyfill_sequences") {
						return fakedb.Reply{Rows: [][]driver.Value{{int64(42), "made", "server", "", "", ""}}}
					}
					return engineAnswers(query)
				}
			}
			fakedb.Compare(t, filepath.Join("testdata", "scope_"+goldens.Of(d)+".txtar"), got)
		})
	}
}

// TestScopeErrors: an error says what is wrong with which state, and nothing of the
// parent.
func TestScopeErrors(t *testing.T) {
	ctx := context.Background()
	d := dialect.PostgreSQL()
	for _, tt := range []struct {
		name   string
		answer map[string]fakedb.Reply // by a part of the query
		n      int64
		is     error
		text   string
	}{
		{"no number", nil, 0, keysource.ErrCount, ""},
		{"used up", map[string]fakedb.Reply{"SELECT next_value": {Rows: [][]driver.Value{{int64(99), "made", "", "", "", ""}}}}, 5,
			keysource.ErrExhausted, `sequence "lines.no" for lines.no`},
		{"used up by the table", map[string]fakedb.Reply{"MAX(": {Rows: [][]driver.Value{{int64(100)}}}}, 1, keysource.ErrExhausted, "limit of 100"},
		{"used up at once", nil, 101, keysource.ErrExhausted, "limit of 100"},
		{"the driver's error", map[string]fakedb.Reply{"MAX(": {Err: fakedb.ErrRefused}}, 1, fakedb.ErrRefused, fakedb.ErrRefused.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				for part, r := range tt.answer {
					if strings.Contains(query, part) {
						return r
					}
				}
				return fakedb.Reply{}
			}}
			q := scope.Scope{Name: "lines.no", Column: store.Column{Table: "lines", Name: "no"}, Within: []string{"shop"}, Max: 100}
			first, err := scope.New(store.Within(d, fakedb.FullOf(f)), &q).Reserve(ctx, []any{"secret"}, tt.n)
			if !errors.Is(err, tt.is) || first != 0 {
				t.Fatalf("%d, %v, want %v", first, err, tt.is)
			}
			if !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("the text is %q, want %q in it", err, tt.text)
			}
		})
	}
}

// MySQLError has the form of go-sql-driver's error.
type MySQLError struct{ Number uint16 }

func (e *MySQLError) Error() string { return "denied" }

// TestErrorsWithoutValues: whichever statement the engine refuses, the error names the state
// and no value of a parent.
func TestErrorsWithoutValues(t *testing.T) {
	denied := &MySQLError{1142}
	for _, d := range []*dialect.Dialect{dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite()} {
		for refused := range 8 {
			sent := 0
			f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				sent++
				switch {
				case sent > refused:
					return fakedb.Reply{Err: denied}
				case strings.Contains(query, "MAX("):
					return fakedb.Reply{Rows: [][]driver.Value{{int64(1)}}}
				}
				return fakedb.Reply{}
			}}
			q := invoices(t, "{n}", "branch")
			p, err := q.Periods.Calendar.Parse("2025")
			if err != nil {
				t.Fatal(err)
			}
			rows := scope.New(store.Within(d, fakedb.FullOf(f)), q)
			_, ofPeriod := rows.ReservePeriod(context.Background(), []any{"secret"}, &p, 1)
			raised := rows.RaisePeriod(context.Background(), []any{"secret"}, p, 7)
			sent = 0
			_, ofParent := rows.Reserve(context.Background(), []any{"secret"}, 1)
			for i, err := range []error{ofPeriod, raised, ofParent} {
				if err != nil && strings.Contains(err.Error(), "secret") {
					t.Errorf("%s: statement %d is refused, call %d: %v", d.Name, refused, i, err)
				}
			}
		}
	}
}
