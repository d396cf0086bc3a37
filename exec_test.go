package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// raw runs f on the wrapped driver connection of db.
func raw(t *testing.T, db *sql.DB, f func(dc rawConn)) {
	t.Helper()
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Raw(func(dc any) error { f(dc.(rawConn)); return nil }); err != nil {
		t.Fatal(err)
	}
}

type rawConn interface {
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
}

// TestErrSkip is trap 5: database/sql answers the driver's ErrSkip with a
// Prepare of the original text. The keys must be drawn once, for Exec and
// Query, and the untouched driver must see the caller's rows.
func TestErrSkip(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: contexts, skip: true}
	d.query = func(string, []driver.NamedValue) (driver.Rows, error) {
		return &fakeRows{columns: []string{"id"}, rows: [][]driver.Value{{"a"}, {"b"}}}, nil
	}
	db := open(t, d, drawn("sqlite", &rand))
	for range 5 {
		mustExec(t, db, insert, 1, "x")
	}
	if rand.keys.Load() != 5 {
		t.Errorf("%d keys drawn for 5 executions", rand.keys.Load())
	}
	rows, err := db.Query(insert, 1, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	if rows.Err() != nil || n != 2 || rand.keys.Load() != 6 {
		t.Errorf("%d rows (%v), %d keys", n, rows.Err(), rand.keys.Load())
	}
}

// TestParkedByArguments: on one transaction, another goroutine's call may come
// between an ErrSkip and the Prepare that follows it: each execution gets the
// keys that were drawn for its own arguments.
func TestParkedByArguments(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: contexts, skip: true}
	db := open(t, d, drawn("sqlite", &rand))
	ctx := context.Background()
	raw(t, db, func(dc rawConn) {
		args := func(v driver.Value) []driver.NamedValue {
			return []driver.NamedValue{{Ordinal: 1, Value: v}, {Ordinal: 2, Value: []byte("same")}}
		}
		values := []driver.Value{int64(1), "1", []byte("1"), nil, int64(1)}
		for _, v := range values {
			if _, err := dc.ExecContext(ctx, insert, args(v)); err != driver.ErrSkip {
				t.Fatalf("Exec: %v, want ErrSkip itself, which database/sql compares by ==", err)
			}
		}
		for i := len(values) - 1; i >= 0; i-- {
			s, err := dc.PrepareContext(ctx, insert)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.(driver.StmtExecContext).ExecContext(ctx, args(values[i])); err != nil {
				t.Fatal(err)
			}
		}
	})
	if rand.keys.Load() != 5 {
		t.Errorf("%d keys drawn for 5 executions", rand.keys.Load())
	}
	// Drawn in the order of the values; of the two equal ones the older first.
	want := []string{"1", "4", "3", "2", "5"}
	for i, c := range d.sent() {
		if key := c.args[2].Value.(string); !strings.HasSuffix(key, want[i]) {
			t.Errorf("execution %d got key %s, want number %s", i, key, want[i])
		}
	}
}

// TestParkedUnequal: arguments that are not of a basic type equal none: the
// keys are drawn anew, and nothing compares what cannot be compared.
func TestParkedUnequal(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: checkers, skip: true}
	db := open(t, d, drawn("sqlite", &rand))
	mustExec(t, db, insert, []string{"not", "comparable"}, map[string]int{})
	if rand.keys.Load() != 2 || len(d.sent()) != 1 {
		t.Errorf("%d keys drawn, %d executions", rand.keys.Load(), len(d.sent()))
	}
}

// TestParkedEnd: a parked execution belongs to a caller that may be gone: it ends when
// the connection goes back to the pool.
func TestParkedEnd(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: contexts, skip: true}
	db := open(t, d, drawn("sqlite", &rand))
	db.SetMaxOpenConns(1)
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}, {Ordinal: 2, Value: "x"}}
	raw(t, db, func(dc rawConn) {
		_, _ = dc.ExecContext(context.Background(), insert, args)
	})
	mustExec(t, db, insert, int64(1), "x")
	if key := d.sent()[0].args[2].Value.(string); !strings.HasSuffix(key, "2") {
		t.Errorf("the execution took the parked key %s", key)
	}
}

