package keys_test

import (
	"context"
	"database/sql/driver"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/keys/table"
)

// empty is a connector of a server without tables, behind a pooler that has no connection
// left for the question for the names of tables: that one is answered when goes is closed.
// The driver does not notice that the caller has gone, as lib/pq does not.
type empty struct{ goes chan struct{} }

func (e empty) Connect(context.Context) (driver.Conn, error) { return e, nil }
func (empty) Driver() driver.Driver                          { return nil }
func (empty) Prepare(string) (driver.Stmt, error)            { return nil, io.ErrUnexpectedEOF }
func (empty) Begin() (driver.Tx, error)                      { return nil, io.ErrUnexpectedEOF }
func (empty) Close() error                                   { return nil }

func (empty) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, nil
}

func (e empty) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if strings.HasPrefix(query, "SELECT CAST(table_name AS CHAR)") {
		<-e.goes
	}
	return noRows{}, nil
}

// noRows are no rows.
type noRows struct{}

func (noRows) Columns() []string         { return []string{"name"} }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }

// TestMeantWait: an INSERT into a table that is not there does not wait for longer than a
// moment for the names of other tables.
func TestMeantWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := tablesOf(t, numbered)
		server := empty{make(chan struct{})}
		if err := db.OpenStores(db.Config(), server); err != nil {
			t.Fatal(err)
		}
		p, _, _ := planned(t, db, "INSERT INTO orders (a) VALUES (1)", nil)
		time.AfterFunc(time.Hour, func() { close(server.goes) })
		began := time.Now()
		if _, err := db.Facts(t.Context(), nil, table.Of(&p.Inserts[0])); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the names were waited for for %v", took)
		}
		time.Sleep(2 * time.Hour)
		if err := db.CloseStores(); err != nil {
			t.Error(err)
		}
	})
}
