package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestColumnConverter: sqlmw hides a statement's ColumnConverter; ours is asked
// with the index at which the caller's argument travels.
func TestColumnConverter(t *testing.T) {
	d := &fakeDriver{strength: contexts, converts: true}
	db := open(t, d, config("sqlite"))
	s, err := db.Prepare("INSERT INTO t (a) VALUES (?), (?)")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Exec(1, 2); err != nil {
		t.Fatal(err)
	}
	var indexes []int
	for _, c := range d.took("convert") {
		indexes = append(indexes, c.index)
	}
	if len(indexes) != 2 || indexes[0] != 0 || indexes[1] != 2 {
		t.Errorf("converters were asked for %v, want [0 2]", indexes)
	}
	if p, err := db.Prepare("UPDATE t SET a = ?"); err != nil {
		t.Error(err)
	} else if _, err := p.Exec(7); err != nil || len(d.took("convert")) != 3 {
		t.Errorf("an untouched statement lost its converter: %v", err)
	}
}

// TestConnChecks: a statement without a checker of its own must fall back to
// its connection's, or prepared lists and uint64 stop working.
func TestConnChecks(t *testing.T) {
	d := &fakeDriver{strength: checkers}
	d.check = func(nv *driver.NamedValue) error {
		if list, ok := nv.Value.([]string); ok {
			nv.Value = strings.Join(list, ",")
		}
		return nil
	}
	db := open(t, d, config("sqlite"))
	s, err := db.Prepare(insert)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Exec([]string{"a", "b"}, uint64(1)<<63); err != nil {
		t.Fatal(err)
	}
	args := d.sent()[0].args
	if args[0].Value != "a,b" || args[1].Value != uint64(1)<<63 {
		t.Errorf("sent %v", args)
	}
}

// checkingDriver prepares every text, and its statements check their arguments, as
// godror's do.
type checkingDriver struct{ fakeConnector }

func (c *checkingDriver) Connect(context.Context) (driver.Conn, error) {
	return &checkingConn{bareConn{c.d}}, nil
}

type checkingConn struct{ bareConn }

func (c *checkingConn) Prepare(query string) (driver.Stmt, error) {
	s, err := c.bareConn.Prepare(query)
	return &checkingStmt{s}, err
}

type checkingStmt struct{ driver.Stmt }

func (s *checkingStmt) CheckNamedValue(nv *driver.NamedValue) error {
	list, ok := nv.Value.([]string)
	if !ok {
		return driver.ErrSkip
	}
	nv.Value = strings.Join(list, ",")
	return nil
}

// TestStatementChecks: where a driver prepares every text, what its statement takes is
// taken without a Prepare of the program, at the first text and at later ones.
func TestStatementChecks(t *testing.T) {
	for _, query := range []string{"UPDATE t SET a = ?, b = ?", "INSERT INTO other (a, b) VALUES (?, ?)", insert} {
		d := &fakeDriver{strength: bare}
		db, err := keyfill.OpenDB(&checkingDriver{fakeConnector{d}}, keyfill.Options{Policy: config("sqlite")})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for range 2 {
			mustExec(t, db, query, []string{"a", "b"}, 1)
		}
		rows, err := db.Query(query, []string{"a", "b"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
		if _, err := db.Exec(query, struct{}{}, 1); err == nil {
			t.Errorf("%s: a value was sent that nobody takes", query)
		}
		sent := d.sent()
		if len(sent) != 3 {
			t.Errorf("%s: sent %d, want 3", query, len(sent))
		}
		for _, c := range sent {
			if c.args[0].Value != "a,b" || c.args[1].Value != int64(1) {
				t.Errorf("%s: sent %v", query, c.args)
			}
		}
	}
}

// counted is an argument that counts how often it is asked for its value.
type counted struct{ asked *int }

func (c counted) Value() (driver.Value, error) {
	*c.asked++
	return int64(7), nil
}

// TestValuedTwice: with a driver whose connections execute nothing, an argument is asked
// for its value for the connection and for the statement.
//
//deviation:wrapper | If a driver's connections have no Exec or Query, keyfill checks the arguments twice, once by the connection and once by the statement. | all | SQL Server; a `driver.Valuer` is called twice | –
func TestValuedTwice(t *testing.T) {
	d := &fakeDriver{strength: bare}
	plain := sql.OpenDB(&fakeConnector{d})
	defer plain.Close()
	for _, c := range []struct {
		db   *sql.DB
		want int
	}{{plain, 1}, {open(t, d, config("sqlite")), 2}} {
		asked := 0
		mustExec(t, c.db, insert, counted{&asked}, 1)
		if asked != c.want {
			t.Errorf("the argument was asked for its value %d times, want %d", asked, c.want)
		}
	}
}

// TestPreparedIsNotUnfilled: "unsupported: unfilled" lets an INSERT with arguments that do not
// fit go out as it came, but not one that was prepared with its key.
//
//deviation:filled-inserts | With `unsupported: unfilled`, a prepared INSERT is still an error if its arguments do not fit, since keyfill learns them only when it is executed. | drivers that do not count arguments | a list as an argument | –
func TestPreparedIsNotUnfilled(t *testing.T) {
	d := &fakeDriver{strength: contexts, numInput: func(string) int { return -1 }}
	cfg := config("sqlite")
	cfg.Unsupported = policy.Unfilled
	db := open(t, d, cfg)
	s, err := db.Prepare(insert)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Exec(1); !errors.Is(err, rewrite.ErrArguments) || len(d.sent()) != 0 {
		t.Errorf("prepared: %v, sent %v, want ErrArguments and nothing sent", err, d.sent())
	}
	mustExec(t, db, insert, 1)
	if sent := d.sent(); len(sent) != 1 || sent[0].query != insert {
		t.Errorf("direct: sent %v, want the INSERT as it came", sent)
	}
}
