package keycolumn

import (
	"cmp"
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/nativecatalog"
)

// Counter is the state of the engine's own counter of a column.
type Counter struct {
	// Next is the next number that the counter gives, 0 if that is not known.
	Next int64

	// Sequence is the sequence of PostgreSQL that is the counter, as it is written in SQL;
	// empty on other engines. Cache is how many of its numbers a session reserves in
	// advance, and Max is its greatest number.
	Sequence   string
	Cache, Max int64
}

// Counter returns the state of the engine's own counter of the column, if the column is
// Live. It supports MySQL, MariaDB, SQLite and PostgreSQL. A sequence that descends or
// cycles has no next number that could be relied on.
func (k *KeyColumn) Counter(ctx context.Context) (Counter, error) {
	switch {
	case k.Column.Counted && k.Store.Engine.Counters.Counter != "":
		last, err := k.Counted(ctx)
		return Counter{Next: last + min(1, store.MaxNext-last)}, err
	case k.Column.Live:
		return k.drawnFrom(ctx)
	}
	return Counter{}, nil
}

// CountsInAdvance reports whether columns of the engine are numbered by sequences of
// which sessions may hold numbers in advance.
func CountsInAdvance(s *store.Store) bool {
	natives := nativecatalog.Of(s).Statements
	return natives != nil && natives.Cache != ""
}

// drawnFrom returns the counter of a column whose default draws from a sequence of
// PostgreSQL. Numbers that sessions hold in advance (CACHE) count as drawn.
//
// The right USAGE suffices to read the last value that was drawn. Before the first draw
// only the sequence itself shows where it will begin (RESTART does not change the START
// in the catalog), and reading the sequence needs the right SELECT: "pg_sequences" and
// "GRANT" in the manual of PostgreSQL 15.
func (k *KeyColumn) drawnFrom(ctx context.Context) (Counter, error) {
	natives := nativecatalog.Of(k.Store)
	if !CountsInAdvance(k.Store) {
		return Counter{}, nil
	}
	own, worked, err := natives.Own(ctx, k.Column)
	if err != nil || own == nil || worked {
		return Counter{}, err
	}
	facts, err := natives.Facts(ctx, *own)
	if err != nil || facts == nil || facts.Cycles || facts.Increment < 1 {
		return Counter{}, err
	}
	row, err := k.askSequence(ctx, own, strings.Replace(natives.Statements.Cache, "{sequence}", k.Store.Literal(own.Quoted), 1))
	if err != nil || row == nil {
		return Counter{}, err
	}
	cache, err := store.Integer(row[0])
	if err != nil {
		return Counter{}, k.Store.Failed(own.Shown(), err)
	}
	found := Counter{Sequence: own.Quoted, Cache: cache, Max: facts.Max}
	if facts.Last > 0 {
		found.Next = facts.Last + min(facts.Increment, store.MaxNext-facts.Last)
		return found, nil
	}
	if mayRead, err := store.Integer(row[1]); err != nil || mayRead == 0 {
		return Counter{}, cmp.Or(err, error(&store.Error{
			Name: own.Shown(), Columns: []store.Column{k.Column}, Err: store.ErrSequenceRight,
			SQL: "GRANT SELECT ON SEQUENCE " + own.Quoted + " TO " + store.Text(row[2]),
		}))
	}
	// No number was drawn since the sequence was made or restarted.
	if row, err = k.askSequence(ctx, own, "SELECT last_value FROM "+own.Quoted); err != nil || row == nil {
		return Counter{}, err
	}
	if found.Next, err = store.Integer(row[0]); err != nil {
		return Counter{}, k.Store.Failed(own.Shown(), err)
	}
	return found, nil
}

// askSequence sends a query about a sequence and returns its only row.
func (k *KeyColumn) askSequence(ctx context.Context, own *nativecatalog.Name, query string) ([]any, error) {
	row, err := k.Store.Conn.Query(ctx, query, nil)
	if err != nil {
		return nil, nativecatalog.Of(k.Store).Failed(ctx, own.Shown(), err, nativecatalog.Text{Text: query}, nativecatalog.Args{})
	}
	return row, nil
}
