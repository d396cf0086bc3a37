package faults_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// lossOutcome is the outcome of the INSERTs after a loss.
type lossOutcome string

// The outcomes, the worst first.
const (
	lossTwice   lossOutcome = "twice"   // a key is stored twice, and nothing had reported the loss before
	lossStopped lossOutcome = "stopped" // the engine's unique index refused a key
	lossTold    lossOutcome = "told"    // an INSERT failed by an error of keyfill before a second key
	lossAgain   lossOutcome = "again"   // keys of rows that were lost came again, none is stored twice
	lossGoesOn  lossOutcome = "goes-on" // every key is new
	lossNone    lossOutcome = "-"       // not applicable
)

// lossKind is one way to lose the state of a source.
type lossKind struct {
	name  string
	title string // of its column on the page

	// lose makes the loss; copied are the copies of the world that were taken before.
	lose func(t *testing.T, p *lossPlace, copied lossCopies)

	others    bool // another program with the same state goes on first
	newcomer  bool // which has not run before
	exclusive bool
	tenants   bool
}

// lossCopies put the world back to a moment before the loss. The tables, or the store, are
// made anew from an old dump, or have the rows of a replica that lacks the last writes.
type lossCopies struct{ dump, replica func(t *testing.T) }

func lossWiped(t *testing.T, p *lossPlace, _ lossCopies) { p.wipe(t) }

// lossClaimed loses the states where the claims of columns stay: a store elsewhere is wiped.
func lossClaimed(t *testing.T, p *lossPlace, _ lossCopies) {
	if p.stores != nil {
		p.wipe(t)
		return
	}
	p.remove(t)
}

// lossKinds are the columns of the table.
var lossKinds = []lossKind{
	{name: "wiped", title: "state wiped", lose: lossWiped},
	{name: "deleted", title: "row deleted", lose: func(t *testing.T, p *lossPlace, _ lossCopies) { p.remove(t) }},
	{name: "lowered", title: "row lowered", lose: func(t *testing.T, p *lossPlace, _ lossCopies) { p.lower(t) }},
	{name: "dump", title: "old dump restored", lose: func(t *testing.T, _ *lossPlace, c lossCopies) { c.dump(t) }},
	{name: "replica", title: "replica without the last writes", lose: func(t *testing.T, _ *lossPlace, c lossCopies) { c.replica(t) }},
	{name: "other", title: "wiped, another program first", others: true, lose: lossClaimed},
	{name: "newcomer", title: "wiped, a new program first", others: true, newcomer: true, lose: lossClaimed},
	{name: "exclusive", title: "wiped, another program first, `exclusive`", others: true, exclusive: true, lose: lossClaimed},
	{name: "tenants", title: "wiped, a state for each tenant", tenants: true, exclusive: true, lose: lossClaimed},
}

// lossSource is a source with a state.
type lossSource struct {
	name   string
	source policy.Source
	scoped bool     // keys are unique in a scope
	unique bool     // the source refuses a column without a unique index
	lacks  []string // the losses that are not applicable
	flake  bool     // keys hold the time
	spare  bool     // a process fetches a block before it has used up the one in hand
}

const (
	lossBlock  = 5
	lossSeries = 20

	// lossStart is where a state in another store begins that will be lowered.
	lossStart = 1001
)

// lossSources are the sources with a state, in the table's order.
var lossSources = []lossSource{
	{name: "sequence", spare: true, source: policy.Source{Kind: policy.KindSequence, Block: lossBlock}},
	{name: "joined", source: policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined}},
	{name: "scope", scoped: true, source: policy.Source{Kind: policy.KindSequence, Scope: &policy.Scope{{Column: "parent"}}},
		lacks: []string{"other", "newcomer", "exclusive", "tenants"}},
	{name: "recycled", source: policy.Source{Kind: policy.KindRecycled, Block: lossBlock, Series: lossSeries, Lease: time.Minute}},
	{name: "snowflake", flake: true, source: policy.Source{Kind: policy.KindSnowflake, WorkerLease: time.Minute},
		lacks: []string{"tenants"}},
	{name: "maxplusone", unique: true, source: policy.Source{Kind: policy.KindMaxPlusOne},
		lacks: []string{"lowered", "other", "newcomer", "exclusive", "tenants"}},
}

