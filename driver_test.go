package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// countingRand is entropy that counts how many keys were drawn from it: uuidv4
// takes 16 bytes a key. Its bytes are the count, so that keys differ.
type countingRand struct{ keys atomic.Int64 }

func (r *countingRand) Read(b []byte) (int, error) {
	for i := 0; i+16 <= len(b); i += 16 {
		n := r.keys.Add(1)
		clear(b[i : i+16])
		b[i+15], b[i+14] = byte(n), byte(n>>8)
	}
	return len(b), nil
}

// config is a policy that fills "id" of every table called t, t1, t2 … with
// random UUIDs.
func config(d string) *policy.Config {
	return &policy.Config{
		Dialect: d,
		Tables:  map[string]policy.Table{"t*": {Column: "id", Source: "uuidv4"}},
	}
}

// drawn is config with UUIDs from r.
func drawn(d string, r io.Reader) keyfill.Options {
	return keyfill.Options{Policy: config(d), Rand: r}
}

// open opens a database on d, wrapped, by a policy or by options.
func open[P *policy.Config | keyfill.Options](t *testing.T, d *fakeDriver, p P) *sql.DB {
	t.Helper()
	db, err := keyfill.OpenDB(&fakeConnector{d}, optionsOf(p))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// optionsOf returns options as they are, or the options of a policy.
func optionsOf[P *policy.Config | keyfill.Options](p P) keyfill.Options {
	switch p := any(p).(type) {
	case *policy.Config:
		return keyfill.Options{Policy: p}
	default:
		return p.(keyfill.Options)
	}
}

const insert = "INSERT INTO t (a, b) VALUES (?, ?)"
const inserted = `INSERT INTO t (a, b, "id") VALUES (?, ?, ?)`

func mustExec(t *testing.T, db interface {
	Exec(string, ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("Exec(%q): %v", query, err)
	}
}

// TestEveryPath sends one INSERT down every path that database/sql has, over
// drivers of every strength: each gets one key, at its place, drawn once.
func TestEveryPath(t *testing.T) {
	paths := map[string]func(t *testing.T, db *sql.DB){
		"Exec": func(t *testing.T, db *sql.DB) { mustExec(t, db, insert, 1, "x") },
		"Query": func(t *testing.T, db *sql.DB) {
			rows, err := db.Query(insert, 1, "x")
			if err != nil {
				t.Fatal(err)
			}
			rows.Close()
		},
		"QueryRow": func(t *testing.T, db *sql.DB) {
			if err := db.QueryRow(insert, 1, "x").Scan(new(any)); err != sql.ErrNoRows {
				t.Fatal(err)
			}
		},
		"Prepare": func(t *testing.T, db *sql.DB) {
			s, err := db.Prepare(insert)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Exec(1, "x"); err != nil {
				t.Fatal(err)
			}
		},
		"PrepareQuery": func(t *testing.T, db *sql.DB) {
			s, err := db.Prepare(insert)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			rows, err := s.Query(1, "x")
			if err != nil {
				t.Fatal(err)
			}
			rows.Close()
		},
		"Tx": func(t *testing.T, db *sql.DB) {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			mustExec(t, tx, insert, 1, "x")
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		},
		"TxStmt": func(t *testing.T, db *sql.DB) {
			s, err := db.Prepare(insert)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Stmt(s).Exec(1, "x"); err != nil {
				t.Fatal(err)
			}
		},
		"Conn": func(t *testing.T, db *sql.DB) {
			c, err := db.Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.ExecContext(context.Background(), insert, 1, "x"); err != nil {
				t.Fatal(err)
			}
		},
	}
	drivers := map[string]func() *fakeDriver{
		"bare":       func() *fakeDriver { return &fakeDriver{strength: bare} },
		"contexts":   func() *fakeDriver { return &fakeDriver{strength: contexts} },
		"checkers":   func() *fakeDriver { return &fakeDriver{strength: checkers} },
		"skips":      func() *fakeDriver { return &fakeDriver{strength: contexts, skip: true} },
		"uncounted":  func() *fakeDriver { return &fakeDriver{strength: contexts, numInput: func(string) int { return -1 }} },
		"converters": func() *fakeDriver { return &fakeDriver{strength: contexts, skip: true, converts: true} },
	}
	for path, run := range paths {
		for name, d := range drivers {
			t.Run(path+"/"+name, func(t *testing.T) {
				var rand countingRand
				d := d()
				run(t, open(t, d, drawn("sqlite", &rand)))
				sent := d.sent()
				if len(sent) != 1 {
					t.Fatalf("%d executions reached the driver, want 1: %v", len(sent), sent)
				}
				if sent[0].query != inserted {
					t.Errorf("sent %q, want %q", sent[0].query, inserted)
				}
				if len(sent[0].args) != 3 || fmt.Sprint(sent[0].args[0].Value) != "1" || sent[0].args[1].Value != "x" {
					t.Fatalf("sent arguments %v, want 1, x and a key", sent[0].args)
				}
				if key, ok := sent[0].args[2].Value.(string); !ok || len(key) != 36 {
					t.Errorf("the key is %v, want 36 characters", sent[0].args[2].Value)
				}
				for i, a := range sent[0].args {
					if a.Ordinal != i+1 {
						t.Errorf("argument %d has ordinal %d", i, a.Ordinal)
					}
				}
				if n := rand.keys.Load(); n != 1 {
					t.Errorf("%d keys were drawn, want 1", n)
				}
			})
		}
	}
}

// TestNumInput is trap 2 of database/sql: it checks the number of arguments
// against NumInput before the statement is called, so a prepared statement
// must show the caller's number.
func TestNumInput(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	db := open(t, d, config("sqlite"))
	s, err := db.Prepare(insert)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Exec(1)
	if err == nil || err.Error() != "sql: expected 2 arguments, got 1" {
		t.Errorf("Exec with one argument: %v", err)
	}
	if len(d.sent()) != 0 {
		t.Error("something was sent")
	}
}

// TestWrongCount is the same where the driver does not count: nothing is sent.
func TestWrongCount(t *testing.T) {
	d := &fakeDriver{strength: contexts, numInput: func(string) int { return -1 }}
	db := open(t, d, config("sqlite"))
	s, err := db.Prepare(insert)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, args := range [][]any{{}, {1}, {1, 2, 3}} {
		if _, err := s.Exec(args...); !errors.Is(err, rewrite.ErrArguments) {
			t.Errorf("prepared, %d arguments: %v, want ErrArguments", len(args), err)
		}
		if _, err := db.Exec(insert, args...); !errors.Is(err, rewrite.ErrArguments) {
			t.Errorf("direct, %d arguments: %v, want ErrArguments", len(args), err)
		}
	}
	if len(d.sent()) != 0 {
		t.Error("something was sent")
	}
}

// TestPreparedTwice: a statement that is used again, and on another
// connection, gets a fresh key each time.
func TestPreparedTwice(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: contexts}
	db := open(t, d, drawn("sqlite", &rand))
	s, err := db.Prepare("INSERT INTO t (a) VALUES (1)")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tx, err := db.Begin() // holds the first connection
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	keys := map[any]bool{}
	for range 3 {
		if _, err := s.Exec(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range d.sent() {
		if c.query != `INSERT INTO t (a, "id") VALUES (1, ?)` {
			t.Errorf("sent %q", c.query)
		}
		keys[c.args[0].Value] = true
	}
	if len(keys) != 3 || rand.keys.Load() != 3 {
		t.Errorf("%d different keys of %d drawn, want 3 of 3", len(keys), rand.keys.Load())
	}
	if n := len(d.took("prepare")); n != 2 {
		t.Errorf("prepared %d times, want once on each of two connections", n)
	}
}

// TestLiteral: without placeholders a statement that is executed directly gets
// its key as a literal and no argument.
func TestLiteral(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	db := open(t, d, config("sqlite"))
	mustExec(t, db, "INSERT INTO t (a) VALUES (1)")
	c := d.sent()[0]
	if !strings.HasPrefix(c.query, `INSERT INTO t (a, "id") VALUES (1, '`) || len(c.args) != 0 {
		t.Errorf("sent %q with %v", c.query, c.args)
	}
}

// TestConnectorClose: sqlmw's connector hides Close, which sql.DB.Close calls.
func TestConnectorClose(t *testing.T) {
	d := &fakeDriver{}
	db := open(t, d, config("sqlite"))
	if err := db.Close(); err != nil || d.closed != 1 {
		t.Errorf("Close: %v; the driver's connector was closed %d times", err, d.closed)
	}
}

// TestBeginTxOptions: sqlmw drops the options for a driver without BeginTx.
func TestBeginTxOptions(t *testing.T) {
	db := open(t, &fakeDriver{}, config("sqlite"))
	for _, opts := range []*sql.TxOptions{{Isolation: sql.LevelSerializable}, {ReadOnly: true}} {
		raw := sql.OpenDB(&fakeConnector{&fakeDriver{}})
		defer raw.Close()
		_, want := raw.BeginTx(context.Background(), opts)
		_, got := db.BeginTx(context.Background(), opts)
		if want == nil || got == nil || got.Error() != want.Error() {
			t.Errorf("BeginTx(%+v): %v, want %v", *opts, got, want)
		}
	}
}

// TestCancelledTx: after the end of its context, database/sql throws the connection of a
// driver away that is not both a SessionResetter and a Validator (trap 14); under sqlmw,
// which is both, it must still do so.
func TestCancelledTx(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	db := open(t, d, config("sqlite"))
	ctx, cancel := context.WithCancel(context.Background())
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	cancel()
	counts := func() (opened, closed int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.conns, d.ended
	}
	for closed := 0; closed == 0; _, closed = counts() {
		runtime.Gosched() // database/sql rolls back on a goroutine of its own
	}
	mustExec(t, db, insert, 1, 2)
	if opened, closed := counts(); opened != 2 || closed != 1 {
		t.Errorf("%d connections opened and %d closed, want 2 and 1", opened, closed)
	}
}

// TestErrRemoveArgument is trap 3: database/sql shortens the arguments in
// place, so appending to them would write into the removed one.
func TestErrRemoveArgument(t *testing.T) {
	type option struct{}
	d := &fakeDriver{strength: checkers}
	d.check = func(nv *driver.NamedValue) error {
		if _, ok := nv.Value.(option); ok {
			return driver.ErrRemoveArgument
		}
		return nil
	}
	db := open(t, d, config("sqlite"))
	mustExec(t, db, insert, option{}, 1, 2)
	if args := d.sent()[0].args; len(args) != 3 || args[0].Value != 1 || args[1].Value != 2 {
		t.Errorf("sent %v, want 1, 2 and a key", args)
	}
}

// TestErrBadConn: the driver's errors come through unwrapped, and database/sql
// tries again.
func TestErrBadConn(t *testing.T) {
	var n int
	d := &fakeDriver{strength: contexts}
	d.exec = func(string, []driver.NamedValue) (driver.Result, error) {
		if n++; n < 3 {
			return nil, driver.ErrBadConn
		}
		return driver.RowsAffected(1), nil
	}
	db := open(t, d, config("sqlite"))
	ctx, rec := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, insert, 1, 2); err != nil {
		t.Fatal(err)
	}
	if keys := rec.Keys("t"); len(keys) != 1 || keys[0].Outcome != keyfill.Stored {
		t.Errorf("recorded: %+v, want one key for all attempts", keys)
	}
	var sent []driver.Value
	for _, s := range d.sent() {
		if len(s.args) == 3 { // the others ask the catalog for triggers
			sent = append(sent, s.args[len(s.args)-1].Value)
		}
	}
	if len(sent) != 3 || sent[0] != sent[1] || sent[1] != sent[2] {
		t.Errorf("the attempts had the keys %v", sent)
	}
}

// TestCancelled: a context that has ended draws nothing.
func TestCancelled(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: contexts}
	db := open(t, d, drawn("sqlite", &rand))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := db.ExecContext(ctx, insert, 1, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("Exec: %v", err)
	}
	if rand.keys.Load() != 0 || len(d.sent()) != 0 {
		t.Errorf("%d keys drawn, %d statements sent", rand.keys.Load(), len(d.sent()))
	}
}

// TestEntropy: no key means no INSERT.
func TestEntropy(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	db := open(t, d, drawn("sqlite", strings.NewReader("")))
	_, err := db.Exec(insert, 1, 2)
	var e *keyfill.Error
	if !errors.As(err, &e) || e.Table != "t" || e.Column != "id" {
		t.Errorf("Exec: %v", err)
	}
	if len(d.sent()) != 0 {
		t.Error("something was sent")
	}
}
