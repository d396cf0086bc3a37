package keyfill_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/rewrite"
)

// TestUnwrap: sql.Conn.Raw shows a wrapper; Unwrap gives the driver's own.
//
//deviation:wrapper | `sql.Conn.Raw` shows a wrapper. | all | `dc.(*stdlib.Conn)` | `keyfill.Unwrap(dc)`
func TestUnwrap(t *testing.T) {
	db := open(t, &fakeDriver{strength: checkers}, config("sqlite"))
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Raw(func(dc any) error {
		if _, ok := keyfill.Unwrap(dc).(*checkerConn); !ok {
			t.Errorf("Unwrap gave %T", keyfill.Unwrap(dc))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	foreign := &bareConn{}
	if got := keyfill.Unwrap(foreign); got != any(foreign) {
		t.Errorf("a connection that is not ours came back as %T", got)
	}
}

// TestRawExec: calls without a context reach the driver past the interceptor.
func TestRawExec(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	db := open(t, d, config("sqlite"))
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(dc any) error {
		if _, err := dc.(driver.Execer).Exec(insert, []driver.Value{int64(1), "x"}); err != nil {
			return err
		}
		if _, err := dc.(driver.Queryer).Query(insert, []driver.Value{int64(1), "x"}); err != nil {
			return err
		}
		s, err := dc.(driver.Conn).Prepare(insert)
		if err != nil {
			return err
		}
		if _, err := s.Exec([]driver.Value{int64(1), "x"}); err != nil {
			return err
		}
		_, err = dc.(driver.Execer).Exec("INSERT INTO t (a) SELECT b FROM u", nil)
		if !errors.Is(err, rewrite.ErrSelect) {
			t.Errorf("an INSERT that cannot be filled: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.sent()) != 3 {
		t.Fatalf("%d executions, want 3", len(d.sent()))
	}
	for _, s := range d.sent() {
		if s.query != inserted || len(s.args) != 3 {
			t.Errorf("sent %q with %d arguments", s.query, len(s.args))
		}
	}
}