// lossCell is one cell of the table: a loss of the state of a source in a store, with or
// without a process that runs on, in a column with or without a unique index.
type lossCell struct {
	source  lossSource
	loss    lossKind
	runsOn  bool
	indexed bool
}

// applies reports whether the cell says anything.
func (c lossCell) applies() bool {
	return !slices.Contains(c.source.lacks, c.loss.name) && (c.indexed || !c.source.unique)
}

func (c lossCell) name() string {
	process, index := "anew", "plain"
	if c.runsOn {
		process = "runs"
	}
	if c.indexed {
		index = "indexed"
	}
	return process + "-" + index
}

// config is the policy for a table.
func (c lossCell) config(p *lossPlace, table string) *policy.Config {
	s := c.source.source
	s.EnsureSchema, s.Exclusive = true, c.loss.exclusive
	switch {
	case p.upstream:
		s.Upstream, s.UpstreamBlock = lossStoreName, 2*lossBlock
	case p.stores != nil:
		s.Store = lossStoreName
	}
	switch {
	case c.loss.others:
		s.Name = "shared"
	case c.loss.tenants:
		s.Name, s.Start = "{table}.{value:tenant}", 1
	}
	if c.loss.name == "lowered" && p.stores != nil && !c.source.flake {
		s.Start = lossStart
	}
	cfg := harness.FillID(table, policy.Table{InPlace: &s})
	cfg.Dialect, cfg.Stores, cfg.StoreWait = p.engine.Dialect.Name, p.stores, jobPatience
	return cfg
}

// lossStoreName is the name of the store in the policies.
const lossStoreName = "central"

// keyColumns are the columns in which no two rows may be the same.
func (c lossCell) keyColumns() string {
	if c.source.scoped || c.loss.tenants {
		return "parent, id"
	}
	return "id"
}

// create makes the table that a program fills.
func (c lossCell) create(t *testing.T, s *harness.Scratch, table string) {
	t.Helper()
	unique := ""
	if c.indexed {
		unique = "UNIQUE "
	}
	harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (n BIGINT NOT NULL PRIMARY KEY, parent BIGINT NOT NULL, id BIGINT NOT NULL)")
	harness.Exec(t, s.Raw, fmt.Sprintf("CREATE %sINDEX %s_id ON %[2]s (%s)", unique, table, c.keyColumns()))
}

// lossClock stands still but where the test moves it, or an INSERT waits for it: two processes with one worker's number
// then make the same keys, as they do on any machine sooner or later.
type lossClock struct{ now, reads atomic.Int64 }

// lossClockReads is how often an INSERT reads the clock that does not wait for it, or more.
const lossClockReads = 100

func newLossClock() *lossClock {
	c := &lossClock{}
	c.now.Store(time.Now().UnixMilli())
	return c
}

func (c *lossClock) read() time.Time {
	if c.reads.Add(1) > lossClockReads {
		c.now.Add(1)
	}
	return time.UnixMilli(c.now.Load())
}

// lossProgram is a program with a table of its own.
type lossProgram struct {
	cell    lossCell
	place   *lossPlace
	clock   *lossClock
	scratch *harness.Scratch
	table   string
	rows    int64
}

// lossProcess is a process of a program.
type lossProcess struct {
	*lossProgram
	db     *sql.DB
	mount  *keyfill.Mount
	errors []error
	failed int // INSERTs that failed one after the other
}

// open starts a process, in a place where each has another node of a cluster.
func (p *lossProgram) open(t *testing.T, place int) *lossProcess {
	t.Helper()
	s := *p.scratch
	s.Connector = p.place.connector(t, p.scratch, place)
	db, mount := s.OpenWith(t, keyfill.Options{Policy: p.cell.config(p.place, p.table), Now: p.clock.read, Logger: slog.New(slog.DiscardHandler)})
	return &lossProcess{lossProgram: p, db: db, mount: mount}
}

