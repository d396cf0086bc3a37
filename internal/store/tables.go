package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// DDL returns the statements that create the tables where they are not there,
// each to be run by itself, without semicolons after them. For Oracle they are
// PL/SQL blocks, which SQL*Plus wants followed by a line with a slash.
func DDL(d *dialect.Dialect) []string { return slices.Clone(engineOf(d).tables[:]) }

// EnsureSchema creates the tables that are missing. Where all are there it needs
// no right but to read them. keyfill_series may stay missing, since most have no
// series: who may create no tables then needs the other two only. Several
// processes may call it at once.
//
// Statements that create tables commit the transaction they stand in on MySQL,
// MariaDB and Oracle; a store made by [Within] returns [ErrTransaction].
func (s *Store) EnsureSchema(ctx context.Context) error {
	if s.inside {
		return ErrTransaction
	}
	for i, table := range tables {
		if s.probe(ctx, table) == nil {
			continue
		}
		if _, err := s.conn.exec(ctx, s.engine.tables[i], nil); err != nil {
			// PostgreSQL gives one of two who create a table at once the
			// error of a unique key, IF NOT EXISTS or not; the table is
			// there when it does.
			if probed := s.probe(ctx, table); probed != nil && (table != seriesTable || isBroken(err)) {
				// Not judged: the connection may have broken, or the right be given.
				// What the table's absence means is known: it is to be created.
				return s.failed(table, fmt.Errorf("%v; and creating it: %w", probed, err))
			}
		}
	}
	return nil
}

// HasTables reports whether the tables can be read.
func (s *Store) HasTables(ctx context.Context) bool {
	for _, table := range tables {
		if s.probe(ctx, table) != nil {
			return false
		}
	}
	return true
}

const workersTable = "keyfill_workers"

// tables are the names of what the statements of an engine create.
var tables = [...]string{"keyfill_sequences", workersTable, seriesTable}

// probe reads a table.
func (s *Store) probe(ctx context.Context, table string) error {
	_, err := s.conn.query(ctx, probeText(table), nil)
	return err
}

func probeText(table string) string { return "SELECT updated_at FROM " + table + " WHERE 1 = 0" }
