package e2e_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/policy"
)

// sqliteDatabase is a way to keep and to lock a database of SQLite.
type sqliteDatabase struct {
	name   string
	path   string // of the DSN; "" is a file of the test's own
	params []string
	conns  int // how many connections the tests use
}

const patience = "_pragma=busy_timeout(30000)"

var (
	walFile     = sqliteDatabase{"wal", "", []string{patience, "_pragma=journal_mode(WAL)", "_pragma=synchronous(OFF)"}, 4}
	journalFile = sqliteDatabase{"journal", "", []string{patience, "_pragma=journal_mode(DELETE)", "_pragma=synchronous(OFF)"}, 4}

	// sqliteDatabases with the transactions of BeginTx being DEFERRED, as the
	// driver begins them, and IMMEDIATE.
	sqliteDatabases = []sqliteDatabase{
		{"memory", ":memory:", nil, 1},
		{"shared cache", "file:%s?mode=memory&cache=shared", []string{patience}, 4},
		walFile, walFile.oneConn(), walFile.immediate(),
		journalFile, journalFile.oneConn(), journalFile.immediate(),
	}
)

func (d sqliteDatabase) oneConn() sqliteDatabase {
	d.name, d.conns = d.name+", one connection", 1
	return d
}

func (d sqliteDatabase) immediate() sqliteDatabase {
	d.name, d.params = d.name+", immediate", append(slices.Clone(d.params), "_txlock=immediate")
	return d
}

// scratch makes an empty database. Its raw side stays open, so that one in a
// shared cache lives as long as the test.
func (d sqliteDatabase) scratch(t *testing.T) *scratch {
	t.Helper()
	dsn := d.path
	switch {
	case dsn == "":
		dsn = "file:" + filepath.Join(t.TempDir(), "test.db") + "?" + strings.Join(d.params, "&")
	case d.params != nil:
		dsn = fmt.Sprintf(dsn, strings.NewReplacer("/", "_", " ", "_", ",", "_").Replace(t.Name())) + "&" + strings.Join(d.params, "&")
	}
	s := &scratch{engine: sqliteFile, connector: connectorOf(t, "sqlite", dsn)}
	if s.memory = d.path == ":memory:"; s.memory {
		s.connector = &sharedConnector{Connector: s.connector}
	}
	s.raw = sql.OpenDB(s.connector)
	s.raw.SetMaxOpenConns(d.conns)
	t.Cleanup(func() { s.raw.Close() })
	if err := s.raw.Ping(); err != nil {
		t.Fatal(err)
	}
	return s
}

// eachSQLite runs a test for databases of SQLite.
func eachSQLite(t *testing.T, databases []sqliteDatabase, f func(t *testing.T, d sqliteDatabase, s *scratch)) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			f(t, d, d.scratch(t))
		})
	}
}

// blocks is the policy for a table whose id comes from a sequence with a fixed
// block.
func blocks(table string, block int64) *policy.Config {
	return fillID(table, policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: block}})
}

// next returns what the row of a state says.
func (s *scratch) next(t *testing.T, state string) int {
	t.Helper()
	return count(t, s.raw, "SELECT next_value FROM keyfill_sequences WHERE name = '"+state+"'")
}

// execer is a *sql.DB, *sql.Tx or *sql.Conn.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// must executes statements.
func must(t *testing.T, x execer, queries ...string) {
	t.Helper()
	for _, q := range queries {
		if _, err := x.ExecContext(context.Background(), q); err != nil {
			t.Fatalf("%.200s: %v", q, err)
		}
	}
}

// connOf returns a connection of its own.
func connOf(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