// awaitSpare waits until the process has the block in hand that it has begun to fetch, of each
// state. It has given up the rest of the block before if the server was restarted. SQLite has no fetch that an INSERT does not wait for.
func (p *lossProcess) awaitSpare(t *testing.T) {
	t.Helper()
	if !p.cell.source.spare || p.scratch.Server == nil {
		return
	}
	want := int64(lossBlock)
	if p.cell.loss.tenants {
		want *= 2
	}
	harness.Eventually(t, func() error {
		if left := p.mount.Sources()[0].Left; left < want {
			return fmt.Errorf("%d integers are in hand, want %d", left, want)
		}
		return nil
	})
}

func (p *lossProcess) close(t *testing.T) {
	t.Helper()
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
}

// lossInsertTime limits an INSERT of the table of losses: a loss is reported at once.
const lossInsertTime = 20 * time.Second

// insert inserts one row, for the one parent or tenant and the other in turn.
func (p *lossProcess) insert(t *testing.T) error {
	t.Helper()
	p.rows++
	parent := p.rows % 2
	ctx, cancel := context.WithTimeout(t.Context(), lossInsertTime)
	defer cancel()
	if p.cell.loss.tenants {
		ctx = keyfill.WithValue(ctx, "tenant", fmt.Sprint(parent))
	}
	p.clock.now.Add(1)
	p.clock.reads.Store(0)
	for {
		// A cluster ends transactions for the sake of others, and applications repeat theirs.
		_, err := p.db.ExecContext(ctx, p.scratch.Placeholders("INSERT INTO "+p.table+" (n, parent) VALUES (?, ?)"), p.rows, parent)
		if err == nil || !isDeadlock(err.Error()) {
			return err
		}
	}
}

func (p *lossProcess) mustInsert(t *testing.T, rows int) {
	t.Helper()
	for range rows {
		if err := p.insert(t); err != nil {
			t.Fatal(err)
		}
	}
}

// goOn inserts a row after the loss, unless INSERTs have failed again and again.
func (p *lossProcess) goOn(t *testing.T) {
	t.Helper()
	if p.failed == 2 {
		return
	}
	if err := p.insert(t); err != nil {
		p.errors, p.failed = append(p.errors, err), p.failed+1
		return
	}
	p.failed = 0
}

// keys returns the keys that are stored, with the scope or tenant of each.
func (p *lossProgram) keys(t *testing.T) []string {
	t.Helper()
	columns := strings.ReplaceAll(p.cell.keyColumns(), ", ", ` || '/' || `)
	if p.scratch.Dialect.Name == harness.MySQLDefault.Dialect.Name {
		columns = "CONCAT_WS('/', " + p.cell.keyColumns() + ")"
	} else if !strings.Contains(columns, "||") {
		columns = "CAST(id AS VARCHAR(30))"
	}
	return harness.KeysOf(t, p.scratch.Raw, t.Context(), "SELECT "+columns+" FROM "+p.table)
}

// What a cell stores. When a copy is taken, and at the loss, the process has one integer of its
// block left, and has the next block in hand: no fetch is on its way, and none begins before
// the second INSERT. Without a next block in hand it has used one integer of its block,
// and recycled keys are of a series that the copy of a replica does not have. The copies are older than what it has reserved then.
const (
	lossOtherRows   = lossBlock
	lossDumpRows    = 2 * lossBlock // one block of each tenant
	lossReplicaRows = lossDumpRows + lossBlock - 1
	lossRows        = lossDumpRows + 6*lossBlock - 1
	lossTenantsRows = lossDumpRows + 2*(3*lossBlock-1)
	lossRounds      = 12

	// lossUpstreamRounds are more than the integers that a database has of its upstream.
	lossUpstreamRounds = 40

	// lossMark is more than how far a mark of a snowflake is ahead of its clock, in
	// milliseconds: a process that starts later makes no keys of the future.
	lossMark = 20_000
)

