package dbconn_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/dbconn"
)

// fake is a database that answers every query with the same rows.
type fake struct {
	rows [][]driver.Value
	late error // that follows the rows
	err  error // of every statement
	log  []string
}

func (f *fake) note(format string, args ...any) { f.log = append(f.log, fmt.Sprintf(format, args...)) }

func (f *fake) query(query string, args []driver.NamedValue) (driver.Rows, error) {
	f.note("query %s %v", query, args)
	if f.err != nil {
		return nil, f.err
	}
	return &fakeRows{f: f, left: f.rows}, nil
}

func (f *fake) exec(query string, args []driver.NamedValue) (driver.Result, error) {
	f.note("exec %s %v", query, args)
	return driver.RowsAffected(2), f.err
}

type fakeRows struct {
	f      *fake
	left   [][]driver.Value
	buffer [8]byte // used again for each row, as drivers may
}

func (r *fakeRows) Columns() []string { return []string{"a", "b"} }
func (r *fakeRows) Close() error      { r.f.note("close rows"); return nil }
func (r *fakeRows) Next(dest []driver.Value) error {
	if len(r.left) == 0 {
		if r.f.late != nil {
			return r.f.late
		}
		return io.EOF
	}
	for i, v := range r.left[0] {
		if b, ok := v.([]byte); ok {
			v = r.buffer[:copy(r.buffer[:], b)]
		}
		dest[i] = v
	}
	r.left = r.left[1:]
	return nil
}

// bare has nothing that a driver need not have.
type bare struct{ f *fake }

func (c bare) Prepare(query string) (driver.Stmt, error) {
	c.f.note("prepare")
	return bareStmt{c.f, query}, nil
}
func (c bare) Close() error              { return nil }
func (c bare) Begin() (driver.Tx, error) { c.f.note("begin"); return nil, c.f.err }

type bareStmt struct {
	f    *fake
	text string
}

func (s bareStmt) Close() error  { s.f.note("close"); return nil }
func (s bareStmt) NumInput() int { return -1 }
func (s bareStmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.f.exec(s.text, named(args))
}
func (s bareStmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.f.query(s.text, named(args))
}

func named(args []driver.Value) []driver.NamedValue {
	all := make([]driver.NamedValue, len(args))
	for i, v := range args {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return all
}

// old has Exec and Query from before contexts.
type old struct{ bare }

func (c old) Exec(q string, args []driver.Value) (driver.Result, error) {
	return c.f.exec(q, named(args))
}
func (c old) Query(q string, args []driver.Value) (driver.Rows, error) {
	return c.f.query(q, named(args))
}

// full has everything.
type full struct{ bare }

func (c full) ExecContext(_ context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	return c.f.exec(q, args)
}
func (c full) QueryContext(_ context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	return c.f.query(q, args)
}
func (c full) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	c.f.note("begin tx")
	return nil, c.f.err
}

// skip wants every statement to be prepared, and takes booleans only as
// numbers.
type skip struct{ full }

func (c skip) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return nil, driver.ErrSkip
}
func (c skip) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, driver.ErrSkip
}
func (c skip) CheckNamedValue(nv *driver.NamedValue) error {
	nv.Value = fmt.Sprint("checked ", nv.Value)
	return nil
}

var strengths = []struct {
	name          string
	make          func(*fake) driver.Conn
	before, after []string
	arg           string
	begin         string
}{
	{"bare", func(f *fake) driver.Conn { return bare{f} }, []string{"prepare"}, []string{"close"}, "7", "begin"},
	{"old", func(f *fake) driver.Conn { return old{bare{f}} }, nil, nil, "7", "begin"},
	{"full", func(f *fake) driver.Conn { return full{bare{f}} }, nil, nil, "7", "begin tx"},
	{"skip", func(f *fake) driver.Conn { return skip{full{bare{f}}} }, []string{"prepare"}, []string{"close"}, "checked 7", "begin tx"},
}

var errLate = errors.New("late")

