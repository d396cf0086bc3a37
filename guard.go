//lint:file-ignore SA1019 drivers may have the interfaces of before contexts only, and sql.Conn.Raw reaches ours

package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// guard is the connection below the interceptor. It holds what belongs to one
// connection, and answers for the driver what the layer above would lose: a
// driver without Exec, transaction options, converters of arguments.
//
// database/sql never uses a connection from two goroutines at once, so the
// guard has no lock.
type guard struct {
	conn driver.Conn
	db   *database
	driverCan
	parked   []*execution
	columns  knownColumns
	settings knownSettings
	place    knownPlace
	discard  bool       // the connection is as good as closed: see guardTx
	spare    *execution // that has ended; nil where there is none

	commits knownCommits

	tx      txState
	saved   bool          // the transaction may have begun with a savepoint, and ends with that
	ended   bool          // a transaction that was taken to be open was none; the application has not ended it yet
	ongoing store.Ongoing // the transaction that is open

	begun     bool // BeginTx has begun one, which has got neither Commit nor Rollback
	nested    bool // a text may have begun, or ended, one inside of it
	left      bool // a Commit has failed: what it has left open nobody may end
	unwrapped bool // the application has the driver's connection: what runs on it is not seen

	// joinedDraws counts the numbers that were asked for in its transactions.
	joinedDraws uint64
	drawnBefore uint64 // joinedDraws as the transaction has begun

	// counters are those of a database that this connection alone has: one in
	// memory. nil elsewhere.
	counters   *counterSet
	acquainted bool                 // that was found out
	ensured    bool                 // the tables of states were looked for
	doubts     map[*counter]doubted // what its transaction has found in use
	claimed    bool                 // a claim was noted in one of its transactions since the checkout

	temporary temporaryNames
	altered   alteredTables
}

var (
	_ driver.ConnPrepareContext = (*guard)(nil)
	_ driver.ConnBeginTx        = (*guard)(nil)
	_ driver.ExecerContext      = (*guard)(nil)
	_ driver.QueryerContext     = (*guard)(nil)
	_ driver.NamedValueChecker  = (*guard)(nil)
	_ driver.Pinger             = (*guard)(nil)
	_ driver.SessionResetter    = (*guard)(nil)
	_ driver.Validator          = (*guard)(nil)
)

// driverCan is what the driver's connection can do, asked once: every statement
// wants to know it. What it cannot is nil.
type driverCan struct {
	execer    driver.ExecerContext
	queryer   driver.QueryerContext
	checker   driver.NamedValueChecker
	resetter  driver.SessionResetter
	validator driver.Validator

	execs   bool // it has Exec, with a context or without
	queries bool // it has Query, with a context or without

	// converts says that some statement of its has a ColumnConverter.
	converts bool

	skips [2]skipping // by route
}

// skipping is how often the driver has answered driver.ErrSkip to arguments since it
// took some the last time. Some drivers always do; others only for some texts, as
// go-sql-driver/mysql with interpolateParams.
type skipping struct{ times uint8 }

// So often the driver answers ErrSkip before it is expected to, and so often it is
// then expected to before it is tried again.
const (
	skipsExpected = 3
	skipsUntried  = 64
)

// saw notes the driver's answer to a text with arguments.
func (s *skipping) saw(err error) {
	switch {
	case err != driver.ErrSkip:
		s.times = 0
	case s.times < skipsExpected:
		s.times++
	default:
		s.times = skipsExpected
	}
}

// isExpected reports whether the driver will answer ErrSkip, as far as one can tell.
// It is asked once for a text.
func (s *skipping) isExpected() bool {
	if s.times < skipsExpected {
		return false
	}
	s.times++
	return s.times <= skipsExpected+skipsUntried
}

func abilities(conn driver.Conn) (can driverCan) {
	can.execer, can.execs = conn.(driver.ExecerContext)
	can.queryer, can.queries = conn.(driver.QueryerContext)
	can.checker, _ = conn.(driver.NamedValueChecker)
	can.resetter, _ = conn.(driver.SessionResetter)
	can.validator, _ = conn.(driver.Validator)
	_, exec := conn.(driver.Execer)
	_, query := conn.(driver.Queryer)
	can.execs, can.queries = can.execs || exec, can.queries || query
	return can
}