// TestNoExec: a driver without Exec on its connections, as go-mssqldb, makes
// sqlmw panic. Keys are drawn at the execution that is sent.
func TestNoExec(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: bare}
	db := open(t, d, drawn("sqlite", &rand))
	mustExec(t, db, insert, 1, 2)
	mustExec(t, db, "UPDATE t SET a = ?", 1)
	mustExec(t, db, "INSERT INTO t (a) VALUES (1)")
	if rand.keys.Load() != 2 {
		t.Errorf("%d keys drawn, want 2", rand.keys.Load())
	}
	last := d.sent()[2]
	if !strings.HasPrefix(last.query, `INSERT INTO t (a, "id") VALUES (1, '`) || len(last.args) != 0 {
		t.Errorf("without placeholders: sent %q with %v", last.query, last.args)
	}
}

// TestLiteralOnce: a text with a literal key that was prepared in place of a
// direct execution must never send that key twice.
func TestLiteralOnce(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: bare}
	db := open(t, d, drawn("sqlite", &rand))
	ctx := context.Background()
	const query = "INSERT INTO t (a) VALUES (1)"
	raw(t, db, func(dc rawConn) {
		if _, err := dc.ExecContext(ctx, query, nil); err != driver.ErrSkip {
			t.Fatal(err)
		}
		s, err := dc.PrepareContext(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := s.(driver.StmtExecContext).ExecContext(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
	sent := d.sent()
	if len(sent) != 3 || len(sent[0].args) != 0 || len(sent[1].args) != 1 || len(sent[2].args) != 1 {
		t.Fatalf("sent %v", sent)
	}
	for _, c := range sent[1:] {
		if c.query != `INSERT INTO t (a, "id") VALUES (1, ?)` {
			t.Errorf("sent %q", c.query)
		}
	}
	if sent[1].args[0].Value == sent[2].args[0].Value {
		t.Error("one key was sent twice")
	}
}

// TestTooMany: past the engine's number of arguments the keys are literals, on
// a driver that answers ErrSkip too; preparing is refused.
func TestTooMany(t *testing.T) {
	for _, skip := range []bool{false, true} {
		for _, rows := range []int{16383, 16384, 32766, 32767} {
			t.Run(fmt.Sprintf("skip=%v/%d", skip, rows), func(t *testing.T) {
				var rand countingRand
				d := &fakeDriver{strength: contexts, skip: skip}
				db := open(t, d, drawn("sqlite", &rand))
				query := "INSERT INTO t (a) VALUES (?)" + strings.Repeat(", (?)", rows-1)
				args := make([]any, rows)
				for i := range args {
					args[i] = i
				}
				mustExec(t, db, query, args...)
				c := d.sent()[0]
				// SQLite takes 32,766 arguments; a row has one and gets one.
				literal := rows > 32766/2
				if literal != (len(c.args) == rows) || !literal != (len(c.args) == 2*rows) {
					t.Errorf("%d arguments for %d rows", len(c.args), rows)
				}
				if n := strings.Count(c.query, "'"); literal != (n == 2*rows) {
					t.Errorf("%d quotes for %d rows", n, rows)
				}
				if n := rand.keys.Load(); n != int64(rows) {
					t.Errorf("%d keys for %d rows", n, rows)
				}
				_, err := db.Prepare(query)
				if literal != errors.Is(err, rewrite.ErrTooMany) {
					t.Errorf("Prepare: %v", err)
				}
			})
		}
	}
}

// TestRefused: an INSERT that cannot be filled is an error that says where and
// why, and nothing is sent; unfilled lets it go.
//
//deviation:filled-inserts | An INSERT that cannot be filled exactly is an error. | all | `INSERT INTO t (a) SELECT DISTINCT 1` with UUIDs | `unsupported: unfilled`
func TestRefused(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	cfg := config("sqlite")
	db := open(t, d, cfg)
	const query = "INSERT INTO t (a) SELECT b FROM u"
	for name, err := range map[string]error{
		"Exec":    second(db.Exec(query)),
		"Query":   second(db.Query(query)),
		"Prepare": second(db.Prepare(query)),
	} {
		var e *keyfill.Error
		if !errors.As(err, &e) || e.Table != "t" || e.Column != "id" || e.Offset != 18 || !errors.Is(err, rewrite.ErrSelect) {
			t.Errorf("%s: %v", name, err)
		}
		want := `keyfill: table "t": byte 18: ` + rewrite.ErrSelect.Error() + " [docs/errors.md#select]"
		if err.Error() != want {
			t.Errorf("%s: %q, want %q", name, err, want)
		}
	}
	if len(d.sent()) != 0 || len(d.took("prepare")) != 0 {
		t.Error("something was sent")
	}

	cfg.Unsupported = policy.Unfilled
	db = open(t, d, cfg)
	mustExec(t, db, query)
	if d.sent()[0].query != query {
		t.Errorf("unfilled sent %q", d.sent()[0].query)
	}
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	s := m.Stats().Tables["t"]
	if s.Refused["select"] != 1 || s.Withheld != 1 {
		t.Errorf("counted %+v", s)
	}
}

func second[T any](_ T, err error) error { return err }

// TestAtExecution: a placeholder in the key's place is looked at when it is
// bound; the caller's arguments are not written to.
func TestAtExecution(t *testing.T) {
	const key = "11111111-2222-4333-8444-555555555555"
	const query = "INSERT INTO t (id, a) VALUES (?, ?)"
	d := &fakeDriver{strength: contexts}
	db := open(t, d, config("sqlite"))
	s, err := db.Prepare(query)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, v := range []any{nil, "", "00000000-0000-0000-0000-000000000000", []byte(nil), make([]byte, 16), (*string)(nil)} {
		args := []any{v, 1}
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Exec(args...); err != nil {
			t.Fatal(err)
		}
		for _, c := range d.sent()[len(d.sent())-2:] {
			if got, _ := c.args[0].Value.(string); len(got) != 36 || got == "00000000-0000-0000-0000-000000000000" {
				t.Errorf("bound %#v: sent %#v, want a key", v, c.args[0].Value)
			}
		}
	}
	if _, err := db.Exec(query, key, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec(key, 1); err != nil {
		t.Fatal(err)
	}
	for _, c := range d.sent()[len(d.sent())-2:] {
		if c.args[0].Value != key {
			t.Errorf("the caller's key became %v", c.args[0].Value)
		}
	}
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Stats().Tables["t"]; got.Filled != 12 || got.Kept != 2 || got.Keys != 12 {
		t.Errorf("counted %+v, want 12 filled and 2 kept", got)
	}
}

// TestArgumentsUnwritten: the slice of arguments that the caller passed on a
// driver connection is not written to.
func TestArgumentsUnwritten(t *testing.T) {
	db := open(t, &fakeDriver{strength: contexts}, config("sqlite"))
	args := make([]driver.NamedValue, 2, 8)
	args[0] = driver.NamedValue{Ordinal: 1, Value: nil}
	args[1] = driver.NamedValue{Ordinal: 2, Value: "x"}
	behind := args[:3:3]
	behind[2] = driver.NamedValue{Ordinal: 9, Value: "mine"}
	raw(t, db, func(dc rawConn) {
		for _, query := range []string{"INSERT INTO t (id, a) VALUES (?, ?)", insert} {
			if _, err := dc.ExecContext(context.Background(), query, args); err != nil {
				t.Fatal(err)
			}
		}
	})
	if args[0].Value != nil || args[0].Ordinal != 1 || behind[2].Value != "mine" {
		t.Errorf("the caller's arguments are now %v", behind)
	}
}
