package session

import "database/sql/driver"

// NativeConn is a driver's connection that wraps a connection of a library without
// database/sql, as keyfillpgx does. keyfill's own queries go to its methods. The texts of
// the application go to the result of Texts: they carry options of the library, and the
// library gets their results.
type NativeConn interface {
	driver.Conn

	// Texts returns the interfaces that execute the texts of the application on this
	// connection.
	Texts() (driver.ExecerContext, driver.QueryerContext)

	// InTransaction reports whether a transaction is open, according to the engine's last
	// response.
	InTransaction() bool
}

// NoteSent notes that a text of the application is sent together with others, so that
// neither ExecContext nor QueryContext sees it. It reports whether the text may make the
// server forget prepared statements; the caller then calls Forget when the texts have run.
func (c *Conn) NoteSent(query string) (forgets bool) {
	before := c.own.times()
	c.sends(query)
	return c.own.times() != before
}

// Forget notes that the server may have forgotten the prepared statements.
func (l *link) Forget() { l.own.unwraps() }

// told sets the state of the transaction as the engine has reported it. If a transaction
// has ended and the application believes that it is open, the application's statements are
// refused until it ends the transaction: they would be committed one by one.
func (t *transaction) told(open bool) {
	switch {
	case open && t.Tx != Inside:
		t.Tx, t.saved = Inside, false
		t.Begins++
		t.Undos++
		t.Losses++
		t.Ends++
		t.nested = true // several transactions may have begun, one inside another
	case !open && t.begun:
		t.MarkEnded()
	case !open:
		if t.Tx != Outside {
			t.Ends++
		}
		t.Tx, t.left, t.Ended = Outside, false, false
	}
}
