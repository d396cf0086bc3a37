// Package locktrial tries whether a server's locks keep a second session out. A server may
// take the statement of a lock and lock nothing.
package locktrial

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Trial tries on two connections whether a lock that sources rely on makes the second
// session wait. Each statement is sent alone, and none changes a row. {number} stands
// for a number that no other session locks.
type Trial struct {
	any string // a query that returns 0 if there is nothing to lock; empty if there always is

	hold  []string // statements that take the lock, the first in a new transaction
	try   []string // statements with which another session takes it; the last one has to fail
	end   string   // ends the transaction of each session
	undo  string   // sets back what try has set in the session; empty if end does it
	ready string   // a query for {ready} in undo; empty if undo needs none

	Lost    string // what happens to keys without the lock
	Instead string // what to do
}

const (
	sequencesCount = "SELECT COUNT(*) FROM keyfill_sequences"
	sequencesRow   = "SELECT name FROM keyfill_sequences WHERE name = (SELECT MIN(name) FROM keyfill_sequences) FOR UPDATE NOWAIT"

	lostRow    = "FOR UPDATE on a row of keyfill_sequences does not keep a second session from it: two INSERTs may get the same key, unless the engine makes one of them fail at its COMMIT"
	insteadRow = "try joined numbers with 8 connections at once on this server before they are used; or name another database as the store"
)

// The trials of the engines.
var (
	MySQLRow      = &Trial{any: sequencesCount, hold: []string{"START TRANSACTION", sequencesRow}, try: []string{"START TRANSACTION", sequencesRow}, end: "ROLLBACK", Lost: lostRow, Instead: insteadRow}
	PostgreSQLRow = &Trial{any: sequencesCount, hold: []string{"BEGIN", sequencesRow}, try: []string{"BEGIN", sequencesRow}, end: "ROLLBACK", Lost: lostRow, Instead: insteadRow}

	// The function is the one that maxplusone calls. PostgreSQL 18 documentation, section
	// 19.11: lock_timeout ends the wait for an advisory lock too.
	PostgreSQLGreatest = &Trial{
		hold: []string{"BEGIN", "SELECT pg_advisory_xact_lock({number})"},
		try:  []string{"BEGIN", "SET LOCAL lock_timeout = '100ms'", "SELECT pg_advisory_xact_lock({number})"}, end: "ROLLBACK",
		Lost:    "pg_advisory_xact_lock does not make a second session wait: two INSERTs at once get the same key",
		Instead: "take kind: sequence; or say lock: none, where an INSERT may fail with a duplicate key",
	}

	SQLiteWriter = &Trial{
		ready: "PRAGMA busy_timeout", hold: []string{"BEGIN IMMEDIATE"}, try: []string{"PRAGMA busy_timeout = 0", "BEGIN IMMEDIATE"}, end: "ROLLBACK", undo: "PRAGMA busy_timeout = {ready}",
		Lost:    "two connections write to the file at once: INSERTs may get the same key, and the file may be damaged",
		Instead: "in the DSN: leave out nolock and vfs=unix-none; keep the file on a disk of this machine",
	}
)

// AlwaysThere reports whether there always is something to lock.
func (t *Trial) AlwaysThere() bool { return t.any == "" }

// Excludes reports whether the lock keeps a second session out, or whether that could not
// be tried since nothing is there to lock, or another session holds it.
func (t *Trial) Excludes(ctx context.Context, db *sql.DB, d *dialect.Dialect) (bool, error) {
	if t.any != "" {
		var rows int64
		if err := db.QueryRowContext(ctx, t.any).Scan(&rows); err != nil || rows == 0 {
			return true, err
		}
	}
	number := strconv.FormatInt(rand.Int64(), 10)
	first, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer first.Close()
	second, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer second.Close()
	defer t.close(ctx, first)
	if err := send(ctx, first, t.hold, number); err != nil {
		return sqlcode.ClassOf(d, err) == dialect.ErrorLock, err
	}
	if t.ready != "" {
		var value int64
		if err := second.QueryRowContext(ctx, t.ready).Scan(&value); err != nil {
			return false, err
		}
		defer func() {
			_ = send(ctx, second, []string{strings.ReplaceAll(t.undo, "{ready}", strconv.FormatInt(value, 10))}, "") // a session without it is closed with the pool
		}()
	}
	defer t.close(ctx, second)
	err = send(ctx, second, t.try, number)
	if sqlcode.ClassOf(d, err) == dialect.ErrorLock {
		return true, nil
	}
	return false, err
}

// close ends the transaction that the trial has begun on a connection, or else the
// connection, and its transaction with it.
func (t *Trial) close(ctx context.Context, c *sql.Conn) {
	if _, err := c.ExecContext(ctx, t.end); err != nil {
		_ = c.Raw(func(any) error { return driver.ErrBadConn }) // the pool drops the connection
	}
}

// send executes statements on a connection.
func send(ctx context.Context, c *sql.Conn, statements []string, number string) error {
	for _, text := range statements {
		if _, err := c.ExecContext(ctx, strings.ReplaceAll(text, "{number}", number)); err != nil {
			return err
		}
	}
	return nil
}
