package store

import (
	"cmp"
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
	case k.column.Counted && k.store.engine.counter != "":
		last, err := k.counted(ctx)
		return Counter{Next: last + min(1, maxNext-last)}, err
	case k.column.Live && k.store.dialect.Name == dialect.PostgreSQL().Name:
		return k.drawnFrom(ctx)
	}
	return Counter{}, nil
}

// drawnFrom is Counter for a column that draws from a sequence of PostgreSQL by itself.
// What sessions hold of it in advance (CACHE) was drawn before.
//
// The last value that was drawn may be read with USAGE alone. Before the first one only
// the sequence itself tells where it will begin (RESTART leaves the START of the catalog
// as it was), and that takes SELECT: "pg_sequences" and "GRANT" of the manual of
// PostgreSQL 15.
func (k *KeyColumn) drawnFrom(ctx context.Context) (Counter, error) {
	natives := catalogOf(k.store)
	own, worked, err := natives.own(ctx, k.column)
	if err != nil || own == nil || worked {
		return Counter{}, err
	}
	facts, err := natives.facts(ctx, *own)
	if err != nil || facts == nil || facts.cycles || facts.increment < 1 {
		return Counter{}, err
	}
	row, err := k.askSequence(ctx, own, "SELECT q.seqcache, CASE WHEN pg_catalog.has_sequence_privilege(q.seqrelid, 'SELECT') THEN 1 ELSE 0 END, CAST(quote_ident(current_user) AS text)"+
		" FROM pg_catalog.pg_sequence q WHERE q.seqrelid = CAST("+k.store.literal(own.quoted)+" AS regclass)")
	if err != nil || row == nil {
		return Counter{}, err
	}
	cache, err := toInteger(row[0])
	if err != nil {
		return Counter{}, k.store.failed(own.shown(), err)
	}
	found := Counter{Sequence: own.quoted, Cache: cache, Max: facts.max}
	if facts.last > 0 {
		found.Next = facts.last + min(facts.increment, maxNext-facts.last)
		return found, nil
	}
	if mayRead, err := toInteger(row[1]); err != nil || mayRead == 0 {
		return Counter{}, cmp.Or(err, error(&Error{
			Name: own.shown(), Columns: []Column{k.column}, Err: ErrSequenceRight,
			SQL: "GRANT SELECT ON SEQUENCE " + own.quoted + " TO " + toText(row[2]),
		}))
	}
	// Nothing was drawn since it was made, or set to begin again.
	if row, err = k.askSequence(ctx, own, "SELECT last_value FROM "+own.quoted); err != nil || row == nil {
		return Counter{}, err
	}
	if found.Next, err = toInteger(row[0]); err != nil {
		return Counter{}, k.store.failed(own.shown(), err)
	}
	return found, nil
}

// askSequence sends a query about a sequence.
func (k *KeyColumn) askSequence(ctx context.Context, own *nativeName, query string) ([]any, error) {
	row, err := k.store.conn.query(ctx, query, nil)
	if err != nil {
		return nil, catalogOf(k.store).failed(ctx, own.shown(), err, nativeText{text: query}, nativeArgs{})
	}
	return row, nil
}
