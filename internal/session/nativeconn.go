package session

import "database/sql/driver"

// NativeConn is a driver's connection that wraps one of a library without database/sql,
// as keyfillpgx has it. keyfill's own questions go to its methods, the texts of the
// application to the result of Texts: they carry options of the library, and their
// answers go back to it.
type NativeConn interface {
	driver.Conn

	// Texts returns what executes the texts of the application.
	Texts() (driver.ExecerContext, driver.QueryerContext)

	// InTransaction reports whether a transaction is open, by the engine's last answer.
	InTransaction() bool
}

// NoteSent notes that a text of the application is sent together with others, so that
// neither ExecContext nor QueryContext sees it. It reports whether the server may forget
// prepared statements, until the texts are answered: then call Forget.
func (c *Conn) NoteSent(query string) (forgets bool) {
	before := c.own.times()
	c.sends(query)
	return c.own.times() != before
}

// Forget notes that the server may have forgotten the prepared statements.
func (l *link) Forget() { l.own.unwraps() }

// told sets the state of the transaction to the engine's answer. If the application takes
// a transaction to be open that has ended, its statements are refused until it ends the
// transaction: they would be committed one by one.
func (t *transaction) told(open bool) {
	switch {
	case open && t.Tx != Inside:
		t.Tx, t.saved = Inside, false
		t.Begins++
		t.Undos++
		t.Losses++
		t.Ends++
		t.nested = true // it may be more than one
	case !open && t.begun:
		t.MarkEnded()
	case !open:
		if t.Tx != Outside {
			t.Ends++
		}
		t.Tx, t.left, t.Ended = Outside, false, false
	}
}
