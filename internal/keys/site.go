package keys

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Site is a key column of a configured table, as a connection sees it.
type Site struct {
	tables *Tables
	on     *Session // nil where states have connections of their own
	table  *Table
	index  int // of the key
	key    *Column
}

// siteOf returns the site of the key column of index i. on may be nil where states have
// connections of their own.
func siteOf(db *Tables, on *Session, t *Table, i int) Site {
	return Site{tables: db, on: on, table: t, index: i, key: &t.KeyColumns[i]}
}

// source returns the name of the column's source in logs and statistics. It does not depend
// on a tenant, nor on the table that a glob has matched.
func (s Site) source() string { return SourceName(s.table.Rule.Entry, &s.key.Rule) }

// env returns the environment for the source of the column: its waits are noted and logged.
func (s Site) env() keysource.Env {
	env := s.tables.env
	db, table, column, source := s.tables, s.table.Table, s.key.Name, s.source()
	waited := db.paced.waits.of(source)
	env.Waited = func(ctx context.Context, d time.Duration) {
		WaitsOf(ctx).Add(d)
		if d < longWait {
			return
		}
		if waits := waited.note(); waits > 0 {
			db.Log.Write(ctx, messageWaited, table, column, source, d, waits)
		}
	}
	return env
}

// watch returns the watch of a store for the source of the column.
func (s Site) watch(name string) sourceWatch {
	return s.tables.watches.of(s.tables.Log, name, s.source())
}

// leases returns the log of the leases of the column's source. size is the size of a
// series, 0 for the default one.
func (s Site) leases(size int64, lease time.Duration) *leaseLog {
	source := s.source()
	l := &leaseLog{log: s.tables.Log, source: source, lease: cmp.Or(lease, keysource.DefaultLease), lost: s.tables.losses.of(source)}
	if !ofWorkers(s.key.Rule.Source) {
		l.size = cmp.Or(size, keysource.DefaultSeries)
	}
	return l
}

// states returns where the state of a source is.
func (s Site) states(src policy.Source) (stateStore, error) {
	at, err := s.tables.stores.states(src.Store)
	if err != nil {
		return nil, err
	}
	leases := s.leases(src.Series, src.Lease)
	if ofWorkers(src) {
		leases = s.leases(0, src.WorkerLease)
	}
	return watchedStore{stateStore: at, watch: s.watch(src.Store), leases: leases}, nil
}

// columns returns the facts about the key's table, and the columns that the state of the
// key serves, this one first. It leaves out columns whose tables are not there.
func (s Site) columns(ctx context.Context) (*Facts, []store.Column, error) {
	own, err := s.tables.Facts(ctx, s.on, s.table)
	if err != nil {
		return nil, nil, err
	}
	elsewhere := s.tables.StatesOnConnection() && s.key.Rule.Source.Store != ""
	columns := []store.Column{own.Columns[s.index].StoreColumn(s.table.Rule, s.key, elsewhere)}
	if !s.key.Rule.Shared {
		return own, columns, nil
	}
	d := s.tables.AnyEngine().Dialect
	for _, c := range s.key.Rule.Columns {
		if c.Table == s.table.Rule.Name && c.Column == s.key.Name && (c.Schema == "" || c.Schema == s.table.Rule.Schema) {
			continue
		}
		found, err := s.tables.CatalogTable(ctx, s.on, d, c.Schema, c.Table)
		if errors.Is(err, catalog.ErrNoTable) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if column := found.Column(d, c.Column); column != nil {
			f := factsOfColumn(found, column)
			columns = append(columns, f.StoreColumn(nil, nil, elsewhere))
		}
	}
	return own, columns, nil
}

// FollowsUntold reports whether the source of the column, for which [MayFollow] is true,
// follows the keys that INSERTs bring.
func (s Site) FollowsUntold(ctx context.Context) bool {
	src, d := s.key.Rule.Source, s.tables.AnyEngine().Dialect
	if followsUntold(src, d, false) {
		return true
	}
	f, err := s.tables.Facts(ctx, s.on, s.table)
	return err == nil && followsUntold(src, d, f.Columns[s.index].numbers)
}

// noteSuspect counts and logs that a key of the column was found in use.
func (s Site) noteSuspect(ctx context.Context) {
	s.table.TallyIn(&s.tables.Tally).addSuspect()
	if count := s.tables.paced.suspects.of(s.source()).note(); count > 0 {
		s.tables.Log.Write(ctx, messageSuspect, s.table.Table, s.key.Name, count)
	}
}

// noteNoKey tells the watch of the store that a statement got no key, if err is of the store.
func (s Site) noteNoKey(ctx context.Context, err error) {
	if s.key.Source == nil && CauseOfNoKey(err) == CauseStore {
		s.watch(s.key.Rule.Source.Store).noKey(ctx)
	}
}

// NoteUnfit logs, once a minute for each source, that the engine has refused keys because
// they do not suit the column. problem is what the catalog says of that.
func (s Site) NoteUnfit(ctx context.Context, problem error) {
	if count := s.tables.paced.unfits.of(s.source()).note(); count > 0 {
		text := problem.Error()
		var e *catalog.Error
		if errors.As(problem, &e) {
			text = e.Detail
		}
		s.tables.Log.Write(ctx, messageUnfit, s.table.Table, s.key.Name, s.table.Rule.Entry, text, count)
	}
}

// logNearEnd logs, once a minute for each source, that most numbers of a state are used. A
// source may have a state for each tenant.
func (s Site) logNearEnd(ctx context.Context, last int64, remedy string) {
	if count := s.tables.paced.nearEnds.of(s.source()).note(); count > 0 {
		s.tables.Log.Write(ctx, messageNearEnd, s.table.Table, s.key.Name, last, remedy, count)
	}
}

// warnOfBehind returns a function that logs, once a minute for each source, that a sequence of
// the engine is below keys in its tables.
func (s Site) warnOfBehind(own *native.Reserver) func(context.Context) {
	db, table, column, source := s.tables, s.table.Table, s.key.Name, s.source()
	behind := db.paced.behinds.of(source)
	return func(ctx context.Context) {
		if behind.note() > 0 {
			db.Log.Write(ctx, messageBehind, table, column, source, own.RaiseAboveKeys())
		}
	}
}
