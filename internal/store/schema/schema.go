// Package schema looks whether keyfill's tables and its procedure are there, and creates
// them where they are missing and a policy says so. It stands on package keycolumn, by
// which it sees whether the application's tables are missing too.
package schema

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// Schema looks for keyfill's tables and its procedure, and creates them.
type Schema struct{ store *store.Store }

// Of returns the tables of a store.
func Of(s *store.Store) *Schema { return &Schema{s} }

// Ensure creates the tables that are missing. Where all are there it needs
// no right but to read them. keyfill_series may stay missing, since most policies
// have no series: a user that may not create tables needs the other two only. Several
// processes may call it at once.
//
// Statements that create tables commit the transaction they stand in on MySQL,
// MariaDB and Oracle; a store made by [store.Within] returns [store.ErrTransaction].
func (s *Schema) Ensure(ctx context.Context) error {
	return s.EnsureFor(ctx, nil)
}

// EnsureFor is Ensure for a state of columns. Tables that were there before are created
// again while a table of these is there.
func (s *Schema) EnsureFor(ctx context.Context, columns []*keycolumn.KeyColumn) error {
	if s.store.Inside {
		return store.ErrTransaction
	}
	if s.store.ProbeAll(ctx) == nil {
		s.store.Found.Note()
		return nil
	}
	return s.MakeMissing(ctx, columns)
}

// MakeMissing is [Schema.EnsureFor] where one of the tables is likely to be missing.
func (s *Schema) MakeMissing(ctx context.Context, columns []*keycolumn.KeyColumn) error {
	stays := false
	for i, table := range engine.Tables {
		missing := s.store.Probe(ctx, table)
		if missing == nil {
			continue
		}
		if !stays && !store.IsBroken(missing) {
			var err error
			if stays, err = s.stayMissing(ctx, columns); err != nil {
				return err
			}
			if !stays {
				break // another process has made them
			}
		}
		if i == 0 { // beside the first table, which can be used, the others may be made
			if err := s.store.HiddenTables(ctx, missing); err != nil {
				return s.store.Failed(table, err)
			}
		}
		if _, err := s.store.Conn.Exec(ctx, s.store.Engine.Tables[i], nil); err != nil {
			// If two processes create a table at once, PostgreSQL gives one of
			// them the error of a unique key, IF NOT EXISTS or not; the table is
			// there when it does.
			probed := s.store.Probe(ctx, table)
			switch {
			case probed == nil, table == engine.SeriesTable && !store.IsBroken(err):
			case store.IsBroken(probed):
				// Whether the table is there is not known: it may be refused because
				// another process has made it.
				return s.store.Failed(table, fmt.Errorf("%w; creating it before: %v", probed, err))
			default:
				// Not judged: the connection may have broken, or the right be given. The
				// table is missing, and is to be created.
				return s.store.Failed(table, fmt.Errorf("%v; and creating it: %w", probed, err))
			}
		}
	}
	s.store.Found.Note()
	return nil
}

// EnsureClaims creates keyfill_sequences where it is missing, if that is allowed. A caller
// that needs it for claims alone goes on without it.
func (s *Schema) EnsureClaims(ctx context.Context) {
	if s.store.Inside {
		return
	}
	if missing := s.store.Probe(ctx, engine.SequencesTable); missing != nil && s.store.HiddenTables(ctx, missing) == nil {
		_, _ = s.store.Conn.Exec(ctx, s.store.Engine.Tables[0], nil)
	}
}

// IsThere reports whether the tables can be read.
func (s *Schema) IsThere(ctx context.Context) bool {
	return s.store.ProbeAll(ctx) == nil
}

// EnsureProcedure creates [store.ReserveProcedure] where it is not there. Several
// processes may call it at once.
func (s *Schema) EnsureProcedure(ctx context.Context) error {
	there := func() bool {
		row, err := s.store.Conn.Query(ctx, s.store.Engine.Procedures.FindProcedure, nil)
		return err == nil && row != nil && row[0] != nil
	}
	switch {
	case s.store.Inside:
		return store.ErrTransaction
	case there():
		return nil
	}
	if _, err := s.store.Conn.Exec(ctx, s.store.Engine.Procedures.Procedure, nil); err != nil && !there() {
		return s.store.Failed(store.ReserveProcedure, err)
	}
	return nil
}
