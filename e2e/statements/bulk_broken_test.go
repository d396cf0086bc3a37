package statements_test

import (
	"context"
	"database/sql"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// cutting opens connections of lib/pq that can be cut.
type cutting struct {
	mu   sync.Mutex
	open []net.Conn
}

func (c *cutting) Dial(network, address string) (net.Conn, error) {
	return c.DialTimeout(network, address, harness.Limit)
}

func (c *cutting) DialTimeout(network, address string, limit time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, limit)
	if err == nil {
		c.mu.Lock()
		c.open = append(c.open, conn)
		c.mu.Unlock()
	}
	return conn, err
}

// cut closes all connections under the driver's hands.
func (c *cutting) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
}

// TestCopyBroken: after a load whose connection breaks it is not known what is stored,
// and the load is counted and traced as the connection's failure, not as a load that the
// program has left.
func TestCopyBroken(t *testing.T) {
	t.Parallel()
	dsn := harness.PQDefault.DSN(t)
	raw := sql.OpenDB(harness.ConnectorOf(t, harness.PQDefault.Driver, dsn))
	defer raw.Close()
	harness.Exec(t, raw, "CREATE TABLE people (name text, id uuid NOT NULL PRIMARY KEY, n int)")
	parent, err := pq.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	network := new(cutting)
	parent.Dialer(network)
	ours, err := keyfill.WrapConnector(parent, keyfill.Options{Policy: harness.FillID("people", policy.Table{})})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(ours)
	defer db.Close()
	var told []keyfill.Event
	ctx := keyfill.WithTrace(context.Background(), func(e keyfill.Event) { told = append(told, e) })
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	stmt, err := tx.PrepareContext(ctx, pq.CopyIn("people", "name", "n"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := stmt.ExecContext(ctx, "a", i); err != nil {
			t.Fatal(err)
		}
	}
	network.cut()
	if _, err := stmt.ExecContext(ctx); err == nil {
		t.Error("a load without a connection is ended")
	}
	_ = stmt.Close() // lib/pq may report the connection once more

	st := ours.Mount().Stats().Tables["people"]
	if st.Filled != 3 || st.Unknown != 3 || st.UnknownBy[keyfill.CauseConnection] != 3 {
		t.Errorf("counted %+v, want 3 rows that the connection has left unknown", st)
	}
	if len(told) != 1 || told[0].Way != "bulk" || !told[0].Failed || told[0].Cause != keyfill.CauseConnection || told[0].Outcome != keyfill.Unknown {
		t.Errorf("told of %+v, want one load that has failed", told)
	}
	if n := harness.Count(t, raw, "SELECT COUNT(*) FROM people"); n != 0 {
		t.Errorf("%d rows are stored of a load that was cut", n)
	}
}
