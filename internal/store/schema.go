package store

import (
	"context"
	"fmt"
)

// Schema is the tables of keyfill's themselves, and the procedure beside them:
// whether they are there, and how they are made.
type Schema struct{ run *runner }

// Ensure creates the tables that are missing. Where all are there it needs
// no right but to read them. keyfill_series may stay missing, since most have no
// series: who may create no tables then needs the other two only. Several
// processes may call it at once.
//
// Statements that create tables commit the transaction they stand in on MySQL,
// MariaDB and Oracle; a store made by [Within] returns [ErrTransaction].
func (s *Schema) Ensure(ctx context.Context) error {
	if s.run.inside {
		return ErrTransaction
	}
	for i, table := range tables {
		if s.run.probe(ctx, table) == nil {
			continue
		}
		if _, err := s.run.conn.exec(ctx, s.run.engine.tables[i], nil); err != nil {
			// PostgreSQL gives one of two who create a table at once the
			// error of a unique key, IF NOT EXISTS or not; the table is
			// there when it does.
			if probed := s.run.probe(ctx, table); probed != nil && (table != seriesTable || isBroken(err)) {
				// Not judged: the connection may have broken, or the right be given.
				// What the table's absence means is known: it is to be created.
				return s.run.failed(table, fmt.Errorf("%v; and creating it: %w", probed, err))
			}
		}
	}
	return nil
}

// EnsureClaims creates keyfill_sequences where it is missing, if that is allowed:
// who needs it for claims alone goes on without it.
func (s *Schema) EnsureClaims(ctx context.Context) {
	if !s.run.inside && s.run.probe(ctx, tables[0]) != nil {
		_, _ = s.run.conn.exec(ctx, s.run.engine.tables[0], nil)
	}
}

// IsThere reports whether the tables can be read.
func (s *Schema) IsThere(ctx context.Context) bool {
	for _, table := range tables {
		if s.run.probe(ctx, table) != nil {
			return false
		}
	}
	return true
}

// ensureProcedure creates [ReserveProcedure] where it is not there. Several
// processes may call it at once.
func (s *Schema) ensureProcedure(ctx context.Context) error {
	there := func() bool {
		row, err := s.run.conn.query(ctx, s.run.engine.findProcedure, nil)
		return err == nil && row != nil && row[0] != nil
	}
	switch {
	case s.run.inside:
		return ErrTransaction
	case there():
		return nil
	}
	if _, err := s.run.conn.exec(ctx, s.run.engine.procedure, nil); err != nil && !there() {
		return s.run.failed(ReserveProcedure, err)
	}
	return nil
}
