package session

import (
	"context"
	"database/sql/driver"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// pgx prepares a text once, and uses the prepared statement whenever it gets the same text.
// DEALLOCATE ALL and DISCARD ALL remove the prepared statement, and DDL may give its rows
// other types: the text then fails once with 26000 or 0A000, and aborts a transaction that
// is open. A text of the application fails so without keyfill too. keyfill changes the
// texts of its own statements then, so that pgx prepares them anew.

// These are PostgreSQL's error codes for a prepared statement that does not exist, and for
// one that would return other types than it was prepared for.
const (
	stateNotPrepared = "26000"
	stateOtherTypes  = "0A000"
	stateAborted     = "25P02" // an earlier statement of the open transaction has failed
)

// ownConn is the driver's connection for keyfill's own statements.
type ownConn struct {
	driver.Conn
	server   *Server
	preparer driver.ConnPrepareContext
	execer   driver.ExecerContext
	queryer  driver.QueryerContext
	checker  driver.NamedValueChecker

	mark string // appended to each text; empty until a prepared statement may be gone
	gone int    // how often prepared statements may have gone

	reset bool // whether the pool has handed the connection out again since gone last changed; a function of the application may have reset it then
}

var (
	_ driver.ConnPrepareContext = (*ownConn)(nil)
	_ driver.ExecerContext      = (*ownConn)(nil)
	_ driver.QueryerContext     = (*ownConn)(nil)
	_ driver.NamedValueChecker  = (*ownConn)(nil)
)

// newOwnConn returns the connection for keyfill's own statements. It is nil if they can go
// to the driver's connection: the engine is not PostgreSQL, or the driver lacks an
// interface that all drivers which remember prepared statements have.
func newOwnConn(conn driver.Conn, s *Server) *ownConn {
	if s.Dialect().Family != dialect.FamilyPostgreSQL {
		return nil
	}
	o := &ownConn{Conn: conn, server: s}
	var ok [4]bool
	o.preparer, ok[0] = conn.(driver.ConnPrepareContext)
	o.execer, ok[1] = conn.(driver.ExecerContext)
	o.queryer, ok[2] = conn.(driver.QueryerContext)
	o.checker, ok[3] = conn.(driver.NamedValueChecker)
	if ok != [4]bool{true, true, true, true} {
		return nil
	}
	return o
}

// Own returns the connection for keyfill's own statements.
func (l *link) Own() driver.Conn {
	if l.own != nil {
		return l.own
	}
	return l.Raw
}

// sends changes the texts of later statements if a text of the application, which is
// executed or prepared, may remove prepared statements.
func (o *ownConn) sends(t *text) {
	if o != nil && !t.leaves(words.CatalogLeft) && forgetsPrepared(t.query) {
		o.forget()
	}
}

// unwraps notes that texts were sent which the session did not see.
func (o *ownConn) unwraps() {
	if o != nil {
		o.forget()
	}
}

// resets notes that the connection comes back from the pool. The session does not see what
// a function of the application does to the connection then, but learns it once a prepared
// statement is gone.
func (o *ownConn) resets() {
	switch {
	case o == nil || o.server.Driver.KeepsSession:
	case o.server.ResetsForget.Load():
		o.forget()
	default:
		o.reset = true
	}
}

// times returns how often prepared statements may have gone.
func (o *ownConn) times() int {
	if o == nil {
		return 0
	}
	return o.gone
}

// failed handles the error of a text of the application: if its prepared statement is gone,
// the prepared statements of keyfill's own texts may be gone too.
func (o *ownConn) failed(err error) {
	if o != nil && isState(err, stateNotPrepared) {
		o.learn(err)
		o.forget()
	}
}

// learn notes that the application's function for connections from the pool makes the
// server forget prepared statements, if nothing else can have been the cause of err.
func (o *ownConn) learn(err error) {
	if o.reset && isState(err, stateNotPrepared) {
		o.server.ResetsForget.Store(true)
	}
}

// forgetsPrepared reports whether a text may remove prepared statements, or give the
// columns of a table other types: DEALLOCATE, DISCARD or ALTER is anywhere in the text.
func forgetsPrepared(query string) bool {
	for i := 0; i < len(query); i++ {
		for _, word := range [...]string{"deallocate", "discard", "alter"} {
			if query[i]|0x20 == word[0] && len(query)-i >= len(word) && strings.EqualFold(query[i:i+len(word)], word) {
				return true
			}
		}
	}
	return false
}

// forget changes the texts of the following statements, so that they are prepared anew.
func (o *ownConn) forget() {
	o.gone++
	o.reset = false
	o.mark = " /* " + strconv.Itoa(o.gone) + " */"
}

// IsForgotten reports whether a statement of keyfill's own has failed because the server no
// longer has the prepared statement for its text, or no longer accepts it.
func IsForgotten(err error) bool {
	return isState(err, stateNotPrepared) || isState(err, stateOtherTypes)
}

func isState(err error, state string) bool {
	c, ok := sqlcode.Of(err)
	return ok && c.State == state
}

// ExecContext executes a statement of keyfill's own.
func (o *ownConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return sentOwn(o, query, func(text string) (driver.Result, error) { return o.execer.ExecContext(ctx, text, args) })
}

// QueryContext executes a query of keyfill's own.
func (o *ownConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return sentOwn(o, query, func(text string) (driver.Rows, error) { return o.queryer.QueryContext(ctx, text, args) })
}

// text returns the text of a statement of keyfill's own as it is sent.
func (o *ownConn) text(query string) string {
	return o.server.Dialect().Latest.ToPrimary(query) + o.mark
}

// sentOwn sends a statement of keyfill's own. If its prepared statement is gone, the
// attempt has had no effect, and the statement is sent once more with another text. In a
// transaction the second attempt fails too, and sentOwn returns the first error.
func sentOwn[T any](o *ownConn, query string, send func(text string) (T, error)) (answer T, err error) {
	answer, err = send(o.text(query))
	switch {
	case err == nil:
		return answer, nil
	case dbconn.IsRefused(err):
		return answer, driver.ErrSkip // so that the caller prepares the text
	case !IsForgotten(err):
		return answer, err
	}
	mark := o.mark
	o.learn(err)
	o.forget()
	again, failed := send(o.text(query))
	switch {
	case IsForgotten(failed):
		o.mark = mark // a new text fails in the same way, so the error is not about a prepared statement
		return answer, err
	case isState(failed, stateAborted):
		return answer, err
	}
	return again, failed
}

// PrepareContext prepares a statement of keyfill's own, which is closed after its use.
func (o *ownConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return o.preparer.PrepareContext(ctx, o.text(query))
}

// CheckNamedValue lets the driver's connection check an argument.
func (o *ownConn) CheckNamedValue(nv *driver.NamedValue) error { return o.checker.CheckNamedValue(nv) }
