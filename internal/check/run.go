package check

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// Options select the policy and the database to compare.
type Options struct {
	// Tables are made of the policy.
	Tables *relation.Tables

	// Connector opens connections to the database, as the driver does. A run uses at
	// most two, and closes them.
	Connector driver.Connector

	// Conn, if it is set, is a connection to use instead of opening any. The caller does
	// not use it meanwhile.
	Conn driver.Conn

	// Overview, if it is set, holds the declarations of a script instead of a database.
	// Its tables, columns and foreign keys are looked at, and nothing is asked.
	Overview *catalog.Overview

	// PoolerPatience is how long to wait for each answer of a pooler before PostgreSQL. 0
	// is three seconds.
	PoolerPatience time.Duration

	Now func() time.Time // nil is time.Now
}

// ErrLook is returned when the database cannot be looked at.
var ErrLook = anchor.New("check", "the database cannot be looked at: let it be reached, and mend the DSN")

// ErrMemory is returned for a database of SQLite in memory.
var ErrMemory = anchor.New("check", "no connection but the application's own sees a database in memory: use a file")

// checker is one run.
type checker struct {
	ctx    context.Context
	o      Options
	cfg    *policy.Config
	d      *dialect.Dialect
	e      *table.Engine
	q      *counted
	home   *store.Store
	stores map[string]*openedStore

	over     *catalog.Overview
	targets  []*target
	meant    []string // the tables that entries without a table likely mean
	findings []Finding
	modified map[string]modified // by schema, table and column, NUL between
}

// target is a table that the policy fills and the database has.
type target struct {
	table *table.Table
	found *catalog.Listed
	entry policy.Entry
}

// Run compares the policy with the database. The error means that it could not compare
// them.
func Run(ctx context.Context, o Options) ([]Finding, error) {
	findings, _, err := RunCounted(ctx, o)
	return findings, err
}

// RunCounted is Run, and returns how many statements the catalog and the server were
// asked, besides those about states.
func RunCounted(ctx context.Context, o Options) ([]Finding, int, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &checker{ctx: ctx, o: o, cfg: o.Tables.Config(), stores: map[string]*openedStore{}}
	defer c.close()
	if err := c.connect(); err != nil {
		return nil, 0, err
	}
	for _, topic := range []struct {
		what string
		look func() error
	}{
		{"the server", c.lookAtServer},
		{"the tables", c.lookAtTables},
		{"the tables that have no rule", c.lookAtOthers},
		{"the columns", c.lookAtColumns},
		{"what reads the session's last number", c.lookAtReads},
		{"the foreign keys", c.lookAtForeignKeys},
		{"the stores", c.lookAtStores},
		{"how many connections the user may have", c.lookAtConnectionLimit},
		{"what stands before PostgreSQL", c.lookAtPoolers},
		{"what stands before MySQL or MariaDB", c.lookAtProxies},
		{"which servers replicate to each other", c.lookAtTwoWay},
		{"keyfill's own tables", c.lookAtStateTables},
		{"the states", c.lookAtStates},
		{"the way back", c.lookAtHandbacks},
		{"the leases", c.lookAtLeases},
		{"the clocks", c.lookAtClock},
		{"the workers", c.lookAtWorkers},
	} {
		if o.Overview != nil && !slices.Contains(topicsOfScript, topic.what) {
			continue
		}
		if err := topic.look(); err != nil {
			if ctx.Err() != nil {
				return nil, 0, fmt.Errorf("%w: %w", ErrLook, ctx.Err())
			}
			c.add(Finding{Severity: Error, Rule: ruleNotLooked, Message: fmt.Sprintf("%s could not be looked at: %v", topic.what, shown(err)),
				Remedy: "let the user of the DSN read the catalog"})
		}
	}
	return sorted(c.findings), c.q.count, nil
}

// topicsOfScript are the topics for which no database has to be there.
var topicsOfScript = []string{"the tables", "the tables that have no rule", "the columns", "the foreign keys"}

// unasked stands for the database where there is none. It answers no question.
type unasked struct{}

func (unasked) Rows(context.Context, string, ...any) ([][]any, error) { return nil, nil }

// add adds a finding. Its message ends in no section of docs/errors.md, since the rule of a
// finding has its own place in docs/check.md.
func (c *checker) add(f Finding) {
	f.Message = anchor.Plain(f.Message)
	f.Class = cmp.Or(f.Class, classOf(f))
	c.findings = append(c.findings, f)
}

// connect finds out what the server speaks.
func (c *checker) connect() error {
	d := c.o.Tables.Candidates[0].Dialect
	if c.o.Overview != nil {
		c.q, c.e, c.d = &counted{q: unasked{}}, relation.EngineFor(c.o.Tables, d, false), d
		return nil
	}
	var q catalog.Querier
	if c.o.Conn != nil {
		q, c.home = catalog.Conn(c.o.Conn), store.On(d, c.o.Conn)
	} else {
		one := openPool(d, c.o.Connector)
		c.stores[""] = one
		q, c.home = catalog.DB(one.db), one.store
	}
	c.q = &counted{q: q}
	exact := false
	version, err := c.text(engines[d.Family].alive)
	if err != nil {
		return c.cannotLook(err)
	}
	if len(c.o.Tables.Candidates) > 1 && strings.Contains(strings.ToLower(version), "mariadb") {
		d = c.o.Tables.Candidates[1].Dialect
	}
	if d.Grammar.TableCase {
		if exact, err = catalog.Exact(c.ctx, c.q); err != nil {
			return c.cannotLook(err)
		}
	}
	if d.OneWriter && c.o.Conn == nil && relation.IsInMemory(c.ctx, c.q) {
		return ErrMemory
	}
	c.e = relation.EngineFor(c.o.Tables, d, exact)
	c.d = c.e.Dialect
	if one := c.stores[""]; one != nil {
		one.store = store.New(c.d, one.db)
		c.home = one.store
	}
	return nil
}

// cannotLook returns the error of a database that does not answer. The driver's error
// may hold the DSN, or pieces of it.
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
		_ = one.db.Close() // everything was read
	}
}

// counted counts the statements that are sent.
type counted struct {
	q     catalog.Querier
	count int
}

func (c *counted) Rows(ctx context.Context, query string, args ...any) ([][]any, error) {
	c.count++
	return c.q.Rows(ctx, query, args...)
}
