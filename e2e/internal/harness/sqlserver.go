package harness

import (
	"database/sql"
	"fmt"
	"net"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/faketds"
	"github.com/keyfill/keyfill/policy"
)

// RefusingDSN returns the DSN of a port on which no process listens.
func RefusingDSN(t *testing.T, driver string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return ServerDSN(driver, l.Addr())
}

// ServerDSN returns the DSN of a server for go-mssqldb or go-ora.
func ServerDSN(driver string, address net.Addr) string {
	if driver == "oracle" {
		return fmt.Sprintf("oracle://user:word@%s/service", address)
	}
	return fmt.Sprintf("sqlserver://user:word@%s?encrypt=disable&dial+timeout=5", address)
}

// SQLServer opens a database with the real driver, on a fake server that speaks its
// protocol.
func SQLServer(t *testing.T, cfg *policy.Config) (*sql.DB, *faketds.Server) {
	t.Helper()
	return SQLServerWith(t, keyfill.Options{Policy: cfg})
}

// SQLServerWith does what SQLServer does, with options besides the policy.
func SQLServerWith(t *testing.T, o keyfill.Options) (*sql.DB, *faketds.Server) {
	t.Helper()
	s := faketds.NewServer(t)
	db, _ := OpenConnector(t, ConnectorOf(t, "sqlserver", ServerDSN("sqlserver", s.Listener.Addr())), o)
	return db, s
}

// StoredBytes returns the 16 bytes that SQL Server stores for the text of a
// uniqueidentifier, by go-mssqldb.
func StoredBytes(t *testing.T, text string) []byte {
	t.Helper()
	var u mssql.UniqueIdentifier
	if err := u.Scan(text); err != nil {
		t.Fatal(err)
	}
	v, err := u.Value()
	if err != nil {
		t.Fatal(err)
	}
	return v.([]byte)
}
