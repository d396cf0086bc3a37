//lint:file-ignore SA1019 drivers may have the interfaces of before contexts only, and sql.Conn.Raw reaches ours

package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/rewrite"
)

// sessionConn is one connection of the driver, with what is known of its session.
// It answers for the driver what the layer above would lose: a driver without Exec,
// transaction options, converters of arguments.
//
// What is known of the session comes from the texts that are sent and prepared, and
// from the engine's answers to a few questions. Whoever sends a text that is not one
// of keyfill's own sends it through here.
//
// database/sql never uses a connection from two goroutines at once, so that a
// sessionConn has no lock.
type sessionConn struct {
	transaction
	driverCan
	columns   knownColumns
	settings  knownSettings
	place     knownPlace
	temporary temporaryNames
}

var (
	_ driver.ConnBeginTx        = (*sessionConn)(nil)
	_ driver.ConnPrepareContext = (*sessionConn)(nil)
	_ driver.ExecerContext      = (*sessionConn)(nil)
	_ driver.QueryerContext     = (*sessionConn)(nil)
	_ driver.NamedValueChecker  = (*sessionConn)(nil)
	_ driver.Pinger             = (*sessionConn)(nil)
	_ driver.SessionResetter    = (*sessionConn)(nil)
	_ driver.Validator          = (*sessionConn)(nil)
)

// newSessionConn returns a connection that the driver has just opened.
func newSessionConn(conn driver.Conn, s *server) sessionConn {
	c := sessionConn{transaction: transaction{link: link{conn, s}, begins: 1}, driverCan: abilities(conn)}
	if s.onConnection() {
		c.place = knownPlace{at: s.places.of(""), asked: true} // until something is attached
	}
	return c
}

// Close closes the driver's connection.
func (c *sessionConn) Close() error {
	err := c.conn.Close()
	c.altered.ends()
	return err
}

func (c *sessionConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.sends(query)
	if c.execer != nil {
		res, err := c.execer.ExecContext(ctx, query, args)
		if len(args) > 0 {
			c.skips[byExec].saw(err)
		}
		return res, err
	}
	plain, ok := c.conn.(driver.Execer)
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return plain.Exec(query, values)
}

func (c *sessionConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.sends(query)
	if c.queryer != nil {
		rows, err := c.queryer.QueryContext(ctx, query, args)
		if len(args) > 0 {
			c.skips[byQuery].saw(err)
		}
		return rows, err
	}
	plain, ok := c.conn.(driver.Queryer)
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return plain.Query(query, values)
}

// sends updates what is known of the session before a text is executed.
func (c *sessionConn) sends(query string) {
	d := c.dialect()
	c.columns.sends(d, query)
	c.settings.sends(d, query)
	c.place.sends(d, query)
	if d.Transactions.DDL && c.tx != txOutside {
		c.altered.sends(d, query)
	}
	c.temporary.sends(d, query)
}

// prepares updates what is known of the session before a text is prepared. When the
// statement runs is not seen.
func (c *sessionConn) prepares(query string) {
	d := c.dialect()
	c.columns.prepares(d, query)
	c.settings.prepares(d, query)
	c.place.prepares(d, query)
	c.temporary.sends(d, query)
}

// makes notes the temporary tables that a text may make, before it is sent or prepared.
func (c *sessionConn) makes(query string, what rewrite.Concern) {
	c.temporary.makes(c.dialect(), query, what)
}

func (c *sessionConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.prepares(query)
	stmt, err := c.prepare(ctx, query)
	if err != nil || c.checker != nil {
		return stmt, err
	}
	if !c.converts {
		_, c.converts = stmt.(driver.ColumnConverter)
	}
	if _, checks := stmt.(driver.NamedValueChecker); !checks && c.preparesAll() {
		return convertedStatement{stmt, c}, nil
	}
	return stmt, nil
}

// prepare prepares a text as database/sql does.
func (c *sessionConn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if p, ok := c.conn.(driver.ConnPrepareContext); ok {
		return p.PrepareContext(ctx, query)
	}
	stmt, err := c.conn.Prepare(query)
	if err == nil && ctx.Err() != nil {
		_ = stmt.Close()
		return nil, ctx.Err()
	}
	return stmt, err
}

// CheckNamedValue asks the driver's connection. For a driver that prepares every text
// the statement is asked, with the same arguments, when there is one: it may take what
// nobody else does.
func (c *sessionConn) CheckNamedValue(nv *driver.NamedValue) error {
	if c.checker != nil {
		return c.checker.CheckNamedValue(nv)
	}
	if !c.preparesAll() {
		return c.convert(nv)
	}
	if v, err := driver.DefaultParameterConverter.ConvertValue(nv.Value); err == nil {
		nv.Value = v
	}
	return nil
}

// Ping gives [Unwrap] the driver's connection, and pings it for anybody else.
func (c *sessionConn) Ping(ctx context.Context) error {
	if sink, ok := ctx.Value(unwrapKey{}).(*unwrapSink); ok {
		sink.conn = c.conn
		c.unwrap()
		c.columns = knownColumns{unsure: true} // what runs on it is not seen
		c.settings = knownSettings{unsure: true}
		c.place.asked, c.place.unsure = false, true
		return nil
	}
	if p, ok := c.conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession drops what may no longer hold when the connection is used again.
func (c *sessionConn) ResetSession(ctx context.Context) error {
	c.columns.forget()
	c.settings.asked = c.settings.asked && c.server.Driver.KeepsSession
	c.place.resets(&c.server.Driver)
	c.resets()
	if c.resetter != nil {
		return c.resetter.ResetSession(ctx)
	}
	return nil
}

func (c *sessionConn) IsValid() bool {
	if c.discard {
		return false
	}
	if c.validator != nil {
		return c.validator.IsValid()
	}
	return true
}
