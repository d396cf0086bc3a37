package session

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// Conn is one connection of the driver, with the known state of its session. It has every
// optional interface of a connection: if the driver lacks one, Conn does what database/sql
// does without it.
//
// Every text of the application is sent and prepared through a Conn, which updates what it
// knows about the session. keyfill's own queries, which change nothing, go to Own.
//
// database/sql never uses a connection from two goroutines at once. Therefore a Conn has no
// lock.
type Conn struct {
	transaction
	Columns   knownColumns
	Settings  knownSettings
	Place     knownPlace
	Temporary temporaryNames
	InsertID  insertID
	converted convertedArguments
	touched   touched

	Unwrapped bool // whether statements may run on the driver's connection that the session does not see
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
	c := Conn{transaction: transaction{link: link{newDriverConn(conn), s}, Begins: 1}}
	c.own = newOwnConn(conn, s)
	if s.StatesOnConnection() {
		c.Place = knownPlace{At: s.Places.Of(""), Asked: true} // SQLite's location is known until a database is attached
	}
	return c
}

// Close closes the driver's connection.
func (c *Conn) Close() error {
	err := c.Raw.Close()
	c.Altered.ends()
	return err
}

// prepares updates the known state of the session before a text is prepared. The session
// does not see when the statement runs.
func (c *Conn) prepares(query string) {
	if isDrop(query) {
		c.server.Drops.Add(1)
	}
	t := text{dialect: c.dialect(), query: query}
	c.Columns.prepares(&t)
	c.Settings.prepares(&t)
	c.converted.prepares(&t)
	c.Place.prepares(&t)
	c.InsertID.prepares(&t)
	c.Temporary.sends(&t)
	c.own.sends(&t)
	c.touched.sends(&t)
}

// NoteTemporary notes the temporary tables that a text may make, before it is sent or
// prepared.
func (c *Conn) NoteTemporary(query string, what words.Concern) {
	c.Temporary.makes(c.dialect(), query, what)
}

// PrepareContext prepares a text on the driver's connection.
func (c *Conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.prepares(query)
	return c.PrepareQuiet(ctx, query)
}

// Ping passes the driver's connection to [Unwrap], and pings it for any other caller.
func (c *Conn) Ping(ctx context.Context) error {
	if sink, ok := ctx.Value(unwrapKey{}).(*unwrapSink); ok {
		sink.conn = c.Raw
		c.unwrap()
		c.own.unwraps()
		c.Unwrapped = true
		c.Columns.forget()
		c.Columns.unsure = true // the session does not see what runs on the driver's connection
		c.Settings = knownSettings{unsure: true}
		c.converted.unsure = true
		c.Place.Asked, c.Place.unsure, c.Place.Moved = false, true, true
		return nil
	}
	if p, ok := c.Raw.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession drops the facts that may no longer hold when the connection is used again.
func (c *Conn) ResetSession(ctx context.Context) error {
	c.Columns.forget()
	c.Settings.Asked = c.Settings.Asked && c.server.Driver.KeepsSession
	c.Settings.begins.asked = c.Settings.begins.asked && c.server.Driver.KeepsSession
	c.converted.asked = c.converted.asked && c.server.Driver.KeepsSession
	c.Place.resets(&c.server.Driver)
	c.resets()
	c.own.resets()
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
