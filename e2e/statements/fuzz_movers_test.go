package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillpgx"
)

// mover is one connection of a program that moves its session.
type mover interface {
	send(ctx context.Context, s *movesStep, text string) told
	read(ctx context.Context, query string) told
	begin(ctx context.Context) error
	end(ctx context.Context, commit bool) error
	batch(ctx context.Context, steps []*movesStep, texts []string) []told
	close()
}

// movesStep is one statement of such a program.
type movesStep struct {
	text    string
	args    []any
	table   string // of an INSERT
	tags    []int  // of its rows
	rows    bool   // it returns its keys
	way     int    // byExec, byQuery, byPrepared or byHeld
	alters  bool   // it makes tables of names, or gives them others
	changes bool   // it changes a table of a or b
}

// byHeld executes a statement that stays prepared from step to step.
const byHeld = waysToSend

// handleMover is a connection of package database/sql.
type handleMover struct {
	db   *sql.DB
	conn *sql.Conn
	tx   *sql.Tx
	held map[string]*sql.Stmt
}

// openHandles opens the handles of both sides.
func (w *moved) openHandles(ctx context.Context) error {
	filled, err := keyfill.OpenDB(w.connectors[1], keyfill.Options{Policy: w.cfg})
	if err != nil {
		return err
	}
	for i, db := range []*sql.DB{sql.OpenDB(w.connectors[0]), filled} {
		m := &handleMover{db: db, held: map[string]*sql.Stmt{}}
		w.movers[i] = m
		if m.conn, err = db.Conn(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (m *handleMover) speaker() speaker {
	if m.tx != nil {
		return m.tx
	}
	return m.conn
}

func (m *handleMover) send(ctx context.Context, s *movesStep, text string) told {
	if s.way != byHeld {
		return ask(ctx, m.speaker(), &storedStatement{args: s.args, way: s.way}, text)
	}
	stmt := m.held[text]
	if stmt == nil {
		var err error
		if stmt, err = m.conn.PrepareContext(ctx, text); err != nil {
			return told{err: err, affected: -1}
		}
		m.held[text] = stmt
	}
	if s.rows {
		rows, err := stmt.QueryContext(ctx, s.args...)
		return readAnswer(rows, err, false)
	}
	return resultAnswer(stmt.ExecContext(ctx, s.args...))
}

func (m *handleMover) read(ctx context.Context, query string) told {
	rows, err := m.speaker().QueryContext(ctx, query)
	return readAnswer(rows, err, false)
}

func (m *handleMover) begin(ctx context.Context) (err error) {
	m.tx, err = m.conn.BeginTx(ctx, nil)
	return err
}

func (m *handleMover) end(_ context.Context, commit bool) error {
	tx := m.tx
	m.tx = nil
	if commit {
		return tx.Commit()
	}
	return tx.Rollback()
}

func (m *handleMover) batch(context.Context, []*movesStep, []string) []told { return nil }

func (m *handleMover) close() {
	for _, stmt := range m.held {
		stmt.Close()
	}
	if m.conn != nil {
		m.conn.Close()
	}
	m.db.Close()
}

// pgxMover is a connection of pgx, or of keyfillpgx.
type pgxMover struct {
	conn  pgxConn
	tx    pgx.Tx
	held  map[string]string // the names of prepared statements
	after func()
}

// pgxConn is what both connections have.
type pgxConn interface {
	pgxSpeaker
	Begin(context.Context) (pgx.Tx, error)
	Close(context.Context) error
}

// pgxSpeaker is what a transaction has, too.
type pgxSpeaker interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	Query(context.Context, string, ...any) (pgx.Rows, error)
	Prepare(context.Context, string, string) (*pgconn.StatementDescription, error)
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
}

// openNative opens connections of both sides.
func (w *moved) openNative(ctx context.Context) error {
	for i, dsn := range w.dsns {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		m := &pgxMover{conn: conn, held: map[string]string{}, after: func() { conn.Close(context.Background()) }}
		w.movers[i] = m
		if i == 1 {
			filled, err := keyfillpgx.WrapConn(ctx, conn, keyfill.Options{Policy: w.cfg})
			if err != nil {
				return err
			}
			m.conn = filled
		}
	}
	return nil
}

func (m *pgxMover) speaker() pgxSpeaker {
	if m.tx != nil {
		return m.tx
	}
	return m.conn
}

func (m *pgxMover) send(ctx context.Context, s *movesStep, text string) told {
	db := m.speaker()
	if s.way == byPrepared || s.way == byHeld {
		name := m.held[text]
		if name == "" {
			name = fmt.Sprintf("held%d", len(m.held))
			if _, err := db.Prepare(ctx, name, text); err != nil {
				return told{err: err, affected: -1}
			}
			m.held[text] = name
		}
		text = name
	}
	if s.rows {
		rows, err := db.Query(ctx, text, s.args...)
		return pgxAnswer(rows, err)
	}
	tag, err := db.Exec(ctx, text, s.args...)
	return told{err: err, affected: tag.RowsAffected()}
}

// pgxAnswer reads the rows of a text: the key is their first column.
func pgxAnswer(rows pgx.Rows, err error) told {
	a := told{err: err, affected: -1}
	if err != nil {
		return a
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return told{err: err, affected: -1}
		}
		if id, ok := values[0].([16]byte); ok {
			values[0] = fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
		}
		a.ids, a.rows = append(a.ids, fmt.Sprint(values[0])), append(a.rows, fmt.Sprint(values[1:]))
	}
	a.err, a.affected = rows.Err(), rows.CommandTag().RowsAffected()
	return a
}

func (m *pgxMover) read(ctx context.Context, query string) told {
	rows, err := m.speaker().Query(ctx, query)
	return pgxAnswer(rows, err)
}

func (m *pgxMover) begin(ctx context.Context) (err error) {
	m.tx, err = m.conn.Begin(ctx)
	return err
}

func (m *pgxMover) end(ctx context.Context, commit bool) error {
	tx := m.tx
	m.tx = nil
	if commit {
		return tx.Commit(ctx)
	}
	return tx.Rollback(ctx)
}

// batch sends the steps together, and returns the result of each. The error of the batch
// is the last one's.
func (m *pgxMover) batch(ctx context.Context, steps []*movesStep, texts []string) []told {
	b := &pgx.Batch{}
	for i, s := range steps {
		b.Queue(texts[i], s.args...)
	}
	res := m.speaker().SendBatch(ctx, b)
	var all []told
	for _, s := range steps {
		var a told
		if s.rows {
			rows, err := res.Query()
			a = pgxAnswer(rows, err)
		} else {
			tag, err := res.Exec()
			a = told{err: err, affected: tag.RowsAffected()}
		}
		all = append(all, a)
		if a.err != nil {
			break
		}
	}
	last := &all[len(all)-1]
	last.err = errors.Join(last.err, res.Close())
	return all
}

func (m *pgxMover) close() {
	m.conn.Close(context.Background())
	m.after()
}
