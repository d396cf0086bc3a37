package executor

//row:ways | has a SELECT for its rows | the executor `insertSelect`: `fill/executor/countrows.go` counts, `fill/executor/insertselect.go` sends; the engine makes UUIDs by `fill/execution/serveruuid.go`, or from a prefix by `internal/rewrite/inserts/keytail.go` and `fill/executor/keytail.go`

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/rowcount"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// errUndo is returned when counting the rows of a query may change something, and the
// change could not be rolled back.
var errUndo = anchor.New("rows", "the INSERT's query calls functions, and keyfill does not know whether a transaction is open: begin the transaction with BeginTx, or select the keys too")

// countRows counts the rows of each INSERT … SELECT in the statement. A query may read
// rows that an earlier INSERT of the text returns; that INSERT has its keys by then.
func (s *InsertSelect) countRows(ctx context.Context) error {
	if err := KeepsValues(ctx, s.X); err != nil {
		return err
	}
	beside := s.X.Plan.CountsBeside()
	if beside {
		if err := s.SparesKeys(); err != nil {
			return err
		}
	}
	s.X.Drawn.Rows = map[int]int64{}
	for i, d := range s.X.Plan.Draws {
		if s.X.Drawn.Keys != nil && s.X.Plan.Inserts[d.Insert].Query != nil {
			s.X.Drawn.Keys[i] = nil
		}
	}
	s.counts++
	for _, i := range s.X.Plan.Counted() {
		if i > 0 {
			drawn, err := keys.Draw(ctx, s.X.Plan, s.X.Args, s.X.Holes, s.X.Drawn.Rows, s.X.Drawn.Keys, s.X.Conn, nil)
			if err != nil {
				_ = s.release(ctx)
				return err
			}
			s.X.Drawn.Keys = drawn
		}
		n, err := s.countInsert(ctx, i)
		if err != nil {
			return err
		}
		if n > 1 && readsAhead(s.X.Plan) {
			_ = s.release(ctx) // the refusal is the error to return
			return s.X.Plan.Refused(rewrite.ErrReadsKey)
		}
		switch {
		case beside:
			n = withSpare(n)
		case s.counts > 1:
			n += n/8 + 1 // another program is adding rows, so draw more keys
		}
		s.X.Drawn.Rows[i] = n
	}
	return nil
}

// readsAhead reports whether a query reads the last key of its connection, and the
// engine may compute a row of the query before it stores the row before: SQLite does so
// for a window function, and otherwise stores each row first.
func readsAhead(p *plans.Plan) bool {
	return p.Dialect.Family == dialect.FamilySQLite && p.Reads()&effects.ReadsLastKey != 0
}

// KeepsValues returns a refusal if the engine may change the values of a query while it
// numbers the rows. Integers and most results of stored functions do not change; if the
// text does not show whether a value is one of these, the engine is asked for its type.
func KeepsValues(ctx context.Context, x *execution.Execution) error {
	r := x.Plan.NotNumbered()
	if r == nil {
		return nil
	}
	if len(x.Plan.Inserts) != 1 || x.Plan.Doubts(0) == nil || x.Conn.DB.Detached {
		return notByEngine(ctx, x, r)
	}
	types, err := columnTypes(ctx, x)
	if err != nil {
		return err
	}
	var operands []string // the types of the operands of all doubtful columns, one after the other
	first, asked := 0, false
	for _, d := range x.Plan.Doubts(0) {
		from, to := first, first+len(d.Operands)
		first = to
		switch {
		case d.Column >= len(types):
			return notByEngine(ctx, x, r)
		case isInteger(types[d.Column]), d.Call && isCarried(types[d.Column]):
			continue
		case d.Operands != nil && !asked:
			if operands, err = operandTypes(ctx, x); err != nil {
				return err
			}
			asked = true
		}
		if d.Operands == nil || to > len(operands) || !areExact(operands[from:to]) {
			return notByEngine(ctx, x, r)
		}
	}
	return nil
}

// operandTypes returns the types of the operands in the exact arithmetic of a query. It
// returns none if the engine cannot be asked.
func operandTypes(ctx context.Context, x *execution.Execution) ([]string, error) {
	query := rowcount.OperandsQuery(x.Plan, 0)
	if query == "" {
		return nil, nil
	}
	types, err := dbconn.ColumnTypes(ctx, x.Conn.Own(), query, nil)
	if err != nil && sqlcode.Answered(err) {
		return nil, nil // the query uses a name that its FROM clause does not have
	}
	return types, err
}

// areExact reports whether all types are types of integers and decimals.
func areExact(types []string) bool {
	return !slices.ContainsFunc(types, func(name string) bool { return !isInteger(name) && name != "DECIMAL" })
}

