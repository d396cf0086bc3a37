package store

import (
	"context"
	"fmt"
)

// Schema is the tables of keyfill's themselves, and the procedure beside them:
// whether they are there, and how they are made.
type Schema struct{ store *Store }

// SchemaOf returns the tables of a store.
func SchemaOf(s *Store) *Schema { return &Schema{s} }

// Ensure creates the tables that are missing. Where all are there it needs
// no right but to read them. keyfill_series may stay missing, since most have no
// series: who may create no tables then needs the other two only. Several
// processes may call it at once.
//
// Statements that create tables commit the transaction they stand in on MySQL,
// MariaDB and Oracle; a store made by [Within] returns [ErrTransaction].
func (s *Schema) Ensure(ctx context.Context) error {
	return s.ensureFor(ctx, nil)
}

// ensureFor is Ensure for a state of columns. Tables that were there before are created
// again while a table of these is there.
func (s *Schema) ensureFor(ctx context.Context, columns []*KeyColumn) error {
	if s.store.inside {
		return ErrTransaction
	}
	if s.store.probeAll(ctx) == nil {
		s.store.found.note()
		return nil
	}
	return s.makeMissing(ctx, columns)
}

// makeMissing is ensureFor where one of the tables is likely to be missing.
func (s *Schema) makeMissing(ctx context.Context, columns []*KeyColumn) error {
	stays := false
	for i, table := range tables {
		missing := s.store.probe(ctx, table)
		if missing == nil {
			continue
		}
		if !stays && !isBroken(missing) {
			var err error
			if stays, err = s.stayMissing(ctx, columns); err != nil {
				return err
			}
			if !stays {
				break // somebody else has made them
			}
		}
		if i == 0 { // beside the first table, which can be used, the others may be made
			if err := s.store.hidden(ctx, missing); err != nil {
				return s.store.failed(table, err)
			}
		}
		if _, err := s.store.conn.exec(ctx, s.store.engine.tables[i], nil); err != nil {
			// PostgreSQL gives one of two who create a table at once the
			// error of a unique key, IF NOT EXISTS or not; the table is
			// there when it does.
			probed := s.store.probe(ctx, table)
			switch {
			case probed == nil, table == seriesTable && !isBroken(err):
			case isBroken(probed):
				// Whether the table is there is not known: it may be refused because
				// another process has made it.
				return s.store.failed(table, fmt.Errorf("%w; creating it before: %v", probed, err))
			default:
				// Not judged: the connection may have broken, or the right be given.
				// What the table's absence means is known: it is to be created.
				return s.store.failed(table, fmt.Errorf("%v; and creating it: %w", probed, err))
			}
		}
	}
	s.store.found.note()
	return nil
}

// EnsureClaims creates keyfill_sequences where it is missing, if that is allowed:
// who needs it for claims alone goes on without it.
func (s *Schema) EnsureClaims(ctx context.Context) {
	if s.store.inside {
		return
	}
	if missing := s.store.probe(ctx, sequencesTable); missing != nil && s.store.hidden(ctx, missing) == nil {
		_, _ = s.store.conn.exec(ctx, s.store.engine.tables[0], nil)
	}
}

// IsThere reports whether the tables can be read.
func (s *Schema) IsThere(ctx context.Context) bool {
	return s.store.probeAll(ctx) == nil
}

// ensureProcedure creates [ReserveProcedure] where it is not there. Several
// processes may call it at once.
func (s *Schema) ensureProcedure(ctx context.Context) error {
	there := func() bool {
		row, err := s.store.conn.query(ctx, s.store.engine.findProcedure, nil)
		return err == nil && row != nil && row[0] != nil
	}
	switch {
	case s.store.inside:
		return ErrTransaction
	case there():
		return nil
	}
	if _, err := s.store.conn.exec(ctx, s.store.engine.procedure, nil); err != nil && !there() {
		return s.store.failed(ReserveProcedure, err)
	}
	return nil
}
