package fill

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// Passes says what a query concerns, whether it goes to the driver as it is, and
// whether it is counted then.
func (c *Conn) Passes(query string) (concern rewrite.Concern, pass, counts bool) {
	if c.numbers.last != nil && rewrite.EndsSession(c.DB.Dialect(), query) {
		c.numbers.last = nil
	}
	concern, passed, seen := c.DB.seen.see(query, c.seen)
	c.seen = seen
	switch {
	case concern == 0:
		return 0, true, false
	case passed && !c.Temporary.Every:
		c.AlteredTables.Created = nil
		return concern, true, true
	}
	return concern, false, false
}

// ExecPassed executes a text that Passes has just said to go to the driver.
func (c *Conn) ExecPassed(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.numbers.last != nil {
		if err := c.numbers.check(ctx, query); err != nil {
			return nil, err
		}
	}
	if c.attempt != nil {
		c.attempt.noteOther(query)
	}
	var res driver.Result
	var err error
	if c.seen != nil && c.seen.leaves {
		res, err = c.ExecQuiet(ctx, query, args)
	} else {
		res, err = c.ExecContext(ctx, query, args)
	}
	c.numbers.ran(query, err)
	return res, err
}

// ran notes an execution, after which the driver may want the text to be prepared.
func (s *sessionNumbers) ran(query string, err error) {
	if s.direct = ""; err == driver.ErrSkip {
		s.direct = query
	}
}

// QueryPassed is ExecPassed for a text that gives rows.
func (c *Conn) QueryPassed(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.numbers.last != nil {
		if err := c.numbers.check(ctx, query); err != nil {
			return nil, err
		}
	}
	if c.attempt != nil {
		c.attempt.noteOther(query)
	}
	var rows driver.Rows
	var err error
	if c.seen != nil && c.seen.leaves {
		rows, err = c.QueryQuiet(ctx, query, args)
	} else {
		rows, err = c.QueryContext(ctx, query, args)
	}
	c.numbers.ran(query, err)
	return rows, err
}

// PreparePassed prepares such a text.
func (c *Conn) PreparePassed(ctx context.Context, query string) (driver.Stmt, error) {
	c.numbers.prepared(query)
	if c.attempt != nil {
		c.attempt.noteOther(query)
	}
	if c.seen != nil && c.seen.leaves {
		return c.PrepareQuiet(ctx, query)
	}
	return c.PrepareContext(ctx, query)
}

// CountPassed counts an INSERT that the driver has taken as it came, and answered with an
// error or without. One that database/sql sends again is counted then.
func (c *Conn) CountPassed(ctx context.Context, err error) {
	if isUntaken(err) {
		return
	}
	if c.DB.Tally.Passed.Add(1)%keys.NoteEvery == 0 {
		keys.NoteInserts(ctx, c.DB.Tables)
	}
	watchOf(ctx).tracer.event(event{action: rewrite.Pass}, err)
}

// ExecText executes a text that may be an INSERT, or begin or end a
// transaction.
func (c *Conn) ExecText(ctx context.Context, query string, args []driver.NamedValue, concern rewrite.Concern) (driver.Result, error) {
	if c.numbers.last != nil {
		if err := c.numbers.check(ctx, query); err != nil {
			return nil, err
		}
	}
	if res, done, err := c.execPlain(ctx, c.seen, args); done {
		return res, err
	}
	c.NoteTemporary(query, concern)
	effect := c.DB.TransactionEffect(query, concern)
	res, err := driver.Result(nil), error(nil)
	if concern&rewrite.ConcernsInsert != 0 {
		res, err = (&directCall{conn: c, query: query, args: args, by: session.ByExec}).exec(ctx)
	} else {
		c.attempt.noteOther(query)
		res, err = c.ExecContext(ctx, query, args)
	}
	c.NoteRan(effect, concern, err)
	c.numbers.ran(query, err)
	return res, err
}

// QueryText is ExecText for a text that gives rows.
func (c *Conn) QueryText(ctx context.Context, query string, args []driver.NamedValue, concern rewrite.Concern) (driver.Rows, error) {
	if c.numbers.last != nil {
		if err := c.numbers.check(ctx, query); err != nil {
			return nil, err
		}
	}
	if rows, done, err := c.queryPlain(ctx, c.seen, args); done {
		return rows, err
	}
	c.NoteTemporary(query, concern)
	effect := c.DB.TransactionEffect(query, concern)
	rows, err := driver.Rows(nil), error(nil)
	if concern&rewrite.ConcernsInsert != 0 {
		rows, err = (&directCall{conn: c, query: query, args: args, by: session.ByQuery}).queryRows(ctx)
	} else {
		c.attempt.noteOther(query)
		rows, err = c.QueryContext(ctx, query, args)
	}
	c.NoteRan(effect, concern, err)
	c.numbers.ran(query, err)
	return rows, err
}

// PrepareText prepares a text that may be an INSERT, or begin or end a transaction
// when it is executed.
func (c *Conn) PrepareText(ctx context.Context, query string, concern rewrite.Concern) (driver.Stmt, error) {
	if stmt, done, err := c.preparePlain(ctx, c.seen); done {
		return stmt, err
	}
	c.NoteTemporary(query, concern)
	stmt, err := driver.Stmt(nil), error(nil)
	if concern&rewrite.ConcernsInsert != 0 {
		stmt, err = (&preparation{&c.connection, query}).prepare(ctx)
	} else {
		c.attempt.noteOther(query)
		stmt, err = c.PrepareContext(ctx, query)
	}
	if err != nil || concern&(rewrite.ConcernsTransaction|rewrite.ConcernsNames) == 0 {
		return stmt, err
	}
	effect := c.DB.TransactionEffect(query, concern)
	if c.DB.Dialect().Family == dialect.FamilySQLite && effect != rewrite.TxUnchanged && strings.Contains(strings.TrimRight(query, "; \t\r\n"), ";") {
		effect = rewrite.TxUnknown // some drivers for SQLite prepare the first statement alone
	}
	return c.FollowStmt(stmt, effect, concern), nil
}