// notByEngine adds to a refusal why the engine does not number the rows itself this
// time, although it could.
func notByEngine(ctx context.Context, x *execution.Execution, r *plans.Refusal) *plans.Refusal {
	switch takes, err := TakesFirst(ctx, x); {
	case err != nil || !takes:
	case x.Conn.Tx == session.Inside:
		r.Detail = "the key has it, but the transaction has changed a table whose engine has no savepoints, such as Aria: send the INSERT before that change"
	default:
		r.Detail = "the key has it, but whether a transaction is open, or follows another without BEGIN, is not known: begin it with BeginTx"
	}
	return r
}

// KeepsViews does what KeepsValues does, for a query that reads views, whose columns
// may be expressions. answers is the row that a count returned.
func KeepsViews(ctx context.Context, x *execution.Execution, answers []any) error {
	n := &x.Plan.Dialect.Numbering
	if !n.Carries || len(answers) <= len(n.Server) {
		return nil
	}
	if views, ok := session.IntegerOf(answers[len(n.Server)]); ok && views == 0 {
		return nil
	}
	types, err := columnTypes(ctx, x)
	if err != nil {
		return err
	}
	for _, name := range types {
		if !isInteger(name) && !isPlain(name) {
			return x.Plan.Refused(rewrite.ErrSelectValues)
		}
	}
	return nil
}

// columnTypes returns the types of the columns in the query of the execution's INSERT.
func columnTypes(ctx context.Context, x *execution.Execution) ([]string, error) {
	query, args := rowcount.ColumnsQuery(x.Plan, 0, x.Args, x.Holes, nil)
	given := make([]any, len(args))
	for i := range args {
		given[i] = args[i]
	}
	types, err := dbconn.ColumnTypes(ctx, x.Conn.Own(), query, given)
	return types, UnlessOld(ctx, x.Conn, x.Plan, err)
}

// isPlain reports whether values of this type are the same in a temporary table,
// whatever expression they come from.
func isPlain(name string) bool {
	switch name {
	case "VARCHAR", "CHAR", "TEXT", "DATE", "DATETIME", "TIMESTAMP", "TIME":
		return true
	}
	return false
}

// isCarried reports whether a temporary table keeps the values of this type as a stored
// function returns them.
func isCarried(name string) bool {
	switch name {
	case "", "FLOAT", "BIT", "YEAR":
		return false
	}
	return true
}

// isInteger reports whether the name of a type, as go-sql-driver/mysql returns it,
// means an integer type.
func isInteger(name string) bool {
	switch strings.TrimPrefix(name, "UNSIGNED ") {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT":
		return true
	}
	return false
}

// countInsert counts the rows of one INSERT … SELECT. If counting may change something,
// the change is rolled back: to a savepoint, which stays for the INSERT, or by the end
// of a separate transaction.
func (s *InsertSelect) countInsert(ctx context.Context, i int) (n int64, err error) {
	c := s.X.Conn
	in := &s.X.Plan.Inserts[i]
	t := table.Of(in)
	if mock, ok := c.Raw.(explain.RowCounter); ok && c.DB.Detached {
		return mock.CountedRows(), nil
	}
	c.DB.LockBeforeRead(ctx, &c.Session, t, 0)
	if err := c.Settle(ctx); err != nil {
		return 0, err
	}
	if err := s.setSavepoint(ctx); err != nil {
		return 0, t.KeyError(0, whySavepoint(err))
	}
	var own driver.Tx
	if in.Query.Unsure && !s.saved {
		if own, err = dbconn.Begin(ctx, c.Raw); err != nil {
			return 0, err
		}
	}
	query, args := rowcount.CountQuery(s.X.Plan, i, s.X.Args, s.X.Holes, s.X.Drawn.Keys)
	row, err := c.QueryRow(ctx, query, args)
	switch {
	case own != nil:
		if undone := own.Rollback(); err == nil {
			err = undone
		}
	case err != nil && s.X.Plan.CountsBeside() && s.saved:
		if err = s.uncountable(ctx, err); s.saved {
			_ = s.lost(err)
		}
		return 0, err
	case s.lost(err):
		return 0, err // the transaction stays aborted, as it would be after the INSERT itself
	case s.saved && in.Query.Unsure:
		if undone := s.toSavepoint(ctx); err == nil {
			err = undone
		}
	}
	if err == nil {
		n, err = s.counted(row)
	}
	if err == nil && len(s.X.Plan.Inserts) == 1 {
		err = KeepsViews(ctx, s.X, row[1:])
	}
	if failed := s.uncounted(ctx, err); err == nil {
		err = failed
	}
	if err != nil && s.X.Plan.CountsBeside() {
		return n, s.uncountable(ctx, err)
	}
	return n, UnlessOld(ctx, c, s.X.Plan, err)
}

