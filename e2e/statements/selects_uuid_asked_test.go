package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// answering makes connections to a server that says something else of itself, and notes
// its questions.
type answering struct {
	driver.Connector
	question, answer string
	asked            *int
}

func (a answering) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := a.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeringConn{oldConn{conn}, a}, nil
}

type answeringConn struct {
	oldConn
	a answering
}

func (c *answeringConn) text(query string) string {
	if strings.HasPrefix(query, "SELECT ") && strings.Contains(query, c.a.question) {
		*c.a.asked++
		return strings.Replace(query, c.a.question, c.a.answer, 1)
	}
	return query
}

func (c *answeringConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, c.text(query), args)
}

func (c *answeringConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, c.text(query), args)
}

func (c *answeringConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, c.text(query))
}

// openAnswering opens a database over answering with UUIDs for t.
func openAnswering(t *testing.T, s *harness.Scratch, question, answer string, l dialect.Layout) (*sql.DB, *int) {
	t.Helper()
	asked := new(int)
	cfg := harness.FillID("t", policy.Table{Layout: l, InPlace: &policy.Source{Kind: policy.KindUUIDv7}})
	cfg.Dialect = s.Dialect.Name
	db, _ := harness.OpenConnector(t, answering{s.Connector, question, answer, asked}, cfg)
	db.SetMaxOpenConns(1)
	return db, asked
}

// TestSelectUUIDLog: where the server logs statements for replicas, UUIDs for the rows of
// a query are refused. It is asked once a connection.
//
//deviation:insert-select | Each connection is asked once whether the server writes a log of statements. Before that, an INSERT that reads `ROW_COUNT()` is refused. | MySQL, MariaDB | `SELECT @@version, @@log_bin, @@binlog_format` | –
func TestSelectUUIDLog(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	harness.Must(t, s.Raw, "CREATE TABLE t (id CHAR(36) PRIMARY KEY, a INT)", "CREATE TABLE s (a INT)", "INSERT INTO s VALUES (1), (2)")
	for answer, refused := range map[string]bool{
		"1, 'STATEMENT'": true, "1, 'MIXED'": true, "1, 'ROW'": false, "0, 'STATEMENT'": false,
	} {
		db, asked := openAnswering(t, s, "@@log_bin, @@binlog_format", answer, dialect.SequentialAsString)
		for range 3 {
			for _, query := range []string{"INSERT INTO t (a) SELECT a FROM s", "INSERT INTO t (a) SELECT a FROM s ORDER BY a"} {
				_, err := db.Exec(query)
				if refused {
					harness.RefusedFor(t, answer, err, rewrite.ErrStatementLog)
				} else if err != nil {
					t.Errorf("%s: %v", answer, err)
				}
			}
		}
		if want := map[bool]int{true: 6, false: 1}[refused]; *asked != want {
			t.Errorf("%s: asked %d times, want %d", answer, *asked, want)
		}
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 24 {
		t.Errorf("%d rows, want 24", n)
	}
}

// TestSelectUUIDOldSQLite: SQLite has UNHEX() since 3.41.
//
//deviation:insert-select | Keys of 16 bytes for the rows of a query are refused before SQLite 3.41. keyfill asks for the version once. | SQLite | `layout: binary` | –
func TestSelectUUIDOldSQLite(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Must(t, s.Raw, "CREATE TABLE t (id BLOB PRIMARY KEY, a INT)", "CREATE TABLE s (a INT)", "INSERT INTO s VALUES (1), (2)")
	for version, refused := range map[string]bool{"'3.40.1'": true, "'3.41.0'": false} {
		db, asked := openAnswering(t, s, "sqlite_version()", version, dialect.SequentialAsBinary)
		for range 2 {
			_, err := db.Exec("INSERT INTO t (a) SELECT a FROM s")
			if refused {
				harness.RefusedFor(t, version, err, rewrite.ErrOldServer)
			} else if err != nil {
				t.Errorf("%s: %v", version, err)
			}
		}
		if *asked != 1 {
			t.Errorf("%s: asked %d times, want once", version, *asked)
		}
	}
}
