//lint:file-ignore SA1019 drivers may have the interfaces of before contexts only, and sql.Conn.Raw reaches ours

package session

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/rewrite"
)

// Conn is one connection of the driver, with what is known of its session. It has every
// optional interface of a connection: where the driver lacks one, Conn answers as
// database/sql would have gone on without it.
//
// Every text of the application is sent and prepared through a Conn, which updates what
// it knows. keyfill's own questions go to Raw, since they change nothing.
//
// database/sql never uses a connection from two goroutines at once. Therefore a Conn
// has no lock.
type Conn struct {
	transaction
	driverCan
	Columns   knownColumns
	Settings  knownSettings
	Place     knownPlace
	Temporary temporaryNames
}

var (
	_ driver.ConnBeginTx        = (*Conn)(nil)
	_ driver.ConnPrepareContext = (*Conn)(nil)
	_ driver.ExecerContext      = (*Conn)(nil)
	_ driver.QueryerContext     = (*Conn)(nil)
	_ driver.NamedValueChecker  = (*Conn)(nil)
	_ driver.Pinger             = (*Conn)(nil)
	_ driver.SessionResetter    = (*Conn)(nil)
	_ driver.Validator          = (*Conn)(nil)
)

// New returns a connection that the driver has just opened.
func New(conn driver.Conn, s *Server) Conn {
	c := Conn{transaction: transaction{link: link{conn, s}, Begins: 1}, driverCan: abilities(conn)}
	if s.StatesOnConnection() {
		c.Place = knownPlace{At: s.Places.Of(""), Asked: true} // until something is attached
	}
	return c
}

// Close closes the driver's connection.
func (c *Conn) Close() error {
	err := c.Raw.Close()
	c.Altered.ends()
	return err
}

// ExecContext executes a text on the driver's connection.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.sends(query)
	return c.exec(ctx, query, args)
}

// exec executes a text as database/sql does.
func (c *Conn) exec(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.execer != nil {
		res, err := c.execer.ExecContext(ctx, query, args)
		if len(args) > 0 {
			c.Skips[ByExec].saw(err)
		}
		return res, err
	}
	plain, ok := c.Raw.(driver.Execer)
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return plain.Exec(query, values)
}

// QueryContext queries the driver's connection.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.sends(query)
	return c.query(ctx, query, args)
}

// query executes a text that gives rows as database/sql does.
func (c *Conn) query(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.queryer != nil {
		rows, err := c.queryer.QueryContext(ctx, query, args)
		if len(args) > 0 {
			c.Skips[ByQuery].saw(err)
		}
		return rows, err
	}
	plain, ok := c.Raw.(driver.Queryer)
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
func (c *Conn) sends(query string) {
	d := c.dialect()
	c.Columns.sends(d, query)
	c.Settings.sends(d, query)
	c.Place.sends(d, query)
	if d.Transactions.DDL && c.Tx != Outside {
		c.Altered.sends(d, query)
	}
	c.Temporary.sends(d, query)
}

// prepares updates what is known of the session before a text is prepared. When the
// statement runs is not seen.
func (c *Conn) prepares(query string) {
	d := c.dialect()
	c.Columns.prepares(d, query)
	c.Settings.prepares(d, query)
	c.Place.prepares(d, query)
	c.Temporary.sends(d, query)
}

// NoteTemporary notes the temporary tables that a text may make, before it is sent or
// prepared.
func (c *Conn) NoteTemporary(query string, what rewrite.Concern) {
	c.Temporary.makes(c.dialect(), query, what)
}

// PrepareContext prepares a text on the driver's connection.
func (c *Conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.prepares(query)
	return c.prepareChecked(ctx, query)
}

// prepareChecked prepares a text as database/sql does, and sees to it that somebody
// checks the arguments of the statement.
func (c *Conn) prepareChecked(ctx context.Context, query string) (driver.Stmt, error) {
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
func (c *Conn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if p, ok := c.Raw.(driver.ConnPrepareContext); ok {
		return p.PrepareContext(ctx, query)
	}
	stmt, err := c.Raw.Prepare(query)
	if err == nil && ctx.Err() != nil {
		_ = stmt.Close()
		return nil, ctx.Err()
	}
	return stmt, err
}

// CheckNamedValue asks the driver's connection. For a driver that prepares every text
// the statement is asked, with the same arguments, when there is one: it may take what
// nobody else does.
func (c *Conn) CheckNamedValue(nv *driver.NamedValue) error {
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
func (c *Conn) Ping(ctx context.Context) error {
	if sink, ok := ctx.Value(unwrapKey{}).(*unwrapSink); ok {
		sink.conn = c.Raw
		c.unwrap()
		c.Columns = knownColumns{unsure: true} // what runs on it is not seen
		c.Settings = knownSettings{unsure: true}
		c.Place.Asked, c.Place.unsure = false, true
		return nil
	}
	if p, ok := c.Raw.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession drops what may no longer hold when the connection is used again.
func (c *Conn) ResetSession(ctx context.Context) error {
	c.Columns.forget()
	c.Settings.Asked = c.Settings.Asked && c.server.Driver.KeepsSession
	c.Place.resets(&c.server.Driver)
	c.resets()
	if c.resetter != nil {
		return c.resetter.ResetSession(ctx)
	}
	return nil
}

// IsValid reports whether the pool may use the connection again.
func (c *Conn) IsValid() bool {
	if c.discard {
		return false
	}
	if c.validator != nil {
		return c.validator.IsValid()
	}
	return true
}

// sendsQuiet is sends for a text of which IsQuiet is true. What was not asked yet may
// have changed, for all that is known.
func (c *Conn) sendsQuiet() {
	c.Settings.changed = c.Settings.changed || !c.Settings.Asked
	c.Place.Changed = c.Place.Changed || !c.Place.Asked
}

// ExecQuiet is ExecContext for a text of which IsQuiet is true.
func (c *Conn) ExecQuiet(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.sendsQuiet()
	return c.exec(ctx, text, args)
}

// QueryQuiet is QueryContext for a text of which IsQuiet is true.
func (c *Conn) QueryQuiet(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.sendsQuiet()
	return c.query(ctx, text, args)
}

// PrepareQuiet is PrepareContext for a text of which IsQuiet is true.
func (c *Conn) PrepareQuiet(ctx context.Context, text string) (driver.Stmt, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	return c.prepareChecked(ctx, text)
}
