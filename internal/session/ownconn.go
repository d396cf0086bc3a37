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

// pgx prepares a text once and remembers that by the text. DEALLOCATE ALL and DISCARD ALL
// take the prepared statement away, and DDL may give its rows other types: the text then
// fails once with 26000 or 0A000, and aborts a transaction that is open. For a text of the
// application that is so without keyfill too. keyfill's own statements get another text
// then, which pgx prepares anew.

// The codes that PostgreSQL gives where a prepared statement is not there, and where it
// would return other types than it was prepared for.
const (
	stateNotPrepared = "26000"
	stateOtherTypes  = "0A000"
	stateAborted     = "25P02" // the transaction has failed before
)

// ownConn is the driver's connection for keyfill's own statements.
type ownConn struct {
	driver.Conn
	server   *Server
	preparer driver.ConnPrepareContext
	execer   driver.ExecerContext
	queryer  driver.QueryerContext
	checker  driver.NamedValueChecker

	mark string // appended to each text; empty until something that was prepared is gone
	gone int    // how often it was

	reset bool // a function of the application's has had the connection since
}

var (
	_ driver.ConnPrepareContext = (*ownConn)(nil)
	_ driver.ExecerContext      = (*ownConn)(nil)
	_ driver.QueryerContext     = (*ownConn)(nil)
	_ driver.NamedValueChecker  = (*ownConn)(nil)
)

// newOwnConn returns the connection for keyfill's own statements: nil where the driver's
// own will do, since the engine is not PostgreSQL, or the driver lacks an interface that
// those which remember statements have.
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

// sends notes that a text of the application is executed or prepared.
func (o *ownConn) sends(t *text) {
	if o != nil && !t.leaves(words.CatalogLeft) && forgetsPrepared(t.query) {
		o.forget()
	}
}

// unwraps notes that texts were sent that are not seen.
func (o *ownConn) unwraps() {
	if o != nil {
		o.forget()
	}
}

// resets notes that the connection comes back from the pool. The effect of the
// application's own function on it is not seen, but is known once a statement was gone.
func (o *ownConn) resets() {
	switch {
	case o == nil || o.server.Driver.KeepsSession:
	case o.server.ResetsForget.Load():
		o.forget()
	default:
		o.reset = true
	}
}

// times returns how often something that was prepared may have gone.
func (o *ownConn) times() int {
	if o == nil {
		return 0
	}
	return o.gone
}

// failed notes the error of a text of the application.
func (o *ownConn) failed(err error) {
	if o != nil && isState(err, stateNotPrepared) {
		o.learn(err)
		o.forget()
	}
}

// learn notes that the application's function for connections of the pool has the server
// forget, where nothing else can have done so.
func (o *ownConn) learn(err error) {
	if o.reset && isState(err, stateNotPrepared) {
		o.server.ResetsForget.Store(true)
	}
}

// forgetsPrepared reports whether a text may take prepared statements away, or give the
// columns of a table other types: it has one of these words, wherever it is.
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

// forget gives the statements that follow other texts.
func (o *ownConn) forget() {
	o.gone++
	o.reset = false
	o.mark = " /* " + strconv.Itoa(o.gone) + " */"
}

// IsForgotten reports whether a statement of keyfill's has failed because the server no
// longer has the prepared statement for its text.
func IsForgotten(err error) bool {
	return isState(err, stateNotPrepared) || isState(err, stateOtherTypes)
}

func isState(err error, state string) bool {
	c, ok := sqlcode.Of(err)
	return ok && c.State == state
}

// ExecContext executes a statement of keyfill's.
func (o *ownConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return sentOwn(o, query, func(text string) (driver.Result, error) { return o.execer.ExecContext(ctx, text, args) })
}

// QueryContext asks a question of keyfill's.
func (o *ownConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return sentOwn(o, query, func(text string) (driver.Rows, error) { return o.queryer.QueryContext(ctx, text, args) })
}

// sentOwn sends a statement of keyfill's. If its prepared statement is gone, it has had
// no effect, and is sent once more with another text. In a transaction the second attempt
// fails too, and the first error counts.
func sentOwn[T any](o *ownConn, query string, send func(text string) (T, error)) (answer T, err error) {
	answer, err = send(query + o.mark)
	switch {
	case err == nil:
		return answer, nil
	case dbconn.IsRefused(err):
		return answer, driver.ErrSkip // so that it is prepared
	case !IsForgotten(err):
		return answer, err
	}
	mark := o.mark
	o.learn(err)
	o.forget()
	again, failed := send(query + o.mark)
	switch {
	case IsForgotten(failed):
		o.mark = mark // the engine means something else by the code
		return answer, err
	case isState(failed, stateAborted):
		return answer, err
	}
	return again, failed
}

// PrepareContext prepares a statement of keyfill's, which is closed when it was used.
func (o *ownConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return o.preparer.PrepareContext(ctx, query+o.mark)
}

// CheckNamedValue asks the driver's connection.
func (o *ownConn) CheckNamedValue(nv *driver.NamedValue) error { return o.checker.CheckNamedValue(nv) }