func newGuard(conn driver.Conn, db *database) *guard {
	g := &guard{conn: conn, db: db, driverCan: abilities(conn)}
	if db.onConnection() {
		g.place = knownPlace{at: db.places.of(""), asked: true} // until something is attached
	}
	return g
}

func (g *guard) Close() error {
	err := g.conn.Close()
	g.altered.ends()
	if g.counters != nil {
		// Their sources have nothing running.
		_ = g.counters.close(context.Background())
	}
	return err
}

func (g *guard) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if g.discard {
		return nil, driver.ErrBadConn
	}
	g.sends(query)
	if g.execer != nil {
		res, err := g.execer.ExecContext(ctx, query, args)
		if len(args) > 0 {
			g.skips[byExec].saw(err)
		}
		return res, err
	}
	c, ok := g.conn.(driver.Execer)
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return c.Exec(query, values)
}

func (g *guard) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if g.discard {
		return nil, driver.ErrBadConn
	}
	g.sends(query)
	if g.queryer != nil {
		rows, err := g.queryer.QueryContext(ctx, query, args)
		if len(args) > 0 {
			g.skips[byQuery].saw(err)
		}
		return rows, err
	}
	c, ok := g.conn.(driver.Queryer)
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return c.Query(query, values)
}

// sends notes that a text is executed on the connection.
func (g *guard) sends(query string) {
	d := g.db.known().dialect
	g.columns.sends(d, query)
	g.settings.sends(d, query)
	g.place.sends(d, query)
	if d.Transactions.DDL && g.tx != txOutside {
		g.altered.sends(d, query)
	}
	g.temporary.sends(d, query)
}

// prepares notes that a text is prepared on the connection.
func (g *guard) prepares(query string) {
	d := g.db.known().dialect
	g.columns.prepares(d, query)
	g.settings.prepares(d, query)
	g.place.prepares(d, query)
	g.temporary.sends(d, query)
}

func (g *guard) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if g.discard {
		return nil, driver.ErrBadConn
	}
	g.prepares(query)
	stmt, err := g.prepare(ctx, query)
	if err != nil || g.checker != nil {
		return stmt, err
	}
	if !g.converts {
		_, g.converts = stmt.(driver.ColumnConverter)
	}
	if _, checks := stmt.(driver.NamedValueChecker); !checks && g.preparesAll() {
		return convertedStatement{stmt, g}, nil
	}
	return stmt, nil
}

// convertedStatement is the statement of a driver that prepares every text, where
// nobody checks its arguments: those are converted as without us.
type convertedStatement struct {
	driver.Stmt
	guard *guard
}

func (s convertedStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return stmtExec(ctx, s.Stmt, args)
}

func (s convertedStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return stmtQuery(ctx, s.Stmt, args)
}

func (s convertedStatement) CheckNamedValue(nv *driver.NamedValue) error { return s.guard.convert(nv) }

func (s convertedStatement) ColumnConverter(index int) driver.ValueConverter {
	if c, ok := s.Stmt.(driver.ColumnConverter); ok {
		return c.ColumnConverter(index)
	}
	return driver.DefaultParameterConverter
}

// prepare prepares a text as database/sql does.
func (g *guard) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if c, ok := g.conn.(driver.ConnPrepareContext); ok {
		return c.PrepareContext(ctx, query)
	}
	stmt, err := g.conn.Prepare(query)
	if err == nil && ctx.Err() != nil {
		_ = stmt.Close()
		return nil, ctx.Err()
	}
	return stmt, err
}

// Begin is for drivers' users of before contexts.
func (g *guard) Begin() (driver.Tx, error) {
	return g.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx gives the errors of database/sql for options that a driver without
// BeginTx cannot have: sqlmw would drop them.
func (g *guard) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if policy.Mode(g.db.mode.Load()) == policy.ModeFill && !opts.ReadOnly {
		g.db.ensure(ctx, g)
	}
	tx, err := g.begin(ctx, opts)
	if err != nil {
		return nil, err
	}
	// Where one was open already, the engine has refused, or counts them.
	g.begun, g.nested = true, g.tx != txOutside
	g.follow(rewrite.TxBegins, nil)
	return guardTx{Tx: tx, guard: g, ctx: ctx}, nil
}

