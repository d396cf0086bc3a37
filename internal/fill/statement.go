package fill

import (
	"context"
	"database/sql/driver"
	"errors"
	"maps"
	"slices"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// statement is a prepared statement whose executions get keys.
type statement struct {
	driver.Stmt // the driver's statement, with the changed text
	conn        *execution.Conn
	plan        *plans.Plan
	query       string
	sends       bool // executions that fill a key use the text with LAST_INSERT_ID(key)
	session     bool // the driver's statement has the text with LAST_INSERT_ID(key)

	// literal reports whether the text contains the keys of one execution as literals,
	// because database/sql has to prepare what the driver would not execute directly. text
	// is that text, unsent is how many of the caller's arguments it lacks, and once is that
	// execution until it has run.
	literal bool
	text    string
	unsent  int
	once    *execution.Execution

	// plain is the fast path of the statement. If its field Joined is set, the key is drawn
	// in the transaction, and the fast path only begins the execution. plain is nil if the
	// statement has no fast path.
	plain *execution.Plain

	// found is the place (the schema or search path) for which the plan was made, if the
	// names may mean other tables when the statement is executed; otherwise found.at is
	// nil.
	found found

	others otherTexts // the driver's statements for the texts in other schemas or search paths of the session

	// asItIs reports whether the application's own text is executed, because the table
	// that its name means in the session's present schema gets no keys.
	asItIs bool

	// unproven is the driver's statement for the text without the proof that a transaction
	// is open, for executions that draw no key; nil until it is needed.
	unproven driver.Stmt

	// numbered is the driver's statement for the last text whose rows the engine has
	// numbered; nil until there is one. See engineNumbered.
	numbered driver.Stmt

	// kept reports whether the text is sent as the application wrote it, and contains
	// explicit keys above which a counter is raised.
	kept bool

	// dry reports whether the text is the application's own because of a dry run: an
	// execution is only decided and counted.
	dry bool
}

var (
	_ driver.Stmt              = (*statement)(nil)
	_ driver.StmtExecContext   = (*statement)(nil)
	_ driver.StmtQueryContext  = (*statement)(nil)
	_ driver.NamedValueChecker = (*statement)(nil)
	_ driver.ColumnConverter   = (*statement)(nil)
)

// orError returns the statement, or err if the preparation has failed with it.
func (s *statement) orError(err error) (driver.Stmt, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// NumInput returns the number of the caller's arguments, so that database/sql checks
// that number as it does without keyfill.
func (s *statement) NumInput() int {
	n := s.Stmt.NumInput()
	switch {
	case n < 0:
		return n
	case s.literal:
		return n + s.unsent
	case isOwnText(s):
		return n
	}
	return n - bind.Added(s.plan, s.session)
}

// isOwnText reports whether the driver's statement gets no other arguments than the
// application's.
func isOwnText(s *statement) bool { return s.literal || s.dry || s.kept || s.asItIs }

// Close closes all statements of the driver.
func (s *statement) Close() error {
	err := s.Stmt.Close()
	for _, more := range append(slices.Collect(maps.Values(s.others)), s.unproven, s.numbered) {
		if more == nil {
			continue
		}
		if failed := more.Close(); err == nil {
			err = failed
		}
	}
	return err
}

func (s *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	for n := 1; ; n++ {
		res, err := s.execOnce(ctx, args)
		if err == nil || !decidesAgain(s.conn, n, err) {
			return res, err
		}
	}
}

func (s *statement) execOnce(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if s.dry {
		s.dryRun(ctx, args)
		return session.ExecStmt(ctx, s.Stmt, args)
	}
	if s.conn.Numbers.Last != nil {
		if err := s.conn.Numbers.Check(ctx, s.query); err != nil {
			return nil, err
		}
	}
	if r, suits, err := s.run(ctx, args); suits {
		if err != nil {
			return nil, err
		}
		res, err := session.ExecStmt(ctx, s.Stmt, r.sent)
		if err != nil {
			res, err = executor.SentAgain(ctx, s.conn, s.plan, err, func() (driver.Result, error) { return session.ExecStmt(ctx, s.Stmt, r.sent) })
		}
		return r.executed(ctx, res, err)
	}
	x, suits, err := beginJoined(ctx, s, args)
	if !suits {
		x, err = s.begin(ctx, args)
	}
	switch {
	case err != nil:
		return nil, err
	case x == nil:
		return session.ExecStmt(ctx, s.Stmt, args)
	}
	x.Trace.Prepared = true
	res, err := executor.Of(x).Exec(ctx, s)
	res, err = outcome.Executed(ctx, x, res, err)
	x.Release(err)
	return res, err
}

func (s *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	for n := 1; ; n++ {
		rows, err := s.queryOnce(ctx, args)
		if err == nil || !decidesAgain(s.conn, n, err) {
			return rows, err
		}
	}
}

func (s *statement) queryOnce(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if s.dry {
		s.dryRun(ctx, args)
		return session.QueryStmt(ctx, s.Stmt, args)
	}
	if s.conn.Numbers.Last != nil {
		if err := s.conn.Numbers.Check(ctx, s.query); err != nil {
			return nil, err
		}
	}
	if r, suits, err := s.run(ctx, args); suits {
		if err != nil {
			return nil, err
		}
		rows, err := session.QueryStmt(ctx, s.Stmt, r.sent)
		if err != nil {
			rows, err = executor.SentAgain(ctx, s.conn, s.plan, err, func() (driver.Rows, error) { return session.QueryStmt(ctx, s.Stmt, r.sent) })
		}
		return r.queried(ctx, rows, err)
	}
	x, suits, err := beginJoined(ctx, s, args)
	if !suits {
		x, err = s.begin(ctx, args)
	}
	switch {
	case err != nil:
		return nil, err
	case x == nil:
		return session.QueryStmt(ctx, s.Stmt, args)
	}
	x.Trace.Prepared = true
	rows, err := executor.Of(x).Query(ctx, s)
	return outcome.Queried(ctx, x, rows, err)
}

func (s *statement) SendExec(ctx context.Context, x *execution.Execution) (driver.Result, error) {
	stmt, err := s.of(ctx, x)
	if err != nil {
		return nil, err
	}
	res, err := session.ExecStmt(ctx, stmt, x.Outgoing.Sent)
	if err != nil {
		res, err = executor.SentAgain(ctx, s.conn, x.Plan, err, func() (driver.Result, error) { return session.ExecStmt(ctx, stmt, x.Outgoing.Sent) })
	}
	return res, err
}

func (s *statement) SendQuery(ctx context.Context, x *execution.Execution) (driver.Rows, error) {
	stmt, err := s.of(ctx, x)
	if err != nil {
		return nil, err
	}
	rows, err := session.QueryStmt(ctx, stmt, x.Outgoing.Sent)
	if err != nil {
		rows, err = executor.SentAgain(ctx, s.conn, x.Plan, err, func() (driver.Rows, error) { return session.QueryStmt(ctx, stmt, x.Outgoing.Sent) })
	}
	return rows, err
}

// dryRun decides how an execution would be treated, counts it and logs the decision.
func (s *statement) dryRun(ctx context.Context, args []driver.NamedValue) {
	db := s.conn.DB
	h, err := holesOf(s.plan, args)
	if err == nil {
		db.Stats.Note(ctx, s.query, execution.Withheld(s.plan, h, policy.ModeDryRun), nil)
		return
	}
	var r *plans.Refusal
	if errors.As(err, &r) {
		db.Stats.Note(ctx, s.query, execution.Event{Counts: true, Table: r.Table, Owner: r.Target.Owner.(*table.Table), Action: plans.Refuse, Reason: r.Reason,
			Offset: r.Offset, Mode: policy.ModeDryRun, Withheld: true}, nil)
	}
}

// Exec executes as ExecContext does, for callers without a context.
func (s *statement) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), session.NamedValues(args))
}

// Query queries as QueryContext does, for callers without a context.
func (s *statement) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), session.NamedValues(args))
}

// CheckNamedValue calls the checker that database/sql would call: the driver's
// statement, or else its connection. If that returns driver.ErrSkip, database/sql goes
// on with ColumnConverter.
func (s *statement) CheckNamedValue(nv *driver.NamedValue) error {
	c, ok := s.Stmt.(driver.NamedValueChecker)
	if !ok {
		return s.conn.CheckNamedValue(nv)
	}
	own := nv.Ordinal
	nv.Ordinal = s.final(own-1) + 1
	err := c.CheckNamedValue(nv)
	nv.Ordinal = own
	return err
}

// ColumnConverter returns the driver's converter for an argument. index is the caller's
// index; the driver is asked for the index at which the argument is sent.
func (s *statement) ColumnConverter(index int) driver.ValueConverter {
	if c, ok := s.Stmt.(driver.ColumnConverter); ok {
		return c.ColumnConverter(s.final(index))
	}
	return driver.DefaultParameterConverter
}

// final returns the index at which the caller's argument is sent.
func (s *statement) final(index int) int {
	if isOwnText(s) {
		return index
	}
	return bind.FinalIndex(s.plan, index, s.session)
}
