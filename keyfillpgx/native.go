package keyfillpgx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
)

// native is a connection of pgx as a driver.Conn for keyfill. Its own methods are for
// keyfill's queries, and what Texts returns is for the texts of the application. Arguments
// go to pgx unchanged.
type native struct {
	conn *pgx.Conn
	mode pgx.QueryExecMode // the mode of calls that name no other mode

	filled  map[string][]string // the texts with keys that are prepared, by the names of the application's statements
	doubted map[string]bool     // texts of filled that pgx knows, and that the server may have forgotten

	// The next four fields belong to the application's text that is being executed.
	call call
	tag  pgconn.CommandTag // the last command tag that pgx has returned for the text
	rows *answer           // the last rows that pgx has returned for the text
	load *load             // the COPY that is being prepared; nil if there is none

	// copying reports whether pgx is copying rows, so that it accepts no other statement.
	// It changes only while no other goroutine asks for rows.
	copying bool

	leaves bool // whether the pool closes the connection, so that Close does not

	begin  *pgx.TxOptions  // the options of the transaction that the application begins
	begun  pgx.Tx          // the transaction that a batch has begun
	last   pgx.Tx          // the last transaction that BeginTx has returned
	ending context.Context // the context of the application's Commit or Rollback, which a driver.Tx does not get
}

var (
	_ session.NativeConn        = (*native)(nil)
	_ driver.ConnBeginTx        = (*native)(nil)
	_ driver.ConnPrepareContext = (*native)(nil)
	_ driver.ExecerContext      = (*native)(nil)
	_ driver.QueryerContext     = (*native)(nil)
	_ driver.NamedValueChecker  = (*native)(nil)
	_ driver.Pinger             = (*native)(nil)
	_ driver.SessionResetter    = (*native)(nil)
	_ driver.Validator          = (*native)(nil)
)

// Texts returns what executes the texts of the application.
func (n *native) Texts() (driver.ExecerContext, driver.QueryerContext) { return texts{n}, texts{n} }

// InTransaction reports whether a transaction is open, by the status in the server's last
// answer.
func (n *native) InTransaction() bool { return n.conn.PgConn().TxStatus() != 'I' }

// errCopying is returned if a key of a COPY would be reserved on its own connection.
var errCopying = anchor.Last("keyfillpgx", "keyfillpgx: a COPY of a transaction that has changed tables cannot reserve its keys: commit the change first, or send INSERTs")

// ExecContext executes a statement of keyfill's own.
func (n *native) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if n.copying {
		return nil, errCopying
	}
	tag, err := n.conn.Exec(ctx, query, n.ownArguments(args)...)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(tag.RowsAffected()), nil
}

// QueryContext sends a query of keyfill's own.
func (n *native) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if n.copying {
		return nil, errCopying
	}
	rows, err := n.conn.Query(ctx, query, n.ownArguments(args)...)
	a := newAnswer(n.conn, rows)
	if err = a.first(err); err != nil {
		return nil, err
	}
	return a, nil
}

// ownArguments returns the arguments of keyfill's own statement. If pgx would refuse the
// arguments under the simple protocol, an option for another mode comes first.
func (n *native) ownArguments(args []driver.NamedValue) []any {
	plain := values(args)
	server := n.conn.PgConn()
	if n.mode == pgx.QueryExecModeSimpleProtocol &&
		(server.ParameterStatus("standard_conforming_strings") != "on" || server.ParameterStatus("client_encoding") != "UTF8") {
		return append([]any{pgx.QueryExecModeExec}, plain...)
	}
	return plain
}

// PrepareContext returns the COPY that is being prepared, or a statement that pgx sends
// without keeping it.
func (n *native) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	if n.load != nil {
		return n.load, n.load.open(query)
	}
	return unkept{n, query}, nil
}

// Prepare is PrepareContext for callers without a context.
func (n *native) Prepare(query string) (driver.Stmt, error) {
	return n.PrepareContext(context.Background(), query)
}

// CheckNamedValue accepts every value: pgx converts them.
func (n *native) CheckNamedValue(*driver.NamedValue) error { return nil }

// Ping pings the server.
func (n *native) Ping(ctx context.Context) error { return n.conn.Ping(ctx) }

// ResetSession does nothing, because the hooks of the pool have run before.
func (n *native) ResetSession(context.Context) error { return nil }

// IsValid reports whether the connection is open.
func (n *native) IsValid() bool { return !n.conn.IsClosed() }