// TestQuery: every row is visited, and its bytes are the visitor's own.
func TestQuery(t *testing.T) {
	for _, s := range strengths {
		f := &fake{rows: [][]driver.Value{{int64(1), []byte("one")}, {nil, []byte("two")}}}
		var got [][]any
		err := dbconn.Query(context.Background(), s.make(f), "SELECT", []any{int64(7)}, func(row []any) error {
			got = append(got, row)
			return nil
		})
		if err != nil || fmt.Sprintf("%v %s %v %s", got[0][0], got[0][1], got[1][0], got[1][1]) != "1 one <nil> two" || len(got) != 2 {
			t.Errorf("%s: %v, %v", s.name, got, err)
		}
		want := slices.Concat(s.before, []string{"query SELECT [{ 1 " + s.arg + "}]", "close rows"}, s.after)
		if !slices.Equal(f.log, want) {
			t.Errorf("%s: %q, want %q", s.name, f.log, want)
		}
	}
}

// TestQueryFaults: an error of the statement, of the visitor, and one after
// the rows end it, and everything is closed.
func TestQueryFaults(t *testing.T) {
	for _, s := range strengths {
		for _, c := range []struct {
			fake  fake
			visit error
		}{
			{fake: fake{err: errLate}},
			{fake: fake{rows: [][]driver.Value{{nil, nil}}, late: errLate}},
			{fake: fake{rows: [][]driver.Value{{nil, nil}, {nil, nil}}}, visit: errLate},
		} {
			f, visited := &c.fake, 0
			err := dbconn.Query(context.Background(), s.make(f), "SELECT", nil, func([]any) error { visited++; return c.visit })
			log := strings.Join(f.log, "\n")
			if err != errLate || visited > 1 || strings.Contains(log, "close rows") != (f.err == nil) ||
				strings.Contains(log, "prepare") != strings.HasSuffix(log, "close") {
				t.Errorf("%s: %v, %d rows; %s", s.name, err, visited, log)
			}
		}
	}
}

func TestExec(t *testing.T) {
	for _, s := range strengths {
		f := &fake{}
		res, err := dbconn.Exec(context.Background(), s.make(f), "UPDATE", []any{int64(7)})
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if n, _ := res.RowsAffected(); n != 2 {
			t.Errorf("%s: %d rows", s.name, n)
		}
		want := slices.Concat(s.before, []string{"exec UPDATE [{ 1 " + s.arg + "}]"}, s.after)
		if !slices.Equal(f.log, want) {
			t.Errorf("%s: %q, want %q", s.name, f.log, want)
		}
		f.err = errLate
		if res, err := dbconn.Exec(context.Background(), s.make(f), "UPDATE", nil); res != nil || err != errLate {
			t.Errorf("%s: %v, %v", s.name, res, err)
		}
	}
}

// TestCancelled: drivers without contexts are not asked any more.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range strengths[:2] {
		f := &fake{}
		err := dbconn.Query(ctx, s.make(f), "SELECT", nil, func([]any) error { return nil })
		if !errors.Is(err, context.Canceled) || strings.Contains(strings.Join(f.log, "\n"), "query") {
			t.Errorf("%s: %v; %q", s.name, err, f.log)
		}
	}
}

func TestBegin(t *testing.T) {
	for _, s := range strengths {
		f := &fake{}
		if _, err := dbconn.Begin(context.Background(), s.make(f)); err != nil || !slices.Equal(f.log, []string{s.begin}) {
			t.Errorf("%s: %v; %q, want %s", s.name, err, f.log, s.begin)
		}
	}
}

type connector struct{ conn driver.Conn }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.conn, nil }
func (c connector) Driver() driver.Driver                        { return nil }

// TestQueryPool is TestQuery and TestQueryFaults through database/sql.
func TestQueryPool(t *testing.T) {
	f := &fake{rows: [][]driver.Value{{int64(1), []byte("one")}, {nil, []byte("two")}}}
	db := sql.OpenDB(connector{full{bare{f}}})
	defer db.Close()
	var got [][]any
	keep := func(row []any) error { got = append(got, row); return nil }
	if err := dbconn.QueryPool(context.Background(), db, "SELECT", []any{7}, keep); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%v %s %v %s", got[0][0], got[0][1], got[1][0], got[1][1]) != "1 one <nil> two" || len(got) != 2 {
		t.Errorf("%v", got)
	}
	refuse := func([]any) error { return errLate }
	if err := dbconn.QueryPool(context.Background(), db, "SELECT", nil, refuse); err != errLate {
		t.Errorf("an error of the visitor: %v", err)
	}
	f.late = errLate
	if err := dbconn.QueryPool(context.Background(), db, "SELECT", nil, keep); err != errLate {
		t.Errorf("an error after the rows: %v", err)
	}
	if db.Stats().InUse != 0 {
		t.Error("a connection is still in use")
	}
}
