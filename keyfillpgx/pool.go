package keyfillpgx

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/keyfill/keyfill"
)

// Pool is a pool of pgx whose INSERTs get their keys. It has the methods of a
// *pgxpool.Pool that send statements, and is safe for concurrent use. [WrapPool] makes it.
type Pool struct {
	pool      *pgxpool.Pool
	connector *keyfill.Connector
	key       string // the key of keyfill's Conn in the custom data of a connection of pgx
}

// WrapPool returns a pool that fills keys around a pool of pgx. It opens no connection.
// Keys of sources that count in a database are reserved on separate connections, which are
// opened by the pool's config with its hooks BeforeConnect and AfterConnect.
//
// It fails with the errors of the policy.
func WrapPool(pool *pgxpool.Pool, o keyfill.Options) (*Pool, error) {
	cfg := pool.Config()
	var opened []stdlib.OptionOpenDB
	if cfg.BeforeConnect != nil {
		opened = append(opened, stdlib.OptionBeforeConnect(cfg.BeforeConnect))
	}
	if cfg.AfterConnect != nil {
		opened = append(opened, stdlib.OptionAfterConnect(cfg.AfterConnect))
	}
	parent := newConnector(cfg.ConnConfig, opened...)
	//nolint:staticcheck // pools may still have BeforeAcquire
	if cfg.BeforeAcquire != nil || cfg.PrepareConn != nil || cfg.AfterRelease != nil {
		parent.ResetSession = nil // a hook of the pool may change the session's settings
	}
	connector, err := keyfill.WrapConnector(parent, o)
	if err != nil {
		return nil, err
	}
	return &Pool{pool: pool, connector: connector, key: fmt.Sprintf("keyfillpgx %p", connector)}, nil
}

// Mount returns keyfill's handle on the pool's database, with its statistics, its mode, its
// keys and its check.
func (p *Pool) Mount() *keyfill.Mount { return p.connector.Mount() }

// Close closes the pool of pgx, waits for connections that are still acquired, and gives
// back to the store the series (ranges of integers) of recycled sources and the leased
// numbers of workers. Numbers of other sources that were reserved and not used are gaps.
// Close returns an error if giving back fails.
func (p *Pool) Close() error {
	p.pool.Close()
	return p.connector.Close()
}

// PoolConn is a connection of a [Pool], acquired until Release. It has the methods of a
// [Conn].
type PoolConn struct {
	*conn
	acquired *pgxpool.Conn // the connection of pgx's pool; nil after Release
}

// conn gives a PoolConn the methods of a Conn. An embedded field called Conn would hide the
// method of that name, so the alias has another name.
type conn = Conn

// Acquire is [pgxpool.Pool.Acquire].
func (p *Pool) Acquire(ctx context.Context) (*PoolConn, error) {
	acquired, err := p.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	c, err := p.connOf(ctx, acquired.Conn())
	if err != nil {
		acquired.Release()
		return nil, err
	}
	return &PoolConn{c, acquired}, nil
}

// connOf returns keyfill's Conn for a connection of the pool, and makes it at the first
// use.
func (p *Pool) connOf(ctx context.Context, conn *pgx.Conn) (*Conn, error) {
	known := conn.PgConn().CustomData()
	if c, ok := known[p.key].(*Conn); ok {
		return c, c.keyfill.ResetSession(ctx)
	}
	c, err := newConn(ctx, p.connector, conn)
	if err == nil {
		known[p.key] = c
	}
	return c, err
}

// Release gives the connection back to the pool. A second call does nothing.
func (c *PoolConn) Release() {
	if c.acquired == nil {
		return
	}
	conn := c.native.conn
	if conn.IsClosed() || conn.PgConn().IsBusy() || conn.PgConn().TxStatus() != 'I' {
		// The pool closes a connection that is not idle, so keyfill's Conn ends too.
		c.native.leaves = true
		_ = c.keyfill.Close() // Close has nothing to close, since leaves is set
	}
	c.acquired.Release()
	c.acquired = nil
}

// Close releases the connection: the pool keeps it open.
func (c *PoolConn) Close(context.Context) error {
	c.Release()
	return nil
}

// AcquireFunc is [pgxpool.Pool.AcquireFunc].
func (p *Pool) AcquireFunc(ctx context.Context, f func(*PoolConn) error) error {
	c, err := p.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	return f(c)
}

// Ping acquires a connection and pings the server.
func (p *Pool) Ping(ctx context.Context) error {
	return p.AcquireFunc(ctx, func(c *PoolConn) error { return c.Ping(ctx) })
}

// Exec is [Conn.Exec] on any connection of the pool.
func (p *Pool) Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error) {
	c, err := p.Acquire(ctx)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer c.Release()
	return c.Exec(ctx, sql, arguments...)
}

// Query is [Conn.Query] on any connection of the pool, which is released when the rows
// end.
func (p *Pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c, err := p.Acquire(ctx)
	if err != nil {
		return errRows{err}, err
	}
	keeps := false
	defer func() {
		if !keeps { // the query failed, or a tracer of the application has panicked
			c.Release()
		}
	}()
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		rows.Close()
		return rows, err
	}
	keeps = true
	return &poolRows{rows, c}, nil
}

// QueryRow is [Conn.QueryRow] on any connection of the pool, which is released by Scan.
func (p *Pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := p.Query(ctx, sql, args...) // Scan returns the error of Query
	return oneRow{rows}
}

// SendBatch is [Conn.SendBatch] on any connection of the pool, which is released when the
// results are closed, or the transaction that the batch begins has ended.
func (p *Pool) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	c, err := p.Acquire(ctx)
	if err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return c.sendBatch(ctx, b, c.Release)
}

// CopyFrom is [Conn.CopyFrom] on any connection of the pool.
func (p *Pool) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	c, err := p.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Release()
	return c.CopyFrom(ctx, table, columns, rows)
}

// Begin is [Conn.Begin] on any connection of the pool, which is released when the
// transaction ends.
func (p *Pool) Begin(ctx context.Context) (pgx.Tx, error) {
	return p.BeginTx(ctx, pgx.TxOptions{})
}

// BeginTx is [Pool.Begin] with options.
func (p *Pool) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	c, err := p.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	t, err := c.beginTx(ctx, o, c.Release)
	if err != nil {
		c.Release()
		return nil, err
	}
	return t, nil
}

// poolRows are rows that release their connection when they end.
type poolRows struct {
	pgx.Rows
	conn *PoolConn
}

func (r *poolRows) Next() bool {
	more := r.Rows.Next()
	if !more {
		r.Close()
	}
	return more
}

func (r *poolRows) Close() {
	defer r.conn.Release() // release even if a tracer of the application panics
	r.Rows.Close()
}

func (r *poolRows) Scan(dest ...any) error {
	err := r.Rows.Scan(dest...)
	if err != nil {
		r.Close()
	}
	return err
}

func (r *poolRows) Values() ([]any, error) {
	values, err := r.Rows.Values()
	if err != nil {
		r.Close()
	}
	return values, err
}
