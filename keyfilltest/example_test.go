package keyfilltest_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfilltest"
	"github.com/keyfill/keyfill/policy"
)

// test stands for the *testing.T of a test, which an example has not.
type test struct {
	testing.TB
	cleanups []func()
}

func (t *test) Helper()                           {}
func (t *test) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *test) Error(args ...any)                 { fmt.Println(args...) }
func (t *test) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (t *test) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (t *test) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (t *test) end() {
	for _, f := range t.cleanups {
		f()
	}
}

// options are the options of a policy with one table.
func options() keyfill.Options {
	cfg, err := policy.Parse([]byte("version: 1\ndialect: postgres\ntables: {orders: {column: id}}"))
	if err != nil {
		panic(err)
	}
	return keyfill.Options{Policy: cfg}
}

func ExampleNew() {
	t := new(test) // in a test: its *testing.T
	defer t.end()
	db, mock := keyfilltest.New(t, options())
	key := keyfilltest.Keys(t, options(), "orders", 1)[0]
	mock.ExpectExec(`INSERT INTO orders (note, "id") VALUES ($1, $2)`).WithArgs("a", key).
		WillReturnResult(sqlmock.NewResult(0, 1))

	_, err := db.Exec("INSERT INTO orders (note) VALUES ($1)", "a")
	fmt.Println(err, mock.ExpectationsWereMet())
	// Output: <nil> <nil>
}

// A Filler turns the INSERT that the application writes into the expectation of what the
// mock gets, here by regular expressions as go-sqlmock has them by default.
func ExampleNewMatching() {
	t := new(test) // in a test: its *testing.T
	defer t.end()
	db, mock := keyfilltest.NewMatching(t, options(), sqlmock.QueryMatcherRegexp)
	filler := keyfilltest.NewFiller(t, options())
	query, args := filler.Fill("INSERT INTO orders (note) VALUES ($1)", "a")
	mock.ExpectExec(regexp.QuoteMeta(query)).WithArgs(args...).
		WillReturnResult(sqlmock.NewResult(0, 1))

	_, err := db.Exec("INSERT INTO orders (note) VALUES ($1)", "a")
	fmt.Println(err, mock.ExpectationsWereMet())
	// Output: <nil> <nil>
}

// A mock with options of its own, and an expectation that leaves the key open.
func ExampleOpen() {
	t := new(test)
	defer t.end()
	inner, mock, err := sqlmock.NewWithDSN("orders", sqlmock.MonitorPingsOption(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inner.Close() })
	db := keyfilltest.Open(t, options(), "orders")
	mock.ExpectPing()
	mock.ExpectExec("INSERT INTO orders").WithArgs("a", sqlmock.AnyArg()).
		WillReturnResult(sqlmock.NewResult(0, 1))

	fmt.Println(db.Ping())
	_, err = db.Exec("INSERT INTO orders (note) VALUES ($1)", "a")
	fmt.Println(err, mock.ExpectationsWereMet())
	// Output:
	// <nil>
	// <nil> <nil>
}

func ExampleFiller() {
	t := new(test)
	defer t.end()
	filler := keyfilltest.NewFiller(t, options())
	for range 2 {
		fmt.Println(filler.Fill("INSERT INTO orders (note) VALUES ($1)", "a"))
	}
	// Output:
	// INSERT INTO orders (note, "id") VALUES ($1, $2) [a 019b76da-a800-7000-8000-000000000001]
	// INSERT INTO orders (note, "id") VALUES ($1, $2) [a 019b76da-a800-7001-8000-000000000002]
}

func ExampleKeys() {
	t := new(test)
	defer t.end()
	for _, key := range keyfilltest.Keys(t, options(), "orders", 2) {
		fmt.Println(key) // the same in every run
	}
	// Output:
	// 019b76da-a800-7000-8000-000000000001
	// 019b76da-a800-7001-8000-000000000002
}

func ExampleAssertSQL() {
	t := new(test)
	defer t.end()
	keyfilltest.AssertSQL(t, options(),
		"INSERT INTO orders (note) VALUES ($1)",
		`INSERT INTO orders (note, "id") VALUES ($1, $2)`)
	keyfilltest.AssertSQL(t, options(), "SELECT 1", "SELECT 1") // it passes
	fmt.Println("both are sent so")
	// Output: both are sent so
}

// A counter takes the place of the table in which a sequence reserves its keys.
func ExampleCounter() {
	c := new(keyfilltest.Counter)
	for range 2 {
		r, err := c.Reserve(context.Background(), 10, 0)
		fmt.Println(r.First, err)
	}
	// Output:
	// 1 <nil>
	// 11 <nil>
}

// A clock that stands still makes keys that a test can name.
func ExampleClock() {
	clock := keyfilltest.NewClock(keyfilltest.Start)
	o := options()
	o.Now, o.Rand = clock.Now, new(keyfilltest.Entropy)
	clock.Step(time.Hour)
	fmt.Println(clock.Now())
	// Output: 2026-01-01 01:00:00 +0000 UTC
}

func ExampleEntropy() {
	entropy := new(keyfilltest.Entropy)
	b := make([]byte, 16)
	if _, err := entropy.Read(b); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%x\n", b)
	// Output: 00000000000000010000000000000002
}

// Exact is for mocks that are opened without New.
func ExampleExact() {
	err := keyfilltest.Exact.Match("SELECT 1", "SELECT  1")
	fmt.Println(err)
	// Output:
	// keyfilltest: the query is
	// 	"SELECT  1"
	// want
	// 	"SELECT 1" [docs/errors.md#keyfilltest]
}

// TestPage: the code of docs/testing.md is the code of the examples above, which run.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Fatal("docs/testing.md has no code")
	}
	for _, block := range blocks {
		code := "\t" + strings.ReplaceAll(strings.TrimSuffix(block[1], "\n"), "\n", "\n\t") + "\n"
		if !strings.Contains(string(source), code) {
			t.Errorf("no example has these lines:\n%s", block[1])
		}
	}
}
