package keyfillpgx

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// Conn is a connection of pgx whose INSERTs get their keys. It has the methods of a
// *pgx.Conn that send statements. Like a *pgx.Conn, a Conn is used by one goroutine at a
// time. [WrapConn] makes one for a single connection; a [Pool] makes one for each of its
// connections.
type Conn struct {
	native    *native
	keyfill   filler // around native
	connector *keyfill.Connector
	prepared  map[string]prepared // the prepared statements, by their names
}

// prepared is a statement that the application has prepared by a name.
type prepared struct {
	text      string
	described *pgconn.StatementDescription // as pgx returned it: another one if the server has prepared the text anew
}

// filler is keyfill's connection: a *fill.Conn, as package keyfill opens one.
type filler interface {
	driver.Pinger
	driver.SessionResetter
	driver.Validator

	Close() error
	BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error)

	Passes(query string) (concern words.Concern, pass, counts bool)
	ExecPassed(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error)
	QueryPassed(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error)
	CountPassed(ctx context.Context, err error)
	ExecText(ctx context.Context, query string, args []driver.NamedValue, concern words.Concern) (driver.Result, error)
	QueryText(ctx context.Context, query string, args []driver.NamedValue, concern words.Concern) (driver.Rows, error)
	PrepareText(ctx context.Context, query string, concern words.Concern) (driver.Stmt, error)
	NewBatch(queries []string) *fill.Batch
}

var _ filler = (*fill.Conn)(nil)

// errVersions means that package keyfill does not behave as this module expects, since
// package keyfill and this module are of different versions.
var errVersions = anchor.Last("keyfillpgx", "keyfillpgx: this module and github.com/keyfill/keyfill are of different versions: take one version of both")

// WrapConn returns a connection that fills keys around a connection of pgx. Its sources of
// keys are not shared with other connections. It asks the server for the facts that the
// policy needs. Keys of sources that count in a database are reserved on connections that
// are opened by conn's config.
//
// It fails with the errors of the policy, and with the errors of pgx.
func WrapConn(ctx context.Context, conn *pgx.Conn, o keyfill.Options) (*Conn, error) {
	connector, err := keyfill.WrapConnector(newConnector(conn.Config()), o)
	if err != nil {
		return nil, err
	}
	c, err := newConn(ctx, connector, conn)
	if err != nil {
		return nil, cmp.Or(err, connector.Close())
	}
	return c, nil
}

// newConn returns a connection around a connection of pgx.
func newConn(ctx context.Context, connector *keyfill.Connector, conn *pgx.Conn) (*Conn, error) {
	n := &native{conn: conn, mode: conn.Config().DefaultQueryExecMode}
	opened, err := connector.Connect(context.WithValue(ctx, givenKey{}, &given{n}))
	if err != nil {
		return nil, err
	}
	filled, ok := opened.(filler)
	if !ok {
		return nil, errVersions
	}
	return &Conn{native: n, keyfill: filled, connector: connector, prepared: map[string]prepared{}}, nil
}

// Mount returns keyfill's handle on the connection's database, with its statistics, its
// mode, its keys and its check.
func (c *Conn) Mount() *keyfill.Mount { return c.connector.Mount() }

// Conn returns the connection of pgx. keyfill neither fills nor sees statements on it: see
// the caveats of this package.
func (c *Conn) Conn() *pgx.Conn {
	keyfill.Unwrap(c.keyfill)
	return c.native.conn
}

// Close closes the connection of pgx, and gives back to the store what [Pool.Close] gives
// back. Call it for a Conn of [WrapConn]; release a [PoolConn] instead.
func (c *Conn) Close(ctx context.Context) error {
	return cmp.Or(c.native.conn.Close(ctx), c.keyfill.Close(), c.connector.Close())
}

// Ping pings the server.
func (c *Conn) Ping(ctx context.Context) error { return c.native.conn.Ping(ctx) }

// Exec is [pgx.Conn.Exec]. sql may be the name of a statement of [Conn.Prepare], and a
// QueryRewriter among the arguments, such as pgx.NamedArgs, rewrites the text before
// keyfill does. An INSERT that cannot be filled is an error before anything is sent: a
// *keyfill.Error.
func (c *Conn) Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error) {
	n := c.native
	k, err := c.read(ctx, sql, arguments, false)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	n.call, n.tag = k, pgconn.CommandTag{}
	defer n.forget()
	concern, passes, counts := c.keyfill.Passes(k.text)
	if passes {
		_, err := c.keyfill.ExecPassed(ctx, k.text, bound(k.args))
		if counts {
			c.keyfill.CountPassed(ctx, err)
		}
		c.tagged(n.tag)
		return n.tag, err
	}
	_, err = c.keyfill.ExecText(ctx, k.text, bound(k.args), concern)
	if err == driver.ErrSkip {
		err = c.unkept(ctx, k, concern, func(s driver.Stmt) error {
			_, err := s.(driver.StmtExecContext).ExecContext(ctx, bound(k.args))
			return err
		})
	}
	c.tagged(n.tag)
	return n.tag, err
}

