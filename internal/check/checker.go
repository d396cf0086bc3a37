package check

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// lines returns the lines of the policy file about key i of a target.
func (t *target) lines(i int) policy.KeyLines {
	if i < len(t.entry.Keys) {
		return t.entry.Keys[i]
	}
	return policy.KeyLines{Column: t.entry.Line, Source: t.entry.Line, Layout: t.entry.Line}
}

// modified is the definition that a column of MySQL or MariaDB will have after the
// statements that earlier findings print: see checker.modify.
type modified struct {
	def  *catalog.ColumnDefinition
	text string // the statement that gives the column this definition
}

// isHandedBack reports whether the engine numbers the column again and keyfill fills
// nothing there: the policy sets mode: "off" for the table, as the command keyfill plan
// handback prints it.
func (t *target) isHandedBack(col *catalog.Column) bool {
	return t.table.Mode == policy.ModeOff && col != nil && col.Identity != ""
}

// Options select the policy and the database to compare.
type Options struct {
	// Tables are the configured tables that the policy was compiled to.
	Tables *relation.Tables

	// Connector opens connections to the database, as the driver does. Run opens at most
	// two at a time, and closes them.
	Connector driver.Connector

	// Conn, if it is set, is the only connection that Run uses. The caller does not use it
	// until Run returns.
	Conn driver.Conn

	// Overview, if it is set, holds the declarations of a script instead of a database. Its
	// tables, columns and foreign keys are checked, and no database is asked.
	Overview *catalog.Overview

	// Probe reports whether Run tries, on two connections, if the locks that sources rely on
	// exclude a second session. For the time of some statements it then holds the lock of a
	// row of keyfill_sequences, and on SQLite the lock to write.
	Probe bool

	// Rate returns how many rows a second each table of an entry of the policy gets, 0 if that
	// is not known. It may be nil.
	Rate func(entry string) float64

	// PoolerPatience is how long to wait for each answer through a pooler of PostgreSQL's
	// connections, such as pgbouncer. Zero means three seconds.
	PoolerPatience time.Duration

	Now func() time.Time // returns the present time; nil means time.Now
}

// ErrLook is returned when the database cannot be looked at.
var ErrLook = anchor.New("check", "the database cannot be looked at: let it be reached, and mend the DSN")

// ErrMemory is returned for a database of SQLite in memory.
var ErrMemory = anchor.New("check", "no connection but the application's own sees a database in memory: use a file")

// checker holds the data of one call of Run.
type checker struct {
	ctx    context.Context
	o      Options
	cfg    *policy.Config
	d      *dialect.Dialect
	engine *engine
	e      *table.Engine
	q      *counted
	home   *store.Store
	stores map[string]*openedStore

	over     *catalog.Overview
	targets  []*target
	meant    []string // the existing tables that policy entries for missing tables probably mean
	findings []Finding
	modified map[string]modified // keyed by schema, table and column, separated by NUL
}

// target is a table that the policy fills and the database has.
type target struct {
	table *table.Table
	found *catalog.Listed
	entry policy.Entry
}

// unasked is the querier if a script is checked instead of a database: its queries return
// no rows.
type unasked struct{}

func (unasked) Rows(context.Context, string, ...any) ([][]any, error) { return nil, nil }

// add adds a finding. It removes the name of a section of docs/errors.md from the end of
// the message, since docs/check.md describes each rule.
func (c *checker) add(f Finding) {
	f.Message = anchor.Plain(f.Message)
	f.Class = cmp.Or(f.Class, classOf(f))
	c.findings = append(c.findings, f)
}

// cannotLook returns the error for a database that does not answer. It leaves out parts of
// the driver's error that may hold the DSN, or pieces of it.
func (c *checker) cannotLook(err error) error {
	if c.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrLook, c.ctx.Err())
	}
	return fmt.Errorf("%w: %w", ErrLook, shown(err))
}

// shown returns an error without a word of the driver that could be a part of a DSN.
func shown(err error) error {
	var connecting *sqlcode.ConnectError
	var ours *store.Error
	var table *catalog.Error
	if errors.As(err, &connecting) || errors.As(err, &ours) || errors.As(err, &table) {
		return err
	}
	if code, answered := sqlcode.Of(err); answered {
		return fmt.Errorf("the server has answered with %s", code)
	}
	return sqlcode.Connecting(err)
}

func (c *checker) close() {
	for _, one := range c.stores {
		_ = one.db.Close() // only reads were made, so an error does not matter
	}
}

// counted counts the queries that are sent.
type counted struct {
	q     catalog.Querier
	count int
}

func (c *counted) Rows(ctx context.Context, query string, args ...any) ([][]any, error) {
	c.count++
	return c.q.Rows(ctx, query, args...)
}

// openedStore is a database that the check has opened.
type openedStore struct {
	store   *store.Store
	db      *sql.DB
	dialect *dialect.Dialect
	bad     bool // the database cannot be used, and a finding says so
	single  bool // the database's user may have only one connection at a time
}
