package keyfilltest_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfilltest"
	"github.com/keyfill/keyfill/policy"
)

// TestFiller: what a Filler says of the statements of an application is what the mock
// gets, for every source, with both matchers.
func TestFiller(t *testing.T) {
	statements := []struct {
		query string
		args  []any
	}{
		{"INSERT INTO orders (parent_id, a) VALUES ($1, $2)", []any{1, "x"}},
		{"INSERT INTO orders (parent_id, a) VALUES ($1, $2), ($3, $4)", []any{1, "x", 2, "(y"}},
		{"INSERT INTO orders (parent_id, a) VALUES (1, 'a (b) [c] $1 ?')", nil},
		{"UPDATE orders SET a = $1", []any{"z"}},
		{"INSERT INTO orders (id, parent_id, a) VALUES ($1, $2, $3)", []any{"k", 1, "x"}},
		{"INSERT INTO orders (parent_id, a) VALUES ($1, $2)", []any{1, nil}},
	}
	escape := map[string]func(string) string{"exact": strings.Clone, "regexp": regexp.QuoteMeta}
	matchers := map[string]sqlmock.QueryMatcher{"exact": keyfilltest.Exact, "regexp": sqlmock.QueryMatcherRegexp}
	for name, source := range sources {
		for how, matcher := range matchers {
			t.Run(name+"/"+how, func(t *testing.T) {
				cfg, err := policy.Parse([]byte("version: 1\ndialect: postgres\ntables: {orders: {column: id, source: " + source + "}}"))
				if err != nil {
					t.Fatal(err)
				}
				o := keyfill.Options{Policy: cfg}
				db, mock := keyfilltest.NewMatching(t, o, matcher)
				filler := keyfilltest.NewFiller(t, o)
				for _, s := range statements {
					query, args := filler.Fill(s.query, s.args...)
					mock.ExpectExec(escape[how](query)).WithArgs(args...).WillReturnResult(sqlmock.NewResult(0, 1))
					if _, err := db.Exec(s.query, s.args...); err != nil {
						t.Errorf("%s: %v", s.query, err)
					}
				}
				if err := mock.ExpectationsWereMet(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestFillerPrepared: what a Filler says of a prepared statement is what the mock gets, for
// every source, also where the statement has no arguments.
func TestFillerPrepared(t *testing.T) {
	for name, source := range sources {
		for query, args := range map[string][]any{
			"INSERT INTO orders (parent_id, a) VALUES ($1, $2)": {1, "x"},
			"INSERT INTO orders (parent_id, a) VALUES (1, 'a')": nil,
			"UPDATE orders SET a = $1":                          {"z"},
		} {
			cfg, err := policy.Parse([]byte("version: 1\ndialect: postgres\ntables: {orders: {column: id, source: " + source + "}}"))
			if err != nil {
				t.Fatal(err)
			}
			o := keyfill.Options{Policy: cfg}
			db, mock := keyfilltest.New(t, o)
			filler := keyfilltest.NewFiller(t, o)
			text, first := filler.Prepared(query, args...)
			again, second := filler.Prepared(query, args...)
			if again != text {
				t.Errorf("%s: %s: the text is\n%q and then\n%q", name, query, text, again)
			}
			expected := mock.ExpectPrepare(text)
			expected.ExpectExec().WithArgs(first...).WillReturnResult(sqlmock.NewResult(0, 1))
			expected.ExpectExec().WithArgs(second...).WillReturnResult(sqlmock.NewResult(0, 1))
			stmt, err := db.Prepare(query)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, query, err)
			}
			for range 2 {
				if _, err := stmt.Exec(args...); err != nil {
					t.Errorf("%s: %s: %v", name, query, err)
				}
			}
			if err := stmt.Close(); err != nil {
				t.Error(err)
			}
			if err := mock.ExpectationsWereMet(); err != nil {
				t.Errorf("%s: %s: %v", name, query, err)
			}
		}
	}
}

// TestFillerKeys: the keys of a Filler equal Keys, and a key of the wrong table or out of
// its turn is distinguished from the right one.
func TestFillerKeys(t *testing.T) {
	o := numbered()
	_, args := keyfilltest.NewFiller(t, o).Fill("INSERT INTO orders (x) VALUES ($1), ($2)", 7, 8)
	if want := append([]driver.Value{int64(7), int64(8)}, keyfilltest.Keys(t, o, "orders", 2)...); !slices.Equal(args, want) {
		t.Errorf("the arguments are %v, want %v", args, want)
	}
	db, mock := keyfilltest.New(t, o)
	filler := keyfilltest.NewFiller(t, o)
	filler.Fill("INSERT INTO orders (x) VALUES ($1)", 1)
	query, args := filler.Fill("INSERT INTO orders (x) VALUES ($1)", 1) // the second, not the first
	mock.ExpectExec(query).WithArgs(args...).WillReturnResult(sqlmock.NewResult(0, 1))
	if _, err := db.Exec("INSERT INTO orders (x) VALUES ($1)", 1); err == nil || !strings.Contains(err.Error(), "argument 1") {
		t.Errorf("a key out of its turn: %v", err)
	}
}

// TestFillerNamed: named arguments are named in the expectation too.
func TestFillerNamed(t *testing.T) {
	o := config(t, "sqlserver")
	db, mock := keyfilltest.New(t, o)
	const plain = "INSERT INTO orders (a) VALUES (@a)"
	query, args := keyfilltest.NewFiller(t, o).Fill(plain, sql.Named("a", 1))
	mock.ExpectExec(query).WithArgs(args...).WillReturnResult(sqlmock.NewResult(0, 1))
	if _, err := db.Exec(plain, sql.Named("a", 1)); err != nil {
		t.Error(err)
	}
	if named, ok := args[0].(sql.NamedArg); !ok || named.Name != "a" || len(args) != 2 {
		t.Errorf("the arguments are %#v", args)
	}
}

// TestFillerRefused: a statement that is refused fails the test that wants to expect it.
func TestFillerRefused(t *testing.T) {
	failed := &fatal{TB: t}
	func() {
		defer func() { _ = recover() }() // fatal's way out
		keyfilltest.NewFiller(failed, config(t, "postgres")).Fill("INSERT INTO orders VALUES (1)")
	}()
	if !strings.Contains(failed.text, "has no column list") {
		t.Errorf("Fill says %q", failed.text)
	}
}

// fatal keeps the text of a test that ends.
type fatal struct {
	testing.TB
	text string
}

func (f *fatal) Helper() {}
func (f *fatal) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f.text)
}

// TestInsertSelect: the rows of a query count as one, and no expectation names the
// question for their number.
func TestInsertSelect(t *testing.T) {
	o := numbered()
	db, mock := keyfilltest.New(t, o)
	filler := keyfilltest.NewFiller(t, o)
	for range 2 {
		const plain = "INSERT INTO orders (x) SELECT y FROM old"
		query, args := filler.Fill(plain)
		if query == plain {
			t.Errorf("%s is not filled", plain)
		}
		mock.ExpectExec(query).WithArgs(args...).WillReturnResult(sqlmock.NewResult(0, 3))
		if _, err := db.Exec(plain); err != nil {
			t.Error(err)
		}
	}
	if keys := keyfilltest.Keys(t, o, "orders", 1); keys[0] != int64(1) {
		t.Errorf("the first key is %v", keys[0])
	}
	if err := mock.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
}

// TestOpen: a mock with options of its own.
func TestOpen(t *testing.T) {
	const dsn = "keyfilltest TestOpen"
	inner, mock, err := sqlmock.NewWithDSN(dsn, sqlmock.MonitorPingsOption(true), sqlmock.QueryMatcherOption(sqlmock.QueryMatcherRegexp))
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	db := keyfilltest.Open(t, config(t, "postgres"), dsn)
	mock.ExpectPing()
	mock.ExpectExec("INSERT INTO orders").WithArgs(1, sqlmock.AnyArg()).WillReturnResult(sqlmock.NewResult(0, 1))
	if err := db.Ping(); err != nil {
		t.Error(err)
	}
	if _, err := db.Exec("INSERT INTO orders (a) VALUES ($1)", 1); err != nil {
		t.Error(err)
	}
	if err := mock.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
}