// patience is how long closing a connection waits for the server, and how long a rollback
// waits for it after the caller's context has ended.
const patience = 5 * time.Second

// Close closes the connection of pgx, unless its pool closes it.
func (n *native) Close() error {
	if n.leaves {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return n.conn.Close(ctx)
}

// Begin is BeginTx for callers without a context.
func (n *native) Begin() (driver.Tx, error) {
	return n.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx begins the transaction that the application asks for, or one of keyfill's own.
func (n *native) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if tx := n.begun; tx != nil {
		n.begun, n.last = nil, tx
		return nativeTx{n, tx, ctx}, nil
	}
	options, err := optionsOf(opts)
	if n.begin != nil {
		options, err = *n.begin, nil
		n.begin = nil
	}
	if err != nil {
		return nil, err
	}
	tx, err := n.conn.BeginTx(ctx, options)
	if err != nil {
		return nil, err
	}
	n.last = tx
	return nativeTx{n, tx, ctx}, nil
}

// optionsOf returns the options of a transaction of keyfill's own.
func optionsOf(opts driver.TxOptions) (o pgx.TxOptions, err error) {
	switch level := sql.IsolationLevel(opts.Isolation); level {
	case sql.LevelDefault:
	case sql.LevelReadCommitted:
		o.IsoLevel = pgx.ReadCommitted
	case sql.LevelRepeatableRead:
		o.IsoLevel = pgx.RepeatableRead
	case sql.LevelSerializable:
		o.IsoLevel = pgx.Serializable
	default:
		return o, anchor.Lastf("keyfillpgx", "keyfillpgx: PostgreSQL has no isolation level %s: take another one", level)
	}
	if opts.ReadOnly {
		o.AccessMode = pgx.ReadOnly
	}
	return o, nil
}

// nativeTx is a transaction of pgx as a driver.Tx for keyfill. A transaction that keyfill
// has begun for itself ends with the context that it was begun with.
type nativeTx struct {
	native *native
	tx     pgx.Tx
	ctx    context.Context
}

func (t nativeTx) Commit() error {
	if ctx := t.native.ending; ctx != nil {
		return t.tx.Commit(ctx)
	}
	return t.tx.Commit(t.ctx)
}

// Rollback rolls back the transaction. If keyfill has begun the transaction for itself, the
// rollback runs even if the caller's context has ended.
func (t nativeTx) Rollback() error {
	if ctx := t.native.ending; ctx != nil {
		return t.tx.Rollback(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), patience)
	defer cancel()
	return t.tx.Rollback(ctx)
}

// texts executes the texts of the application on a connection.
type texts struct{ *native }

// ExecContext executes a text, and keeps its command tag for the application.
func (t texts) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	n := t.native
	sent, err := n.sent(ctx, &n.call, query)
	if err != nil {
		return nil, err
	}
	n.tag, err = n.conn.Exec(ctx, sent, n.call.with(args)...)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(n.tag.RowsAffected()), nil
}

// QueryContext executes a text, and keeps its rows for the application. It reads the first
// row, since only then the server reports whether the statement has failed. If the text
// does not concern keyfill, QueryContext reads no row.
func (t texts) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	n := t.native
	sent, err := n.sent(ctx, &n.call, query)
	if err != nil {
		return nil, err
	}
	rows, err := n.conn.Query(ctx, sent, n.call.with(args)...)
	a := newAnswer(n.conn, rows)
	a.keeps, a.early = true, err
	n.rows = a
	if n.call.passes {
		return a, err
	}
	if err = a.first(err); err != nil {
		return nil, err
	}
	return a, nil
}

// unkept is a text that is sent once: pgx keeps no statement for it.
type unkept struct {
	native *native
	query  string
}

var (
	_ driver.StmtExecContext  = unkept{}
	_ driver.StmtQueryContext = unkept{}
)

// isOnce sets that pgx keeps no statement for the call, if its mode would keep one.
func (s unkept) isOnce() {
	switch n := s.native; n.mode {
	case pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe:
		n.call.once = true
	default:
		n.call.once = n.call.name != "" // a prepared statement has parameters with known types
	}
}

func (s unkept) Close() error  { return nil }
func (s unkept) NumInput() int { return -1 }

func (s unkept) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.isOnce()
	return texts{s.native}.ExecContext(ctx, s.query, args)
}

func (s unkept) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.isOnce()
	return texts{s.native}.QueryContext(ctx, s.query, args)
}

func (s unkept) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), session.NamedValues(args))
}

func (s unkept) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), session.NamedValues(args))
}
