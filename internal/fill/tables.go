package fill

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// keyTables are the configured tables of one database: what the policy says of them,
// the sources of their keys, and what was done with INSERTs into them.
type keyTables struct {
	*session.Server
	exact   []*engine              // the same as either, where the case of tables' names counts
	either  []*engine              // what the engine may be: one, or MySQL's and MariaDB's
	engine  atomic.Pointer[engine] // nil until those two are told apart
	sources *sources
	standIn func(state string) keysource.Reserver // for stores; nil outside tests
	logger  *slog.Logger                          // nil: slog.Default, when it is needed

	storeWait time.Duration // how long a store is waited for that does not answer

	Mode  atomic.Uint32 // a policy.Mode
	Tally tally
	rows  rowNeeds
}

// defaultStoreWait is the policy's store_wait where it does not say.
const defaultStoreWait = 10 * time.Second

// newKeyTables returns the tables of a database, which speaks one of the dialects. It
// does no I/O and keeps nothing of the policy.
func newKeyTables(a Options, facts drivers.Facts, dialects []*dialect.Dialect) (*keyTables, error) {
	db := &keyTables{sources: newSources(a), standIn: a.Reservers, logger: a.Logger, storeWait: cmp.Or(a.Policy.StoreWait, defaultStoreWait)}
	db.Mode.Store(uint32(a.Policy.Mode)) // so that off asks the server nothing
	for _, one := range dialects {
		e, err := newEngine(a, one, db.sources)
		if err != nil {
			return nil, err
		}
		db.either = append(db.either, e)
		if !one.Grammar.TableCase {
			continue
		}
		if e, err = newEngine(a, one.WithExactTables(), db.sources); err != nil {
			return nil, err
		}
		db.exact = append(db.exact, e)
	}
	for i, e := range db.either {
		dialects[i] = e.dialect // with the policy's settings
	}
	db.Server = session.NewServer(facts, dialects)
	if len(db.either) == 1 {
		db.engine.Store(db.either[0])
	}
	db.rows = db.needs()
	return db, nil
}

// effective returns the mode for a table.
func (db *keyTables) effective(t *table) policy.Mode {
	return policy.MoreCautious(t.mode, policy.Mode(db.Mode.Load()))
}

// know returns the engine, which for a driver of MySQL and MariaDB is asked of
// the server once.
func (db *keyTables) know(ctx context.Context, g *keysConn) (*engine, error) {
	if e := db.engine.Load(); e != nil {
		return e, nil
	}
	if err := g.AskServer(ctx); err != nil {
		return nil, err
	}
	for _, e := range db.either {
		if e.dialect == db.Dialect() {
			db.engine.CompareAndSwap(nil, e)
		}
	}
	return db.known(), nil
}

// known returns the engine; while MySQL and MariaDB are not told apart, one of
// them.
func (db *keyTables) known() *engine {
	if e := db.engine.Load(); e != nil {
		return e
	}
	return db.either[0]
}

// currentLogger returns the logger that gets a report made now: the program may have
// set its default one after the database was opened.
func (db *keyTables) currentLogger() *slog.Logger {
	if db.logger != nil {
		return db.logger
	}
	return slog.Default()
}

// noteSuspect counts and reports that keys of a column were found in use.
func (db *keyTables) noteSuspect(ctx context.Context, t *table, i int) {
	db.Tally.of(t.Table, nil).suspects.Add(1)
	db.currentLogger().LogAttrs(ctx, slog.LevelError, "keyfill: source suspect: a key was in use already",
		slog.String("table", t.Table), slog.String("column", t.keys[i].column))
}

// joins reports whether keys are drawn on the statement's own connection.
func (db *keyTables) joins(k *tableKey) bool {
	return db.standIn == nil && (k.rule.Joined || db.OnConnection() && k.rule.Source.Store == "")
}

// belongs reports whether keys belong to the INSERT's transaction. A stand-in for
// stores has none.
func (db *keyTables) belongs(k *tableKey) bool { return k.rule.Joined && db.standIn == nil }

// effect returns what a text does to the transaction of its connection.
func (db *keyTables) effect(query string, what rewrite.Concern) rewrite.Transaction {
	if what&rewrite.ConcernsTransaction == 0 {
		return rewrite.TxUnchanged
	}
	effect := db.known().transaction(query)
	if db.engine.Load() == nil {
		for _, e := range db.either[1:] {
			if e.transaction(query) != effect {
				return rewrite.TxUnknown
			}
		}
	}
	return effect
}