// run makes a loss and returns the outcome of the INSERTs after it, and the first error.
func (c lossCell) run(t *testing.T, p *lossPlace) (lossOutcome, error) {
	t.Helper()
	clock := newLossClock()
	main := &lossProgram{cell: c, place: p, clock: clock, scratch: p.main, table: "t"}
	c.create(t, main.scratch, main.table)
	programs := []*lossProgram{main}
	var others *lossProgram
	if c.loss.others {
		other := &lossProgram{cell: c, place: p, clock: clock, scratch: p.main, table: "u"}
		if p.stores != nil { // databases that share a store
			other.scratch, other.table = p.another(t), "t"
		}
		c.create(t, other.scratch, other.table)
		programs = append(programs, other)
		if others = other; !c.loss.newcomer {
			before := other.open(t, 1)
			before.mustInsert(t, lossOtherRows)
			before.close(t)
		}
	}

	// The dump is older than the process.
	process := main.open(t, 0)
	process.mustInsert(t, lossDumpRows)
	process.close(t)
	var copied lossCopies
	if c.loss.name == "dump" {
		copied.dump = p.copied(t, true)
	}
	clock.now.Add(lossMark)
	process = main.open(t, 0)
	replicaRows, rows := lossReplicaRows, lossRows
	switch {
	case c.loss.tenants:
		rows = lossTenantsRows
	case !c.source.spare:
		replicaRows, rows = lossDumpRows+1, lossDumpRows+3*lossBlock+1
	}
	process.mustInsert(t, replicaRows-lossDumpRows)
	if c.loss.name == "replica" {
		process.awaitSpare(t)
		copied.replica = p.copied(t, false)
	}
	process.mustInsert(t, rows-replicaRows)
	process.awaitSpare(t)
	if !c.runsOn {
		process.close(t)
	}
	had := main.keys(t)
	p.settle(t)
	c.loss.lose(t, p, copied)
	p.settle(t)
	clock.now.Add(1)
	left := main.keys(t)

	var processes []*lossProcess
	if c.loss.others {
		processes = append(processes, others.open(t, 1))
		processes[0].goOn(t)
	}
	anew := main.open(t, 2)
	processes = append(processes, anew)
	if c.runsOn {
		processes = append(processes, process)
	}
	rounds := lossRounds
	if p.upstream {
		rounds = lossUpstreamRounds
	}
	for range rounds {
		for _, one := range processes {
			now := clock.now.Load()
			one.goOn(t)
			clock.now.Store(now) // the processes insert at one time
		}
		clock.now.Add(1)
	}
	p.settle(t)
	return judgeLoss(t, programs, processes, had, left)
}

// judgeLoss returns the outcome of the INSERTs after a loss by what is stored and by
// their errors. had are the keys before the loss, left the keys after it.
func judgeLoss(t *testing.T, programs []*lossProgram, processes []*lossProcess, had, left []string) (lossOutcome, error) {
	t.Helper()
	var all []string
	for _, p := range programs {
		all = append(all, p.keys(t)...)
	}
	slices.Sort(all)
	stored := slices.Compact(slices.Clone(all))
	outcome := lossGoesOn
	var first error
	for _, p := range processes {
		for _, err := range p.errors {
			switch text := err.Error(); {
			case isLossDuplicate(text):
				if outcome != lossStopped {
					outcome, first = lossStopped, err
				}
			case outcome == lossGoesOn:
				outcome, first = lossTold, err
			}
		}
	}
	lost := func(key string) bool { return slices.Contains(had, key) && !slices.Contains(left, key) }
	switch {
	case len(stored) != len(all):
		return lossTwice, fmt.Errorf("%d keys of %d twice; then: %v", len(all)-len(stored), len(all), first)
	case outcome == lossGoesOn && slices.ContainsFunc(stored, lost):
		return lossAgain, nil
	}
	return outcome, first
}

// isLossDuplicate is for the errors of the index of t and u.
var isLossDuplicate = anyOf("Duplicate entry", "duplicate key value violates unique constraint", "UNIQUE constraint failed")