func (g *guard) begin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if g.discard {
		return nil, driver.ErrBadConn
	}
	if c, ok := g.conn.(driver.ConnBeginTx); ok {
		return c.BeginTx(ctx, opts)
	}
	if opts.Isolation != 0 {
		return nil, errors.New("sql: driver does not support non-default isolation level")
	}
	if opts.ReadOnly {
		return nil, errors.New("sql: driver does not support read-only transactions")
	}
	tx, err := g.conn.Begin()
	if err == nil && ctx.Err() != nil {
		_ = tx.Rollback()
		return nil, ctx.Err()
	}
	return tx, err
}

// guardTx is a transaction. Its context is kept because database/sql hands it
// out at the beginning only.
type guardTx struct {
	driver.Tx
	guard *guard
	ctx   context.Context
}

// Rollback marks the connection of a driver that is not both a SessionResetter
// and a Validator: after the end of a transaction's context, database/sql
// throws such a connection away, but it sees sqlmw, which is both.
func (t guardTx) Rollback() error {
	if t.ctx.Err() != nil && (t.guard.resetter == nil || t.guard.validator == nil) {
		t.guard.discard = true
	}
	t.guard.columns.forget() // DDL may have been undone
	t.guard.settings.ends()
	t.guard.place.ends()
	err := t.Tx.Rollback()
	t.guard.ends(err)
	t.guard.left = t.guard.left && err != nil
	return err
}

func (t guardTx) Commit() error {
	t.guard.settings.ends()
	t.guard.place.ends()
	err := t.Tx.Commit()
	failed := err
	if t.guard.db.known().dialect.ErrorsAbort {
		failed = nil // PostgreSQL ends it all the same
	}
	t.guard.ends(failed)
	t.guard.left = t.guard.left || failed != nil
	return err
}

// preparesAll reports whether database/sql prepares every text for the driver, and
// asks no connection of its about arguments.
func (g *guard) preparesAll() bool { return g.checker == nil && !g.execs && !g.queries }

// CheckNamedValue asks the driver's connection. For a driver that prepares every text
// the statement is asked, with the same arguments, when there is one: it may take what
// nobody else does.
func (g *guard) CheckNamedValue(nv *driver.NamedValue) error {
	if g.checker != nil {
		return g.checker.CheckNamedValue(nv)
	}
	if !g.preparesAll() {
		return g.convert(nv)
	}
	if v, err := driver.DefaultParameterConverter.ConvertValue(nv.Value); err == nil {
		nv.Value = v
	}
	return nil
}

// convert converts an argument as database/sql does it without a checker; ErrSkip lets
// database/sql ask the statement's ColumnConverter, if the driver has one.
func (g *guard) convert(nv *driver.NamedValue) (err error) {
	if g.converts {
		return driver.ErrSkip
	}
	switch v := nv.Value.(type) {
	case string, int64, bool, float64, []byte, nil: // what most arguments are
	case int:
		nv.Value = int64(v)
	default:
		nv.Value, err = driver.DefaultParameterConverter.ConvertValue(v)
	}
	return err
}

func (g *guard) Ping(ctx context.Context) error {
	if sink, ok := ctx.Value(unwrapKey{}).(*unwrapSink); ok {
		sink.conn = g.conn
		g.unknown() // until a transaction begins and ends
		g.unwrapped = true
		g.dropJoined()
		g.columns = knownColumns{unsure: true} // what runs on it is not seen
		g.settings = knownSettings{unsure: true}
		g.place.asked, g.place.unsure = false, true
		return nil
	}
	if p, ok := g.conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession is called before the connection is used again: what was parked
// on it belongs to a caller who is gone.
func (g *guard) ResetSession(ctx context.Context) error {
	clear(g.parked)
	g.parked = g.parked[:0]
	g.claimed, g.doubts = false, nil
	g.resets()
	g.columns.forget()
	g.settings.asked = g.settings.asked && g.db.driver.KeepsSession
	g.place.resets(&g.db.driver)
	g.commits.asked = g.commits.asked && g.db.driver.KeepsSession
	if g.resetter != nil {
		return g.resetter.ResetSession(ctx)
	}
	return nil
}

func (g *guard) IsValid() bool {
	if g.discard {
		return false
	}
	if g.validator != nil {
		return g.validator.IsValid()
	}
	return true
}

// plainValues is what database/sql does for drivers without contexts.
func plainValues(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i := range args {
		if args[i].Name != "" {
			return nil, errors.New("sql: driver does not support the use of Named Parameters")
		}
		values[i] = args[i].Value
	}
	return values, ctx.Err()
}

func namedValues(args []driver.Value) []driver.NamedValue {
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named
}
