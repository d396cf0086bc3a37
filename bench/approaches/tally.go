package approaches

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ngrok/sqlmw"
)

// End is the reason for which an engine has ended a statement or transaction.
type End int

// The reasons that are counted. All except Duplicate are caused by concurrent transactions,
// and the transaction may succeed if it is repeated.
const (
	Deadlock End = iota
	LockTimeout
	Serialization
	Duplicate
	ends // not a reason, but the number of reasons
)

// endCodes are the errors of MariaDB by number (Knowledge Base, "MariaDB Error
// Codes") and of PostgreSQL by SQLSTATE (documentation, appendix A).
var endCodes = map[string]End{
	"1213": Deadlock, "40P01": Deadlock,
	"1205": LockTimeout, "55P03": LockTimeout,
	"1020": Serialization, "40001": Serialization,
	"1062": Duplicate, "23505": Duplicate,
}

// endOf returns the reason that an error of a driver reports; false if the error reports
// none of these reasons.
func endOf(err error) (End, bool) {
	var code string
	var inMariaDB *mysql.MySQLError
	var inPostgreSQL *pgconn.PgError
	switch {
	case errors.As(err, &inMariaDB):
		code = strconv.Itoa(int(inMariaDB.Number))
	case errors.As(err, &inPostgreSQL):
		code = inPostgreSQL.Code
	}
	end, ok := endCodes[code]
	return end, ok
}

// Tally is how often an engine has reported each reason.
type Tally [ends]int64

// String lists the counts in the order in which the reasons are declared.
func (t Tally) String() string {
	return fmt.Sprintf("%d/%d/%d/%d", t[Deadlock], t[LockTimeout], t[Serialization], t[Duplicate])
}

// counter counts the errors that an engine returns on the connections of a driver,
// whichever code uses these. It is safe for concurrent use.
type counter struct {
	sqlmw.NullInterceptor
	seen [ends]atomic.Int64
}

// tally returns what was counted so far.
func (c *counter) tally() (t Tally) {
	for i := range t {
		t[i] = c.seen[i].Load()
	}
	return t
}

// since returns what was counted after t was returned.
func (c *counter) since(t Tally) Tally {
	now := c.tally()
	for i := range now {
		now[i] -= t[i]
	}
	return now
}

func (c *counter) note(err error) error {
	if err != nil {
		if end, ok := endOf(err); ok {
			c.seen[end].Add(1)
		}
	}
	return err
}

// around returns a connector whose connections are counted, and whose Driver is the
// original driver, since keyfill recognizes an engine by its driver.
func (c *counter) around(parent driver.Connector) (driver.Connector, error) {
	wrapped := sqlmw.Driver(connectorDriver{parent}, c)
	counted, err := wrapped.(driver.DriverContext).OpenConnector("")
	if err != nil {
		return nil, err
	}
	return asDriver{counted, parent.Driver()}, nil
}

func (c *counter) ConnBeginTx(ctx context.Context, conn driver.ConnBeginTx, opts driver.TxOptions) (context.Context, driver.Tx, error) {
	tx, err := conn.BeginTx(ctx, opts)
	return ctx, tx, c.note(err)
}

func (c *counter) ConnPrepareContext(ctx context.Context, conn driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	stmt, err := conn.PrepareContext(ctx, query)
	return ctx, stmt, c.note(err)
}

func (c *counter) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := conn.ExecContext(ctx, query, args)
	return result, c.note(err)
}

func (c *counter) ConnQueryContext(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	rows, err := conn.QueryContext(ctx, query, args)
	return ctx, rows, c.note(err)
}

func (c *counter) StmtExecContext(ctx context.Context, stmt driver.StmtExecContext, _ string, args []driver.NamedValue) (driver.Result, error) {
	result, err := stmt.ExecContext(ctx, args)
	return result, c.note(err)
}

func (c *counter) StmtQueryContext(ctx context.Context, stmt driver.StmtQueryContext, _ string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	rows, err := stmt.QueryContext(ctx, args)
	return ctx, rows, c.note(err)
}

func (c *counter) RowsNext(_ context.Context, rows driver.Rows, dest []driver.Value) error {
	return c.note(rows.Next(dest))
}

func (c *counter) TxCommit(_ context.Context, tx driver.Tx) error { return c.note(tx.Commit()) }

// connectorDriver is a driver that opens one connector. It is needed because sqlmw wraps
// drivers, not connectors.
type connectorDriver struct{ connector driver.Connector }

func (d connectorDriver) OpenConnector(string) (driver.Connector, error) { return d.connector, nil }

func (d connectorDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("approaches: opened without a connector")
}

// asDriver is a connector whose method Driver returns the field driver.
type asDriver struct {
	driver.Connector
	driver driver.Driver
}

func (c asDriver) Driver() driver.Driver { return c.driver }
