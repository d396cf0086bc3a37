package statements_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// oldConnector makes connections to a server that has no WITH clause and says that it
// is MySQL 5.6.
type oldConnector struct{ driver.Connector }

func (c oldConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &oldConn{conn}, nil
}

type oldConn struct{ driver.Conn }

var errOldSyntax = &mysql.MySQLError{Number: 1064, SQLState: [5]byte{'4', '2', '0', '0', '0'}, Message: "You have an error in your SQL syntax"}

// old returns a text as the old server is sent it, or its error.
func old(query string) (string, error) {
	if strings.Contains(query, "WITH kf") {
		return "", errOldSyntax
	}
	return strings.Replace(query, "SELECT VERSION()", "SELECT '5.6.51-log'", 1), nil
}

func (c *oldConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query, err := old(query)
	if err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *oldConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, err := old(query)
	if err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *oldConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	query, err := old(query)
	if err != nil {
		return nil, err
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c *oldConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c *oldConn) CheckNamedValue(nv *driver.NamedValue) error {
	return c.Conn.(driver.NamedValueChecker).CheckNamedValue(nv)
}

// TestSelectOnOldMySQL: a server that cannot number rows is distinguished from one whose
// syntax error is the application's, though the question for its version is an error
// there.
//
//deviation:insert-select | An `INSERT … SELECT` is refused before MySQL 8.0, MariaDB 10.2 and SQLite 3.38, which cannot number rows, or cannot stop with an error when more rows come than keyfill counted. | MySQL, MariaDB, SQLite | – | –
func TestSelectOnOldMySQL(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	harness.Exec(t, s.Raw, "CREATE TABLE s (a INT)")
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	cfg := harness.FillID("t", policy.Table{InPlace: &source})
	cfg.Dialect = "mysql"
	db, _ := harness.OpenConnector(t, oldConnector{s.Connector}, cfg)
	for _, form := range []string{"direct", "prepared", "transaction"} {
		for query, args := range map[string][]any{
			"INSERT INTO t (a) SELECT a FROM s":             nil,
			"INSERT INTO t (a) SELECT a FROM s WHERE a > ?": {1},
		} {
			if _, err := harness.SendOnce(context.Background(), db, form, query, args); !errors.Is(err, rewrite.ErrOldServer) {
				t.Errorf("%s, %s: %v, want %v", query, form, err, rewrite.ErrOldServer)
			}
		}
	}
}
