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

// Conn is the state of a connection: its session, the counters that are used on it, and
// the executions that keyfill keeps for it.
//
// Passes looks at each text first. A text that is passed unchanged goes on to
// ExecPassed, QueryPassed or PreparePassed, any other text to ExecText, QueryText or
// PrepareText.
type Conn struct {
	keys.Conn
	DB *Database

	Parked   parked
	spare    *Execution // a finished execution for reuse, or nil
	Seen     *SeenText  // the facts about the text that is about to be executed or prepared; nil if it is not remembered
	KeyRoom  [1]driver.Value
	Unread   []*Execution // executions that are counted when the caller has read their rows
	Recorded Recorded
	Attempt  *Attempt // the attempt whose transaction is open; nil for most transactions
	Front    *Front   // what the earlier texts of a batch may change, while a text is added to it; nil outside of batches
	Brings   bringing // whether the last execution needed keys, if its arguments decided that

	Numbers SessionNumbers

	// LogsRows reports that the server was asked how it logs changes for replicas, and logs
	// no statements: it logs the changed rows, or nothing.
	LogsRows bool
}

// Wrap makes c use the driver's connection conn.
func (c *Conn) Wrap(conn driver.Conn, db *Database) {
	c.DB, c.Parked.conn, c.Numbers.conn = db, c, c
	c.Conn.Open(conn, db.Sources)
}

// Connect does what [fill.Database.Connect] does, for c.
func (c *Conn) Connect(ctx context.Context, db *Database, parent driver.Connector) error {
	conn, err := parent.Connect(ctx)
	if err != nil {
		return err
	}
	c.Wrap(conn, db)
	if db.Engine.Load() == nil && policy.Mode(db.Mode.Load()) != policy.ModeOff {
		// Ask on a new connection: later the query would change what ROW_COUNT() and
		// FOUND_ROWS() return. If there is no answer, the server is asked again when it
		// matters.
		_, _ = c.AskEngine(ctx)
	}
	c.SetUpSQLite(ctx)
	relation.NoteOpened(ctx, db.Tables)
	if policy.Mode(db.Mode.Load()) != policy.ModeOff {
		c.AskPlaceEarly(ctx)
	}
	return nil
}

// SendsLastInsertID queries the facts about the tables of a plan, and reports whether
// an execution that fills a key is sent with the text in which the key is
// LAST_INSERT_ID(key).
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
	return p.Session && quiet, nil
}

// PreparesFirst reports whether the driver may want a statement with this number of
// arguments to be prepared first.
func (c *Conn) PreparesFirst(by session.Route, args int) bool {
	return args > 0 && !c.DB.Driver.Executes || !c.Can[by]
}

// After a deadlock, or a failed serialization, a program rolls back its transaction and
// sends all of it again. If a transaction has certainly stored nothing, its executions
// under a recorder (see keyfill.Record) are kept, so that the repetition gets the same
// keys.

// Recorded holds the executions under recorders (see keyfill.Record) that were sent in the
// open transaction of a connection, in order.
type Recorded struct {
	Executions []*Execution
	Ends       uint64 // the value of session.Conn.Ends when the first of Executions was sent
	Whole      bool   // nothing except the present Commit or Rollback can have stored the executions
}

// Clear removes all executions.
func (o *Recorded) Clear() {
	clear(o.Executions)
	o.Executions = o.Executions[:0]
}
