package store

import (
	"context"

	"github.com/keyfill/keyfill/dialect"
)

// Counter says where the engine's own counter of a column stands.
type Counter struct {
	// Next is the next number that it gives, 0 where that cannot be told.
	Next int64

	// Sequence is the sequence of PostgreSQL behind it, as it is written in SQL; Cache is
	// how many of its numbers a session reserves in advance, and Max its greatest number.
	Sequence   string
	Cache, Max int64
}

// Counter asks the engine for its own counter of the column, where that is Live. It knows
// the counters of MySQL and MariaDB, SQLite and PostgreSQL. A sequence that descends or
// cycles has no next number that says something.
func (k *KeyColumn) Counter(ctx context.Context) (Counter, error) {
	switch {
	case k.column.Counted && k.run.engine.counter != "":
		last, err := k.counted(ctx)
		return Counter{Next: last + min(1, maxNext-last)}, err
	case k.column.Live && k.run.dialect.Name == dialect.PostgreSQL().Name:
		return k.drawnFrom(ctx)
	}
	return Counter{}, nil
}

// drawnFrom is Counter for a column that draws from a sequence of PostgreSQL by itself.
// What sessions hold of it in advance (CACHE) was drawn before.
func (k *KeyColumn) drawnFrom(ctx context.Context) (Counter, error) {
	natives := catalogOf(k.run)
	own, worked, err := natives.own(ctx, k.column)
	if err != nil || own == nil || worked {
		return Counter{}, err
	}
	facts, err := natives.facts(ctx, *own)
	if err != nil || facts == nil || facts.cycles || facts.increment < 1 {
		return Counter{}, err
	}
	query := "SELECT s.last_value, q.seqcache FROM " + own.quoted + " s, pg_catalog.pg_sequence q WHERE q.seqrelid = CAST(" + k.run.literal(own.quoted) + " AS regclass)"
	row, err := k.run.conn.query(ctx, query, nil)
	if err != nil || row == nil {
		return Counter{}, natives.failed(ctx, own.shown(), err, nativeText{text: query}, nativeArgs{})
	}
	next, err := toInteger(row[0])
	if err != nil {
		return Counter{}, k.run.failed(own.shown(), err)
	}
	cache, err := toInteger(row[1])
	if err != nil {
		return Counter{}, k.run.failed(own.shown(), err)
	}
	if facts.last > 0 { // else nothing was drawn since it was made, or set to begin again
		next = facts.last + min(facts.increment, maxNext-facts.last)
	}
	return Counter{Next: next, Sequence: own.quoted, Cache: cache, Max: facts.max}, nil
}