// unkept sends a text for which pgx should keep no statement, since the text contains its
// keys.
func (c *Conn) unkept(ctx context.Context, k call, concern words.Concern, send func(driver.Stmt) error) error {
	stmt, err := c.keyfill.PrepareText(ctx, k.text, concern)
	if err != nil {
		return err
	}
	return cmp.Or(send(stmt), stmt.Close()) // the error of pgx, if there is one, is returned unchanged
}

// Query is [pgx.Conn.Query], and fills INSERTs as [Conn.Exec] does.
func (c *Conn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	n := c.native
	k, err := c.read(ctx, sql, args, true)
	if err != nil {
		return errRows{err}, err
	}
	n.call, n.rows = k, nil
	defer n.forget()
	concern, passes, counts := c.keyfill.Passes(k.text)
	if n.call.passes = passes; passes {
		_, err := c.keyfill.QueryPassed(ctx, k.text, bound(k.args))
		if counts {
			c.keyfill.CountPassed(ctx, err)
		}
		if n.rows == nil {
			return errRows{err}, err
		}
		return n.rows.rows, err
	}
	rows, err := c.keyfill.QueryText(ctx, k.text, bound(k.args), concern)
	if err == driver.ErrSkip {
		err = c.unkept(ctx, k, concern, func(s driver.Stmt) (err error) {
			rows, err = s.(driver.StmtQueryContext).QueryContext(ctx, bound(k.args))
			return err
		})
	}
	switch a := n.rows; {
	case err == nil:
		return rowsOf(a, rows), nil
	case a != nil && a.rows.Err() == err:
		return a.rows, a.early // return the rows and the error as pgx returned them
	default:
		return errRows{err}, err
	}
}

// QueryRow is [pgx.Conn.QueryRow], and fills INSERTs as [Conn.Exec] does.
func (c *Conn) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := c.Query(ctx, sql, args...) // Scan returns the error of Query
	return oneRow{rows}
}

// Prepare is [pgx.Conn.Prepare]. An INSERT that is executed by the name gets its keys.
func (c *Conn) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	described, err := c.native.conn.Prepare(ctx, name, sql)
	if err == nil && name != "" {
		if c.prepared[name].described != described {
			c.native.doubtFilled(name)
		}
		c.prepared[name] = prepared{sql, described}
	}
	return described, err
}

// Deallocate is [pgx.Conn.Deallocate].
func (c *Conn) Deallocate(ctx context.Context, name string) error {
	err := c.native.conn.Deallocate(ctx, name)
	if err != nil {
		return err
	}
	delete(c.prepared, name)
	for _, text := range slices.Clone(c.native.filled[name]) {
		err = cmp.Or(err, c.native.deallocateFilled(ctx, name, text))
	}
	return err
}

// tagged forgets all prepared statements if the server's command tag says that it has
// deallocated all of them.
func (c *Conn) tagged(tag pgconn.CommandTag) {
	if len(c.prepared) == 0 {
		return
	}
	switch tag.String() {
	case "DEALLOCATE ALL", "DISCARD ALL":
		clear(c.prepared)
	}
}

// DeallocateAll is [pgx.Conn.DeallocateAll].
func (c *Conn) DeallocateAll(ctx context.Context) error {
	clear(c.prepared) // pgx forgets the names first, even if the server then returns an error
	clear(c.native.filled)
	clear(c.native.doubted)
	return c.native.conn.DeallocateAll(ctx)
}

// Begin is [pgx.Conn.Begin]. Begin on the returned transaction sets a savepoint.
func (c *Conn) Begin(ctx context.Context) (pgx.Tx, error) {
	return c.BeginTx(ctx, pgx.TxOptions{})
}

// BeginTx is [pgx.Conn.BeginTx].
func (c *Conn) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	t, err := c.beginTx(ctx, o, func() {})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// forget removes the application's call and rows after they were handled.
func (n *native) forget() { n.call, n.rows = call{}, nil }
