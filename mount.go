package keyfill

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/keyfill/keyfill/internal/fill"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/policy"
)

// Mount gives access to keyfill's work on one database, or on all databases that are
// opened through one registered name. It is safe for concurrent use.
type Mount struct {
	one *fill.Database // the database that the mount covers; nil for the mount of a registered name

	// The fields below are used only by the mount of a registered name.
	flakes *numbering.SharedSnowflakes
	mu     sync.Mutex
	opened []*fill.Database
	ended  ended        // the counts of the databases that were opened through the name and are closed
	setTo  *policy.Mode // the mode that SetMode has set, for databases that are opened later
}

// ended holds the counts of the closed databases of a mount.
type ended struct {
	stats   Stats
	sources numbering.PastSources
}

// add adds a database that was opened through the mount's registered name.
func (m *Mount) add(one *fill.Database) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.setTo != nil {
		one.Mode.Store(uint32(*m.setTo))
	}
	m.opened = append(m.opened, one)
}

// remove removes a closed database and keeps its counts. Calling it again for the same
// database does nothing.
func (m *Mount) remove(one *fill.Database) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.opened, one); i >= 0 {
		m.opened = slices.Delete(m.opened, i, i+1)
		m.ended.stats.add(statsOf(one))
		m.ended.sources = one.AddPast(m.ended.sources)
	}
}

// databases returns the open databases that m covers, and the counts of the closed
// ones.
func (m *Mount) databases() (open []*fill.Database, past ended) {
	if m.one != nil {
		return []*fill.Database{m.one}, ended{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	past.stats.add(m.ended.stats)
	past.sources = m.ended.sources
	return slices.Clone(m.opened), past
}

// SetMode sets the mode of all tables from now on: a table has the more cautious
// of its own mode and this one. On the mount of a registered name the mode holds
// for all databases that are open through the name, and for those that are
// opened later. A statement that was prepared before keeps its mode.
func (m *Mount) SetMode(mode policy.Mode) {
	if m.one != nil {
		m.one.Mode.Store(uint32(mode))
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setTo = &mode
	for _, one := range m.opened {
		one.Mode.Store(uint32(mode))
	}
}

// Forget makes the sources read their states again. They give up the integers that they
// hold, and forget how far each state had come, which is how they notice that a store
// has gone back. The next key is compared with the table again, as the first one was.
//
// It is for test suites, after they have restored a snapshot of the database. Other
// processes, and transactions that are open, must not use the database meanwhile: their
// integers would be given again. A snowflake goes on as it was. Forget returns the
// errors of series that could not be given back; their only effect is that numbers are
// lost.
func (m *Mount) Forget(ctx context.Context) error {
	all, _ := m.databases()
	var errs []error
	for _, one := range all {
		errs = append(errs, keys.ForgetStates(ctx, one.Sources))
	}
	return errors.Join(errs...)
}

// Stats returns the counts so far. On the mount of a registered name they are
// the sums over all databases opened through it, the closed ones included.
func (m *Mount) Stats() Stats {
	all, past := m.databases()
	for _, one := range all {
		past.stats.add(statsOf(one))
	}
	return past.stats
}

// Sources returns the state of each source of the policy, in the order of its entries.
// It does no I/O. On the mount of a registered name it covers the databases that are
// open through the name: sources of the same name are summed up, like several states of
// one source. The counts of databases that were closed are in the sums, so that no
// count goes back.
func (m *Mount) Sources() []SourceStats {
	all, past := m.databases()
	return sourcesOf(all, past.sources)
}
