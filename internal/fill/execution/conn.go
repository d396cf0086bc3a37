package execution

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// Conn is the state of a connection: its session, the keys that are drawn on it, and
// the executions that keyfill keeps for it.
//
// A text comes in by Passes. One that passes goes on by ExecPassed, QueryPassed or
// PreparePassed, any other by ExecText, QueryText or PrepareText.
type Conn struct {
	keys.Conn
	DB *Database

	Parked   parked
	spare    *Execution // an ended execution for reuse, or nil
	Seen     *SeenText  // of the text that is about to be executed or prepared; nil where nothing is remembered
	KeyRoom  [1]driver.Value
	Unread   []*Execution // that are counted when their rows have ended
	Recorded Recorded
	Attempt  *Attempt // whose transaction is open; nil for most
	Front    *Front   // of the batch to which a text is being added; nil elsewhere
	Brings   bringing // of the last such execution

	Numbers SessionNumbers

	// LogsRows reports that the server was asked, and has no log of statements for
	// replicas.
	LogsRows bool
}

// Wrap makes c the connection conn of the driver.
func (c *Conn) Wrap(conn driver.Conn, db *Database) {
	c.DB, c.Parked.conn, c.Numbers.conn = db, c, c
	c.Conn.Open(conn, db.Sources)
}

// Connect is [fill.Database.Connect] for c.
func (c *Conn) Connect(ctx context.Context, db *Database, parent driver.Connector) error {
	conn, err := parent.Connect(ctx)
	if err != nil {
		return err
	}
	c.Wrap(conn, db)
	if db.Engine.Load() == nil && policy.Mode(db.Mode.Load()) != policy.ModeOff {
		// On a connection that was not used yet: later the question would change
		// what ROW_COUNT() and FOUND_ROWS() say. Without an answer it is asked
		// again when it matters.
		_, _ = c.AskEngine(ctx)
	}
	c.SetUpSQLite(ctx)
	relation.NoteOpened(ctx, db.Tables)
	if policy.Mode(db.Mode.Load()) != policy.ModeOff {
		c.AskPlaceEarly(ctx)
	}
	return nil
}

// SendsLastInsertID queries the facts about the tables of a plan, and reports whether an
// execution that fills a key has the text with LAST_INSERT_ID(key).
func (c *Conn) SendsLastInsertID(ctx context.Context, p *plans.Plan) (bool, error) {
	quiet := true
	for i := range p.Inserts {
		t := table.Of(&p.Inserts[i])
		f, err := c.DB.Facts(ctx, &c.Session, t)
		if err != nil {
			return false, t.KeyError(0, err)
		}
		quiet = quiet && f.LastIDUnread && !f.NumbersOther &&
			(t.LastIDKey < 0 || p.Inserts[i].Rows == 1 || t.KeyColumns[t.LastIDKey].IsAdjacent())
	}
	return p.Session() && quiet, nil
}

// PreparesFirst reports whether a driver may want a statement with arguments to be
// prepared.
func (c *Conn) PreparesFirst(by session.Route, args int) bool {
	return args > 0 && !c.DB.Driver.Executes || !c.Can(by)
}

// After a deadlock, or a failed serialization, a program rolls its transaction back and
// sends all of it again. If a transaction has surely stored nothing, its executions under
// a recorder are parked for that, as failed executions are.

// Recorded are the executions under recorders that were sent in the transaction that is
// open on a connection, in their order.
type Recorded struct {
	Executions []*Execution
	Ends       uint64 // session.Conn.Ends since the first of them
	Whole      bool   // no event but the Commit or Rollback of now can have stored them
}

// Clear forgets all of them.
func (o *Recorded) Clear() {
	clear(o.Executions)
	o.Executions = o.Executions[:0]
}
