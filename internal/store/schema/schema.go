// Package schema checks whether keyfill's tables and its procedure exist, and creates
// them if they are missing and the policy allows that. It uses package keycolumn to
// check whether the application's tables are missing too.
package schema

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// Schema checks and creates keyfill's tables and its procedure, in one database.
type Schema struct{ store *store.Store }

// Of returns the Schema of a store's database.
func Of(s *store.Store) *Schema { return &Schema{s} }

// Ensure creates the tables that are missing. If all exist, it needs no right except to
// read them. keyfill_series may stay missing, since most policies have no series of
// integers: a user that may not create tables needs only keyfill_sequences and
// keyfill_workers. Several processes may call it at once.
//
// On MySQL, MariaDB and Oracle, statements that create tables commit the open
// transaction; a store of [store.Within] returns [store.ErrTransaction].
func (s *Schema) Ensure(ctx context.Context) error {
	return s.EnsureFor(ctx, nil)
}

// EnsureFor creates missing tables as Ensure does, for a stored counter that serves
// columns. Tables that existed before are created again only while the table of one of
// these columns exists.
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

// MakeMissing does what [Schema.EnsureFor] does, for a caller that expects a table to
// be missing.
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
				break // another process has created the tables
			}
		}
		if i == 0 { // if the first table can be used, the other tables may be created beside it
			if err := s.store.HiddenTables(ctx, missing); err != nil {
				return s.store.Failed(table, err)
			}
		}
		if _, err := s.store.Conn.Exec(ctx, s.store.Engine.Tables[i], nil); err != nil {
			// If two processes create a table at once, PostgreSQL reports a duplicate key to one
			// of them in spite of IF NOT EXISTS. The table exists then.
			probed := s.store.Probe(ctx, table)
			switch {
			case probed == nil, table == engine.SeriesTable && !store.IsBroken(err):
			case store.IsBroken(probed):
				// Whether the table exists is not known: the server may have refused to create it
				// because another process has created it.
				return s.store.Failed(table, fmt.Errorf("%w; creating it before: %v", probed, err))
			default:
				// The error is not treated as final: the connection may have broken, or the right
				// may be granted later. The table is missing and has to be created.
				return s.store.Failed(table, fmt.Errorf("%v; and creating it: %w", probed, err))
			}
		}
	}
	s.store.Found.Note()
	return nil
}

// EnsureClaims creates keyfill_sequences if it is missing and the user may create it. A
// caller that needs the table only for claims (rows that say which source fills a column)
// works without it.
func (s *Schema) EnsureClaims(ctx context.Context) {
	if s.store.Inside {
		return
	}
	if missing := s.store.Probe(ctx, engine.SequencesTable); missing != nil && s.store.HiddenTables(ctx, missing) == nil {
		_, _ = s.store.Conn.Exec(ctx, s.store.Engine.Tables[0], nil)
	}
}

// IsThere reports whether keyfill's tables exist and can be read.
func (s *Schema) IsThere(ctx context.Context) bool {
	return s.store.ProbeAll(ctx) == nil
}

// EnsureProcedure creates [store.ReserveProcedure] if it does not exist. Several
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
