package harness

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// SQLiteDatabase is a way to keep and to lock a database of SQLite.
type SQLiteDatabase struct {
	Name   string
	Path   string // the path in the DSN; empty means a file of the test's own
	Params []string
	Conns  int // how many connections the tests use
}

// Patience makes a connection of SQLite wait for locks.
const Patience = "_pragma=busy_timeout(30000)"

// WalFile is a file with a write-ahead log, as most applications have it.
var WalFile = SQLiteDatabase{"wal", "", []string{Patience, "_pragma=journal_mode(WAL)", "_pragma=synchronous(OFF)"}, 4}

// OneConn returns the database with a pool of one connection.
func (d SQLiteDatabase) OneConn() SQLiteDatabase {
	d.Name, d.Conns = d.Name+", one connection", 1
	return d
}

// Immediate returns the database whose transactions lock it when they begin.
func (d SQLiteDatabase) Immediate() SQLiteDatabase {
	d.Name, d.Params = d.Name+", immediate", append(slices.Clone(d.Params), "_txlock=immediate")
	return d
}

// Scratch makes an empty database. Its Raw stays open until the end of the test, since a
// database in a shared cache exists only while a connection is open.
func (d SQLiteDatabase) Scratch(t *testing.T) *Scratch {
	t.Helper()
	dsn := d.Path
	switch {
	case dsn == "":
		dsn = "file:" + filepath.Join(t.TempDir(), "test.db") + "?" + strings.Join(d.Params, "&")
	case d.Params != nil:
		dsn = fmt.Sprintf(dsn, strings.NewReplacer("/", "_", " ", "_", ",", "_").Replace(t.Name())) + "&" + strings.Join(d.Params, "&")
	}
	s := &Scratch{Engine: SQLiteFile, Connector: ConnectorOf(t, "sqlite", dsn)}
	if s.Memory = d.Path == ":memory:"; s.Memory {
		s.Connector = &sharedConnector{Connector: s.Connector}
	}
	s.Raw = sql.OpenDB(s.Connector)
	s.Raw.SetMaxOpenConns(d.Conns)
	t.Cleanup(func() { s.Raw.Close() })
	if err := s.Raw.Ping(); err != nil {
		t.Fatal(err)
	}
	return s
}
