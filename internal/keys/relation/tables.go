package relation

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Tables are the configured tables of one database: what the policy and the catalog say
// about them, the stores of their states (the stored counters), and the counts of
// INSERTs into them.
type Tables struct {
	*session.Server
	ExactCandidates []*table.Engine              // the engines of Candidates, for a server that distinguishes the case of table names
	Candidates      []*table.Engine              // the possible engines: one, or both MySQL and MariaDB
	Engine          atomic.Pointer[table.Engine] // nil until it is known which of the two engines the server is
	Log             report.Log

	Env     keysource.Env      // the environment with which sources are made
	Stores  *statestore.Stores // nil before OpenStores
	watches statestore.StoreWatches
	Losses  statestore.LeaseLosses
	Paced   report.PacedLines

	config    *policy.Config
	StoreWait time.Duration // how long to wait for a store that does not answer

	Mode  atomic.Uint32 // a policy.Mode
	Tally report.Tally
	Rows  RowNeeds

	Explains bool // statements are only explained, and none is executed
	asked    answers

	Gone   atomic.Uint64 // counts how often keyfill's tables were found missing
	logged loggedOnce
}

// answers are the answers of the database to questions that it is asked once.
type answers struct {
	memory    atomic.Int32 // a memoryState
	nameProof atomic.Int32 // a proofState
	roles     roles
}

// loggedOnce records which lines were logged that each database gets only once.
type loggedOnce struct {
	opened    atomic.Bool // the opening of the database was logged
	unmatched atomic.Bool // policy entries that no INSERT has matched were logged
}

// defaultStoreWait is used if the policy has no store_wait.
const defaultStoreWait = 10 * time.Second

// NewTables returns the configured tables of a database whose dialect is one of
// dialects. It does no I/O. It keeps the policy, which must not be changed.
func NewTables(a table.Options, facts drivers.Facts, dialects []*dialect.Dialect) (*Tables, error) {
	db := &Tables{
		Log: report.Log{Logger: a.Logger}, config: a.Policy,
		Env:       keysource.Env{Now: a.Now, Rand: a.Rand, StoreWait: a.Policy.StoreWait},
		StoreWait: cmp.Or(a.Policy.StoreWait, defaultStoreWait),
	}
	db.Mode.Store(uint32(a.Policy.Mode)) // set before anything is asked: with the policy's mode off the server is asked nothing
	stateless, columns := table.NewStatelessSources(db.Env), new(atomic.Int64)
	for _, one := range dialects {
		e, err := table.NewEngine(a, one, stateless, columns)
		if err != nil {
			return nil, err
		}
		db.Candidates = append(db.Candidates, e)
		if !one.Grammar.TableCase || a.Reservers != nil {
			continue
		}
		if e, err = table.NewEngine(a, one.WithExactTables(), stateless, columns); err != nil {
			return nil, err
		}
		db.ExactCandidates = append(db.ExactCandidates, e)
	}
	for i, e := range db.Candidates {
		dialects[i] = e.Dialect // the dialect with the settings that the policy gives
	}
	db.Server = session.NewServer(facts, dialects)
	db.Detached = a.Reservers != nil
	if len(db.Candidates) == 1 {
		db.Engine.Store(db.Candidates[0])
	}
	db.Rows = db.needs()
	return db, nil
}

// ModeOf returns the mode for a table: fill, dry_run or off. An explanation shows what
// would be filled, so its mode is always fill.
func (db *Tables) ModeOf(t *table.Table) policy.Mode {
	if db.Explains {
		return policy.ModeFill
	}
	return policy.MoreCautious(t.Mode, policy.Mode(db.Mode.Load()))
}

// AskEngine returns the engine. If the driver is for MySQL and MariaDB, it asks the
// server once which of the two it is.
func (g *Session) AskEngine(ctx context.Context) (*table.Engine, error) {
	if e := g.Tables.Engine.Load(); e != nil {
		return e, nil
	}
	if err := g.AskServer(ctx); err != nil {
		return nil, err
	}
	for _, e := range g.Tables.Candidates {
		if e.Dialect == g.Tables.Dialect() {
			g.Tables.Engine.CompareAndSwap(nil, e)
		}
	}
	return g.Tables.AnyEngine(), nil
}

// AnyEngine returns the engine. While it is not known whether that is MySQL or MariaDB,
// it returns either of them.
func (db *Tables) AnyEngine() *table.Engine {
	if e := db.Engine.Load(); e != nil {
		return e
	}
	return db.Candidates[0]
}

// TransactionEffect returns what a text does to the transaction of its connection.
func (db *Tables) TransactionEffect(query string, what words.Concern) effects.Transaction {
	if what&words.ConcernsTransaction == 0 {
		return effects.TxUnchanged
	}
	effect := db.AnyEngine().TransactionEffect(query)
	if db.Engine.Load() == nil {
		for _, e := range db.Candidates[1:] {
			if e.TransactionEffect(query) != effect {
				return effects.TxUnknown
			}
		}
	}
	return effect
}

// Config returns the policy from which the tables were made. It must not be changed.
func (db *Tables) Config() *policy.Config { return db.config }

// EngineFor returns the engine for a dialect. exact reports that the server
// distinguishes the case of table names.
func EngineFor(db *Tables, d *dialect.Dialect, exact bool) *table.Engine {
	engines := db.Candidates
	if exact && db.ExactCandidates != nil {
		engines = db.ExactCandidates
	}
	for _, e := range engines {
		if e.Dialect.Name == d.Name {
			return e
		}
	}
	return engines[0]
}

// HasStandIn reports whether keys come from a stand-in for stores, as in a test, so
// that no database is asked for anything.
func (db *Tables) HasStandIn() bool { return db.Detached }

// Markless reports whether a snowflake has no stored mark (the time that is reserved
// for its worker). Either the policy says so, or stored counters are read on the
// statements' connections: there a rollback may undo a mark, which then reserves
// nothing.
func (db *Tables) Markless(src policy.Source) bool {
	return src.Store == policy.StoreNone || src.Store == "" && db.StatesOnConnection()
}