// noSavepoints is MySQL's error code for a SAVEPOINT after a change of a table whose
// engine has no savepoints, such as Aria: "ER_CHECK_NOT_IMPLEMENTED" in the server
// error reference.
const noSavepoints = 1178

// errNoSavepoint is returned when a count may change something and could not be rolled
// back.
var errNoSavepoint = anchor.New("rows", "the INSERT's query calls functions, and keyfill could not undo the count of its rows, since a table without savepoints was changed: send the INSERT before that change")

// whySavepoint returns the error of a savepoint that could not be set, as the
// application gets it.
func whySavepoint(err error) error {
	if sqlcode.Is(err, noSavepoints) {
		return fmt.Errorf("%w: %w", errNoSavepoint, err)
	}
	return err
}

// setSavepoint sets keyfill's savepoint if a transaction is open, and the count, or an
// INSERT that fails, may have to be rolled back.
func (s *InsertSelect) setSavepoint(ctx context.Context) error {
	c := s.X.Conn
	d := c.DB.AnyEngine().Dialect
	unsure := slices.ContainsFunc(s.X.Plan.Counted(), func(i int) bool { return s.X.Plan.Inserts[i].Query.Unsure })
	switch {
	case s.saved, !unsure && !d.ErrorsAbort, c.Tx == session.Outside && d.Transactions.Commits == "":
		return nil
	case c.Tx == session.Outside:
		// Without autocommit a transaction begins implicitly. If each commit begins a new
		// transaction (chaining), one is open too.
		alone, chains, err := c.AskCommits(ctx)
		switch {
		case err != nil:
			return err
		case alone && chains:
			return errUndo
		case alone:
			return nil
		}
	case c.Tx == session.Unknown && !d.ErrorsAbort:
		return errUndo
	}
	err := c.ExecSavepoint(ctx, d.Transactions.Set, rowsSavepoint)
	if err != nil && c.Tx == session.Unknown && sqlcode.Answered(err) {
		return nil // PostgreSQL refuses a savepoint outside of a transaction, so none is open
	}
	s.saved = err == nil
	return err
}

// uncounted releases the savepoint after a count that has failed, or that alone has needed
// the savepoint. Releasing it after the INSERT would change ROW_COUNT().
func (s *InsertSelect) uncounted(ctx context.Context, err error) error {
	if err == nil && s.X.Plan.Dialect.ErrorsAbort {
		return nil
	}
	return s.release(ctx)
}

// counted returns the number of rows from the row that a count returned.
func (s *InsertSelect) counted(row []any) (int64, error) {
	if reason := Unnumbered(s.X.Plan.Dialect, row[1:]); reason != "" {
		return 0, s.X.Plan.Refused(reason)
	}
	n, ok := session.IntegerOf(row[0])
	if !ok {
		return 0, session.ErrNoNumber
	}
	return n, nil
}

// Unnumbered returns the reason for which a server does not number the rows of a query
// correctly, from its answers to the dialect's questions; it is empty if the server
// does.
func Unnumbered(d *dialect.Dialect, answers []any) rewrite.Reason {
	n := &d.Numbering
	if len(n.Server) == 0 {
		return ""
	}
	if major, minor, read := dbconn.MajorMinor(session.TextOf(answers[0])); read == 2 &&
		(major < n.Major || major == n.Major && minor < n.Minor) {
		return rewrite.ErrOldServer
	}
	if len(n.Server) == 3 {
		if on, _ := session.IntegerOf(answers[1]); on != 0 && !strings.EqualFold(session.TextOf(answers[2]), "row") {
			return rewrite.ErrStatementLog
		}
	}
	return ""
}

// UnlessOld turns an error of a statement that numbers rows into a refusal if the
// server is too old for it. Such a server may lack WITH, and then cannot even answer
// the question for its version in the same statement.
func UnlessOld(ctx context.Context, c *execution.Conn, p *plans.Plan, err error) error {
	d := p.Dialect
	n := &d.Numbering
	if err == nil || !p.Counts() || n.Major == 0 || d.Family != dialect.FamilyMySQL || !sqlcode.Answered(err) {
		return err
	}
	version, asked := c.AskVersion(ctx)
	if asked != nil || Unnumbered(d, []any{version, int64(0), ""}) != rewrite.ErrOldServer {
		return err
	}
	return p.Refused(rewrite.ErrOldServer)
}
