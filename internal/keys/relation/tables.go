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

// Tables are the configured tables of one database: what the policy and the catalog say of
// them, the stores of their states, and what was done with INSERTs into them.
type Tables struct {
	*session.Server
	ExactCandidates []*table.Engine              // the same where the case of tables' names counts
	Candidates      []*table.Engine              // the possible engines: one, or MySQL's and MariaDB's
	Engine          atomic.Pointer[table.Engine] // nil until it is known which of the two it is
	Log             report.Log

	Env     keysource.Env      // with which sources are made
	Stores  *statestore.Stores // nil before Open
	watches statestore.StoreWatches
	Losses  statestore.LeaseLosses
	Paced   report.PacedLines

	config    *policy.Config
	StoreWait time.Duration // how long to wait for a store that does not answer

	Mode  atomic.Uint32 // a policy.Mode
	Tally report.Tally
	Rows  RowNeeds

	Explains bool // statements are explained, and none is executed
	asked    answers

	Gone   atomic.Uint64 // counts how often keyfill's tables were found gone
	logged loggedOnce
}

// answers are what the database has answered to questions that it is asked once.
type answers struct {
	memory    atomic.Int32 // a memoryState
	nameProof atomic.Int32 // a proofState
	roles     roles
}

// loggedOnce says which log lines were written that a database gets once.
type loggedOnce struct {
	opened    atomic.Bool // the line about the opening
	unmatched atomic.Bool // the line about entries that no INSERT has matched
}

// defaultStoreWait is the wait of a policy without store_wait.
const defaultStoreWait = 10 * time.Second

// NewTables returns the tables of a database, which speaks one of the dialects. It
// does no I/O. It keeps the policy, which must not be changed.
func NewTables(a table.Options, facts drivers.Facts, dialects []*dialect.Dialect) (*Tables, error) {
	db := &Tables{
		Log: report.Log{Logger: a.Logger}, config: a.Policy,
		Env:       keysource.Env{Now: a.Now, Rand: a.Rand, StoreWait: a.Policy.StoreWait},
		StoreWait: cmp.Or(a.Policy.StoreWait, defaultStoreWait),
	}
	db.Mode.Store(uint32(a.Policy.Mode)) // so that off asks the server nothing
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
		dialects[i] = e.Dialect // with the policy's settings
	}
	db.Server = session.NewServer(facts, dialects)
	db.Detached = a.Reservers != nil
	if len(db.Candidates) == 1 {
		db.Engine.Store(db.Candidates[0])
	}
	db.Rows = db.needs()
	return db, nil
}

// ModeOf returns the mode for a table. An explanation says what is filled, whatever the
// mode.
func (db *Tables) ModeOf(t *table.Table) policy.Mode {
	if db.Explains {
		return policy.ModeFill
	}
	return policy.MoreCautious(t.Mode, policy.Mode(db.Mode.Load()))
}

// AskEngine returns the engine. For a driver that speaks to MySQL and MariaDB it asks the
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

// AnyEngine returns the engine; while it may be MySQL or MariaDB, one of the two.
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

// Config returns the policy that the tables are made of, which must not be changed.
func (db *Tables) Config() *policy.Config { return db.config }

// EngineFor returns the engine for a dialect; exact says that the server compares the names of
// tables as they are written.
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

// HasStandIn reports whether keys come from a stand-in for stores, and no database is
// asked for anything.
func (db *Tables) HasStandIn() bool { return db.Detached }

// Markless reports whether a snowflake has no store. Either the policy says so, or states
// are kept on the statements' connections: there a transaction may undo a mark, which
// then reserves no time.
func (db *Tables) Markless(src policy.Source) bool {
	return src.Store == policy.StoreNone || src.Store == "" && db.StatesOnConnection()
}
