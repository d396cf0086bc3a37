package check

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// lockProbe tries on two connections whether a lock that sources rely on makes the second
// session wait. Each statement is sent alone, and none changes a row. {number} stands
// for a number that no other session locks.
type lockProbe struct {
	any string // a query that returns 0 if there is nothing to lock; empty if there always is

	hold  []string // statements that take the lock, the first in a new transaction
	try   []string // statements with which another session takes it; the last one has to fail
	end   string   // ends the transaction of each session
	undo  string   // sets back what try has set in the session; empty if end does it
	ready string   // a query for {ready} in undo; empty if undo needs none

	lost    string // what happens to keys without the lock
	instead string // what to do
}

const (
	sequencesCount = "SELECT COUNT(*) FROM keyfill_sequences"
	sequencesRow   = "SELECT name FROM keyfill_sequences WHERE name = (SELECT MIN(name) FROM keyfill_sequences) FOR UPDATE NOWAIT"

	lostRow    = "FOR UPDATE on a row of keyfill_sequences does not keep a second session from it: two INSERTs may get the same key, unless the engine makes one of them fail at its COMMIT"
	insteadRow = "try joined numbers with 8 connections at once on this server before they are used; or name another database as the store"
)

// The probes of the engines.
var (
	mysqlRow    = &lockProbe{any: sequencesCount, hold: []string{"START TRANSACTION", sequencesRow}, try: []string{"START TRANSACTION", sequencesRow}, end: "ROLLBACK", lost: lostRow, instead: insteadRow}
	postgresRow = &lockProbe{any: sequencesCount, hold: []string{"BEGIN", sequencesRow}, try: []string{"BEGIN", sequencesRow}, end: "ROLLBACK", lost: lostRow, instead: insteadRow}

	// The function is the one that maxplusone calls. PostgreSQL 18 documentation, section
	// 19.11: lock_timeout ends the wait for an advisory lock too.
	postgresGreatest = &lockProbe{
		hold: []string{"BEGIN", "SELECT pg_advisory_xact_lock({number})"},
		try:  []string{"BEGIN", "SET LOCAL lock_timeout = '100ms'", "SELECT pg_advisory_xact_lock({number})"}, end: "ROLLBACK",
		lost:    "pg_advisory_xact_lock does not make a second session wait: two INSERTs at once get the same key",
		instead: "take kind: sequence; or say lock: none, where an INSERT may fail with a duplicate key",
	}

	sqliteWriter = &lockProbe{
		ready: "PRAGMA busy_timeout", hold: []string{"BEGIN IMMEDIATE"}, try: []string{"PRAGMA busy_timeout = 0", "BEGIN IMMEDIATE"}, end: "ROLLBACK", undo: "PRAGMA busy_timeout = {ready}",
		lost:    "two connections write to the file at once: INSERTs may get the same key, and the file may be damaged",
		instead: "in the DSN: leave out nolock and vfs=unix-none; keep the file on a disk of this machine",
	}
)

// lookAtLocks tries the locks that the sources in use rely on, if the caller allows it.
func (c *checker) lookAtLocks() error {
	if !c.o.Probe || c.o.Conn != nil {
		return nil
	}
	for name, one := range c.byName() {
		e := engines[one.dialect.Family]
		if one.bad || one.single || e.rowLock == nil {
			continue
		}
		if line, used := c.locksRow(name, e); used {
			if err := c.tryLock(e.rowLock, one, Finding{Line: line}); err != nil {
				return err
			}
		}
	}
	probe, one := c.engine.greatestLock, c.stores[""]
	if probe == nil || one == nil || one.single {
		return nil
	}
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			k := &t.table.KeyColumns[i]
			if src := k.Rule.Source; src.Kind == policy.KindMaxPlusOne && src.Lock != policy.LockNone {
				return c.tryLock(probe, one, Finding{Table: t.found.Name, Column: k.Name, Line: t.lines(i).Source})
			}
		}
	}
	return nil
}

// locksRow reports whether a source in use locks a row of keyfill_sequences in a database,
// and returns the line for a finding about it. On an engine with one writer it is any
// source whose key depends on the writer's lock.
func (c *checker) locksRow(name string, e *engine) (line int, used bool) {
	for _, src := range c.usesOf(name) {
		if src.Table == nil && (c.hasRows(src) || e.rowLock.any == "") {
			used = true
		}
	}
	if name == "" {
		return c.lineOfUse(), used
	}
	return c.lineOfDatabase(name), used
}

// tryLock adds f if the lock of a probe does not keep a second session out. A probe that
// cannot be made, such as for want of a right, shows nothing.
func (c *checker) tryLock(p *lockProbe, one *openedStore, f Finding) error {
	f.Severity, f.Rule, f.Message, f.Remedy = Error, ruleLock, p.lost, p.instead
	excludes, err := p.excludes(c.ctx, one.db, one.dialect)
	switch {
	case c.ctx.Err() != nil:
		return err
	case sqlcode.ClassOf(one.dialect, err) == dialect.ErrorNoObject && p.any == "":
		f.Message, f.Class = fmt.Sprintf("the server does not know the lock that the source takes (%v)", shown(err)), FirstInsert
	case err != nil || excludes:
		return nil
	}
	c.add(f)
	return nil
}

// excludes reports whether the lock keeps a second session out, or whether that could not
// be tried since nothing is there to lock, or another session holds it.
func (p *lockProbe) excludes(ctx context.Context, db *sql.DB, d *dialect.Dialect) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	if p.any != "" {
		var rows int64
		if err := db.QueryRowContext(ctx, p.any).Scan(&rows); err != nil || rows == 0 {
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
	defer p.close(ctx, first)
	if err := send(ctx, first, p.hold, number); err != nil {
		return sqlcode.ClassOf(d, err) == dialect.ErrorLock, err
	}
	if p.ready != "" {
		var value int64
		if err := second.QueryRowContext(ctx, p.ready).Scan(&value); err != nil {
			return false, err
		}
		defer func() {
			_ = send(ctx, second, []string{strings.ReplaceAll(p.undo, "{ready}", strconv.FormatInt(value, 10))}, "") // a session without it is closed with the pool
		}()
	}
	defer p.close(ctx, second)
	err = send(ctx, second, p.try, number)
	if sqlcode.ClassOf(d, err) == dialect.ErrorLock {
		return true, nil
	}
	return false, err
}

// close ends the transaction that the probe has begun on a connection, or else the
// connection, and its transaction with it.
func (p *lockProbe) close(ctx context.Context, c *sql.Conn) {
	if _, err := c.ExecContext(ctx, p.end); err != nil {
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
