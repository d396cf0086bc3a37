package fill

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/session"
)

// Passes returns what a query may concern (an INSERT, a transaction …), whether it is
// passed to the driver unchanged, and whether it is counted then.
func (c *Conn) Passes(query string) (concern words.Concern, pass, counts bool) {
	if c.Numbers.Last != nil && effects.EndsSession(c.DB.Dialect(), query) {
		c.Numbers.Last = nil
	}
	concern, passed, seen := c.DB.Seen.See(query, c.Seen)
	c.Seen = seen
	switch {
	case concern == 0:
		return 0, true, false
	case passed && !c.Temporary.Every:
		c.AlteredTables.Created = nil
		return concern, true, true
	}
	return concern, false, false
}

// ExecPassed executes a text for which Passes has returned that it goes to the driver
// unchanged.
func (c *Conn) ExecPassed(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.Numbers.Last != nil {
		if err := c.Numbers.Check(ctx, query); err != nil {
			return nil, err
		}
	}
	if c.Attempt != nil {
		c.Attempt.NoteOther(query)
	}
	var res driver.Result
	var err error
	if c.Seen != nil && c.Seen.Leaves {
		res, err = c.ExecQuiet(ctx, query, args)
	} else {
		res, err = c.ExecContext(ctx, query, args)
	}
	noteRead(&c.Numbers, query, err)
	return res, err
}

// noteRead records the text of an execution if the driver wants it to be prepared.
func noteRead(s *execution.SessionNumbers, query string, err error) {
	if s.Direct = ""; err == driver.ErrSkip {
		s.Direct = query
	}
}

// QueryPassed executes a text that is passed unchanged, as ExecPassed does, and returns
// its rows.
func (c *Conn) QueryPassed(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.Numbers.Last != nil {
		if err := c.Numbers.Check(ctx, query); err != nil {
			return nil, err
		}
	}
	if c.Attempt != nil {
		c.Attempt.NoteOther(query)
	}
	var rows driver.Rows
	var err error
	if c.Seen != nil && c.Seen.Leaves {
		rows, err = c.QueryQuiet(ctx, query, args)
	} else {
		rows, err = c.QueryContext(ctx, query, args)
	}
	noteRead(&c.Numbers, query, err)
	return rows, err
}

// PreparePassed prepares a text that goes to the driver unchanged.
func (c *Conn) PreparePassed(ctx context.Context, query string) (driver.Stmt, error) {
	c.Numbers.Prepared(query)
	if c.Attempt != nil {
		c.Attempt.NoteOther(query)
	}
	if c.Seen != nil && c.Seen.Leaves {
		return c.PrepareQuiet(ctx, query)
	}
	return c.PrepareContext(ctx, query)
}

// CountPassed counts an INSERT that was sent unchanged, after the driver has answered
// with err or without an error. If database/sql will send the INSERT again, it is
// counted then.
func (c *Conn) CountPassed(ctx context.Context, err error) {
	if execution.IsUntaken(err) {
		return
	}
	if c.DB.Tally.Passed.Add(1)%relation.NoteEvery == 0 {
		relation.NoteInserts(ctx, c.DB.Tables)
	}
	execution.WatchOf(ctx).Tracer.Event(execution.Event{Action: plans.Pass}, err)
}

// ExecText executes a text that may be an INSERT, or may begin or end a transaction.
func (c *Conn) ExecText(ctx context.Context, query string, args []driver.NamedValue, concern words.Concern) (driver.Result, error) {
	if c.Numbers.Last != nil {
		if err := c.Numbers.Check(ctx, query); err != nil {
			return nil, err
		}
	}
	if res, done, err := execPlain(ctx, &c.Conn, c.Seen, args); done {
		return res, err
	}
	c.NoteTemporary(query, concern)
	effect := c.DB.TransactionEffect(query, concern)
	res, err := driver.Result(nil), error(nil)
	if concern&words.ConcernsInsert != 0 {
		res, err = (&directCall{conn: c, query: query, args: args, by: session.ByExec}).Exec(ctx)
	} else {
		c.Attempt.NoteOther(query)
		res, err = c.ExecContext(ctx, query, args)
	}
	c.NoteRan(effect, concern, err)
	noteRead(&c.Numbers, query, err)
	return res, err
}

// QueryText executes a text as ExecText does, and returns its rows.
func (c *Conn) QueryText(ctx context.Context, query string, args []driver.NamedValue, concern words.Concern) (driver.Rows, error) {
	if c.Numbers.Last != nil {
		if err := c.Numbers.Check(ctx, query); err != nil {
			return nil, err
		}
	}
	if rows, done, err := queryPlain(ctx, &c.Conn, c.Seen, args); done {
		return rows, err
	}
	c.NoteTemporary(query, concern)
	effect := c.DB.TransactionEffect(query, concern)
	rows, err := driver.Rows(nil), error(nil)
	if concern&words.ConcernsInsert != 0 {
		rows, err = (&directCall{conn: c, query: query, args: args, by: session.ByQuery}).queryRows(ctx)
	} else {
		c.Attempt.NoteOther(query)
		rows, err = c.QueryContext(ctx, query, args)
	}
	c.NoteRan(effect, concern, err)
	noteRead(&c.Numbers, query, err)
	return rows, err
}

// PrepareText prepares a text that may be an INSERT, or may begin or end a transaction
// when it is executed.
func (c *Conn) PrepareText(ctx context.Context, query string, concern words.Concern) (driver.Stmt, error) {
	if stmt, done, err := preparePlain(ctx, &c.Conn, c.Seen); done {
		return stmt, err
	}
	c.NoteTemporary(query, concern)
	stmt, err := driver.Stmt(nil), error(nil)
	if concern&words.ConcernsInsert != 0 {
		stmt, err = (&preparation{&c.Conn, query}).prepare(ctx)
	} else {
		c.Attempt.NoteOther(query)
		stmt, err = c.PrepareContext(ctx, query)
	}
	if err != nil || concern&(words.ConcernsTransaction|words.ConcernsNames) == 0 {
		return stmt, err
	}
	effect := c.DB.TransactionEffect(query, concern)
	if c.DB.Dialect().Family == dialect.FamilySQLite && effect != effects.TxUnchanged && strings.Contains(strings.TrimRight(query, "; \t\r\n"), ";") {
		effect = effects.TxUnknown // some drivers for SQLite prepare only the first statement of a text, so the effect of an execution is not known
	}
	return c.FollowStmt(stmt, effect, concern), nil
}
