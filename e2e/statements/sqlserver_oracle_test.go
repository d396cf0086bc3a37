package statements_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"net"
	"reflect"
	"sync"
	"testing"

	go_ora "github.com/sijms/go-ora/v2"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// hangingUp returns the address of a server that ends every connection.
func hangingUp(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr()
}

// TestOracleBinds asks go-ora what it makes of our keys: 16 bytes go out as they are. It
// would bind them as RAW; without a login its limit of a RAW is 0 bytes and it takes LONG
// RAW.
func TestOracleBinds(t *testing.T) {
	t.Parallel()
	_, m := harness.OpenConnector(t, harness.ConnectorOf(t, "oracle", harness.RefusingDSN(t, "oracle")), harness.FillID("people", policy.Table{}))
	keys, err := m.Keys(context.Background(), "people", 1)
	if err != nil {
		t.Fatal(err)
	}
	raw, ok := keys[0].([]byte)
	if !ok || len(raw) != 16 {
		t.Fatalf("the key is %v, a %T: want 16 bytes", keys[0], keys[0])
	}
	conn := &go_ora.Connection{State: go_ora.Opened}
	p, err := go_ora.NewStmt(`INSERT INTO people (name, "ID") VALUES (:1, :2)`, conn).NewParam("", raw, 0, go_ora.Input)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p.BValue, raw) || p.DataType != go_ora.RAW && p.DataType != go_ora.LongRaw {
		t.Errorf("bound as %v % x, want RAW % x", p.DataType, p.BValue, raw)
	}
}

// TestOracleShape notes what the wrapper relies on: a connection that executes
// directly and takes values of every type.
func TestOracleShape(t *testing.T) {
	t.Parallel()
	conn := reflect.TypeFor[*go_ora.Connection]()
	for _, i := range []reflect.Type{reflect.TypeFor[driver.ExecerContext](), reflect.TypeFor[driver.QueryerContext](),
		reflect.TypeFor[driver.ConnPrepareContext](), reflect.TypeFor[driver.NamedValueChecker]()} {
		if !conn.Implements(i) {
			t.Errorf("%v is no %v any more", conn, i)
		}
	}
}
