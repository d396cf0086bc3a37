package relation

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Site is a key column of a configured table, as a connection sees it.
type Site struct {
	Tables *Tables
	On     *Session // nil if the stored counters have connections of their own
	Table  *table.Table
	Index  int // the index of the key column
	Key    *table.Column
}

// SiteOf returns the Site of key column i. on may be nil if the stored counters have
// connections of their own.
func SiteOf(db *Tables, on *Session, t *table.Table, i int) Site {
	return Site{Tables: db, On: on, Table: t, Index: i, Key: &t.KeyColumns[i]}
}

// Source returns the name of the column's source in logs and statistics. It does not depend
// on a tenant, nor on the table that a glob has matched.
func (s Site) Source() string { return table.SourceName(s.Table.Rule.Entry, &s.Key.Rule) }

// Env returns the environment for the source of the column, which records and logs how
// long INSERTs wait.
func (s Site) Env() keysource.Env {
	env := s.Tables.Env
	db, table, column, source := s.Tables, s.Table.Table, s.Key.Name, s.Source()
	waited := db.Paced.Waits.Of(source)
	env.Waited = func(ctx context.Context, d time.Duration) {
		if w := report.WaitsOf(ctx); w != nil {
			w.Add(d)
		}
		if d < report.LongWait {
			return
		}
		if waits := waited.Note(); waits > 0 {
			db.Log.Write(ctx, report.MessageWaited, table, column, source, d, waits)
		}
	}
	return env
}

// Watch returns what watches whether the store called name answers, for the source of
// the column.
func (s Site) Watch(name string) statestore.SourceWatch {
	return s.Tables.watches.Of(s.Tables.Log, name, s.Source())
}

// Leases returns the log of the leases of the column's source. size is the size of a
// series (a leased run of integers), 0 for the default one.
func (s Site) Leases(size int64, lease time.Duration) *statestore.LeaseLog {
	source := s.Source()
	l := &statestore.LeaseLog{Log: s.Tables.Log, Source: source, Lease: cmp.Or(lease, counting.DefaultLease), Lost: s.Tables.Losses.Of(source)}
	if !table.OfWorkers(s.Key.Rule.Source) {
		l.Size = cmp.Or(size, counting.DefaultSeries)
	}
	return l
}

// States returns the store that keeps the state of a source (its stored counter). The
// store's answers are watched and logged.
func (s Site) States(src policy.Source) (statestore.StateStore, error) {
	at, err := s.Tables.Stores.States(src.Store)
	if err != nil {
		return nil, err
	}
	leases := s.Leases(src.Series, src.Lease)
	if table.OfWorkers(src) {
		leases = s.Leases(0, src.WorkerLease)
	}
	return statestore.WatchedStore{StateStore: at, Watch: s.Watch(src.Store), Leases: leases}, nil
}

// Columns returns the facts about the key's table, and the columns that the stored
// counter of the key serves, this one first. It omits columns whose tables do not
// exist.
func (s Site) Columns(ctx context.Context) (*table.Facts, []store.Column, error) {
	own, err := s.Tables.Facts(ctx, s.On, s.Table)
	if err != nil {
		return nil, nil, err
	}
	elsewhere := s.Tables.StatesOnConnection() && s.Key.Rule.Source.Store != ""
	columns := []store.Column{own.Columns[s.Index].StoreColumn(s.Table.Rule, s.Key, elsewhere)}
	if !s.Key.Rule.Shared {
		return own, columns, nil
	}
	d := s.Tables.AnyEngine().Dialect
	for _, c := range s.Key.Rule.Columns {
		if c.Table == s.Table.Rule.Name && c.Column == s.Key.Name && (c.Schema == "" || c.Schema == s.Table.Rule.Schema) {
			continue
		}
		found, err := s.Tables.CatalogTable(ctx, s.On, d, c.Schema, c.Table)
		if errors.Is(err, catalog.ErrNoTable) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if column := found.Column(d, c.Column); column != nil {
			f := table.FactsOfColumn(found, column)
			columns = append(columns, f.StoreColumn(nil, nil, elsewhere))
		}
	}
	return own, columns, nil
}

// FollowsUntold reports whether the column's counter is raised above the explicit keys
// of INSERTs although the policy does not say so. [table.MayFollow] must be true for
// the source.
func (s Site) FollowsUntold(ctx context.Context) bool {
	src, d := s.Key.Rule.Source, s.Tables.AnyEngine().Dialect
	if table.FollowsUntold(src, d, false) {
		return true
	}
	f, err := s.Tables.Facts(ctx, s.On, s.Table)
	return err == nil && table.FollowsUntold(src, d, f.Columns[s.Index].Numbers)
}

// NoteSuspect counts and logs that a key of the column was found in use.
func (s Site) NoteSuspect(ctx context.Context) {
	s.Table.TallyIn(&s.Tables.Tally).AddSuspect()
	if count := s.Tables.Paced.Suspects.Of(s.Source()).Note(); count > 0 {
		s.Tables.Log.Write(ctx, report.MessageSuspect, s.Table.Table, s.Key.Name, count)
	}
}

// NoteNoKey records in the watch of the store that a statement got no key, if err is an
// error of the store.
func (s Site) NoteNoKey(ctx context.Context, err error) {
	if s.Key.Source == nil && report.CauseOfNoKey(err) == report.CauseStore {
		s.Watch(s.Key.Rule.Source.Store).NoKey(ctx)
	}
}

// NoteUnfit logs, once a minute for each source, that the engine has refused keys because
// they do not suit the column. problem is the catalog's error.
func (s Site) NoteUnfit(ctx context.Context, problem error) {
	if count := s.Tables.Paced.Unfits.Of(s.Source()).Note(); count > 0 {
		text := problem.Error()
		var e *catalog.Error
		if errors.As(problem, &e) {
			text = e.Detail
		}
		s.Tables.Log.Write(ctx, report.MessageUnfit, s.Table.Table, s.Key.Name, s.Table.Rule.Entry, text, count)
	}
}

// LogNearEnd logs, once a minute for each source, that most numbers of a state (stored
// counter) are used. A source may have a state for each tenant.
func (s Site) LogNearEnd(ctx context.Context, last int64, remedy string) {
	if count := s.Tables.Paced.NearEnds.Of(s.Source()).Note(); count > 0 {
		s.Tables.Log.Write(ctx, report.MessageNearEnd, s.Table.Table, s.Key.Name, last, remedy, count)
	}
}

// WarnOfBehind returns a function that logs, once a minute for each source, that a sequence of
// the engine is below keys in its tables.
func (s Site) WarnOfBehind(own *native.Reserver) func(context.Context) {
	db, table, column, source := s.Tables, s.Table.Table, s.Key.Name, s.Source()
	behind := db.Paced.Behinds.Of(source)
	return func(ctx context.Context) {
		if behind.Note() > 0 {
			db.Log.Write(ctx, report.MessageBehind, table, column, source, own.RaiseAboveKeys())
		}
	}
}
