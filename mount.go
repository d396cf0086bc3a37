package keyfill

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Mount is keyfill at work on one database, or on all databases that are
// opened through one registered name. It is safe for concurrent use.
type Mount struct {
	name string // the registered name; "" for one database

	// One database's:
	driver  drivers.Facts
	exact   []*engine              // the same as either, where the case of tables' names counts
	casing  atomic.Uint32          // whether it does: casing…
	either  []*engine              // what the engine may be: one, or MySQL's and MariaDB's
	engine  atomic.Pointer[engine] // nil until those two are told apart
	sources *sources
	standIn func(state string) keysource.Reserver // for stores; nil outside tests
	logger  *slog.Logger                          // nil: slog.Default, when it is needed

	seen *seenTexts

	storeWait time.Duration // how long a store is waited for that does not answer

	mode     atomic.Uint32 // a policy.Mode
	counters counters
	// serverVersion is the server's, once it was asked for: major and minor.
	serverVersion atomic.Pointer[[2]int]
	rows          rowNeeds
	places        places
	found         atomic.Uint32 // see countsFound
	foundAgain    atomic.Int64  // when it is asked again, in nanoseconds

	// A registered name's:
	flakes *flakes
	mu     sync.Mutex
	opened []*Mount
	ended  Stats        // of the databases that were closed
	setTo  *policy.Mode // by SetMode, for databases to come
}

// defaultStoreWait is the policy's store_wait where it does not say.
const defaultStoreWait = 10 * time.Second

// errNumbersPlaceholders is for the driver that numbers placeholders behind keyfill.
var errNumbersPlaceholders = errors.New(`keyfill: the driver "mssql" of go-mssqldb numbers placeholders by itself: open the database as "sqlserver", and write @p1, @p2 … for ? and $1`)

// newMount returns the mount of one database. It does no I/O and keeps nothing
// of the policy.
func newMount(o Options, d driver.Driver) (*Mount, error) {
	cfg := o.Policy
	facts, known := drivers.Of(d)
	if drivers.NumbersPlaceholders(d) {
		return nil, errNumbersPlaceholders
	}
	var dialects []*dialect.Dialect
	switch {
	case cfg.Dialect != "":
		one, err := dialect.ByName(cfg.Dialect)
		if err != nil {
			return nil, fmt.Errorf("keyfill: %w", err)
		}
		dialects = []*dialect.Dialect{one}
	case facts.Family:
		dialects = []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()}
	case known:
		dialects = []*dialect.Dialect{facts.Dialect}
	default:
		return nil, fmt.Errorf("keyfill: the driver of package %q is not known: say dialect: in the policy, one of %s",
			drivers.PackagePath(d), dialect.Names())
	}
	m := &Mount{driver: facts, sources: newSources(o), standIn: o.Reservers, logger: o.Logger, seen: newSeenTexts(), storeWait: cmp.Or(cfg.StoreWait, defaultStoreWait)}
	m.mode.Store(uint32(cfg.Mode)) // so that off asks the server nothing
	for _, one := range dialects {
		e, err := newEngine(o, one, m.sources)
		if err != nil {
			return nil, err
		}
		m.either = append(m.either, e)
		if !one.Grammar.TableCase {
			continue
		}
		if e, err = newEngine(o, one.WithExactTables(), m.sources); err != nil {
			return nil, err
		}
		m.exact = append(m.exact, e)
	}
	if len(m.either) == 1 {
		m.engine.Store(m.either[0])
	}
	m.rows = m.needs()
	return m, nil
}

// isOne reports whether the mount is of one database, not of a name.
func (m *Mount) isOne() bool { return m.either != nil }

// modeVariable sets the mode of every mount when its database is opened.
const modeVariable = "KEYFILL_MODE"

func (m *Mount) modeFromEnvironment() error {
	name, ok := os.LookupEnv(modeVariable)
	if !ok || name == "" {
		return nil
	}
	mode, err := policy.ParseMode(name)
	if err != nil {
		return fmt.Errorf("keyfill: $%s: %w", modeVariable, err)
	}
	m.mode.Store(uint32(mode))
	return nil
}

// add counts one more database opened through the name.
func (m *Mount) add(one *Mount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.setTo != nil {
		one.mode.Store(uint32(*m.setTo))
	}
	m.opened = append(m.opened, one)
}

// remove is for a database that is closed.
func (m *Mount) remove(one *Mount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened = slices.DeleteFunc(m.opened, func(o *Mount) bool { return o == one })
	one.counters.addTo(&m.ended)
}

// databases returns the mounts of the open databases that m covers, and what
// the closed ones have done.
func (m *Mount) databases() (open []*Mount, ended Stats) {
	if m.isOne() {
		return []*Mount{m}, Stats{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ended.add(m.ended)
	return slices.Clone(m.opened), ended
}

// SetMode sets the mode of all tables from now on: a table has the more cautious
// of its own mode and this one. On the mount of a registered name the mode holds
// for all databases that are open through the name, and for those that are
// opened later. A statement that was prepared before keeps its mode.
func (m *Mount) SetMode(mode policy.Mode) {
	if m.isOne() {
		m.mode.Store(uint32(mode))
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setTo = &mode
	for _, one := range m.opened {
		one.mode.Store(uint32(mode))
	}
}

// Stats returns the counts so far. On the mount of a registered name they are
// the sums over all databases opened through it, the closed ones included.
func (m *Mount) Stats() Stats {
	all, total := m.databases()
	for _, one := range all {
		one.counters.addTo(&total)
	}
	return total
}

// effective returns the mode for a table.
func (m *Mount) effective(t *table) policy.Mode {
	return policy.MoreCautious(t.mode, policy.Mode(m.mode.Load()))
}

// concerns says whether a query may be an INSERT into a configured table, or
// begin or end a transaction. It is all that is done for other statements.
func (m *Mount) concerns(query string) rewrite.Concern {
	if e := m.engine.Load(); e != nil {
		return rewrite.Concerns(e.dialect, query)
	}
	// The last one of a family runs comments that the first one takes for comments.
	return rewrite.Concerns(m.either[len(m.either)-1].dialect, query)
}

// know returns the engine, which for a driver of MySQL and MariaDB is asked of
// the server once.
func (m *Mount) know(ctx context.Context, g *guard) (*engine, error) {
	if e := m.engine.Load(); e != nil {
		return e, nil
	}
	version, err := g.version(ctx)
	if err != nil {
		return nil, err
	}
	e := m.either[0]
	if isMariaDB(version) {
		e = m.either[1]
	}
	m.engine.Store(e)
	return e, nil
}

// known returns the engine; while MySQL and MariaDB are not told apart, one of
// them.
func (m *Mount) known() *engine {
	if e := m.engine.Load(); e != nil {
		return e
	}
	return m.either[0]
}

// currentLogger returns the logger that gets a report made now: the program may have
// set its default one after the database was opened.
func (m *Mount) currentLogger() *slog.Logger {
	if m.logger != nil {
		return m.logger
	}
	return slog.Default()
}

// report logs a statement that was sent as it came although it was not filled.
func (m *Mount) report(ctx context.Context, e event) {
	attrs := []slog.Attr{
		slog.String("table", e.table),
		slog.String("action", e.action.String()),
		slog.String("mode", e.mode.String()),
	}
	if e.action == rewrite.Refuse {
		attrs = append(attrs, slog.String("reason", e.reason.Error()), slog.Int("offset", e.offset))
	}
	m.currentLogger().LogAttrs(ctx, slog.LevelWarn, "keyfill: INSERT sent unfilled", attrs...)
}
