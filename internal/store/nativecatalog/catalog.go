// Package nativecatalog queries the catalog of an engine for its own sequences (made by
// CREATE SEQUENCE or SERIAL), and has the statements that draw from them. Package
// keycolumn uses it to find the sequence of a column, and package native to draw.
package nativecatalog

import (
	"context"
	"math"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
)

// Facts holds what the catalog says about a sequence.
type Facts struct {
	Increment, Max int64
	Last           int64 // the last value that was drawn or cached; 0 if not known
	Cycles         bool
	Cached         bool // each session caches values
}

// EndsWithin reports whether the sequence has fewer than count values left.
func (f *Facts) EndsWithin(count int64) bool {
	// A last value below 0 counts as 0, since the difference might not fit an int64.
	left := f.Max - max(f.Last, 0)
	return f.Increment > 0 && left/f.Increment < count
}

// Catalog queries the catalog of an engine for its sequences.
type Catalog struct {
	store      *store.Store
	Statements *Statements // nil if the engine has no sequences
}

// Of returns the catalog of the database of s.
func Of(s *store.Store) Catalog { return Catalog{s, known(s.Dialect)} }

// Find returns the name of a sequence as the catalog has it, nil if the sequence does
// not exist.
func (k Catalog) Find(ctx context.Context, schema, name string) (*Name, error) {
	wanted := nameOf(k.store.Dialect, schema, name)
	find := k.Statements.find
	row, err := k.store.Conn.Query(ctx, find.Text, find.Bind(Args{Name: wanted}))
	if err != nil || row == nil {
		return nil, k.Failed(ctx, name, err, find, Args{Name: wanted})
	}
	found := nameOf(k.store.Dialect, store.Text(row[0]), store.Text(row[1]))
	return &found, nil
}

// Facts returns the catalog's facts about a sequence, nil if it does not exist any more.
func (k Catalog) Facts(ctx context.Context, q Name) (*Facts, error) {
	text := k.Statements.facts
	text.Text = strings.ReplaceAll(text.Text, "{sequence}", q.Quoted)
	row, err := k.store.Conn.Query(ctx, text.Text, text.Bind(Args{Name: q}))
	if err != nil || row == nil {
		return nil, k.Failed(ctx, q.Shown(), err, text, Args{Name: q})
	}
	var n [5]int64
	for i := range n {
		if row[i] == nil {
			continue
		}
		if n[i], err = store.Integer(row[i]); err != nil {
			return nil, k.store.Failed(q.Shown(), err)
		}
	}
	if n[1] <= 0 {
		n[1] = math.MaxInt64
	}
	return &Facts{Increment: n[0], Max: n[1], Cycles: n[2] != 0, Cached: n[3] != 0, Last: n[4]}, nil
}

// Own returns the sequence from which the default of column c draws, nil if it draws
// from none. worked reports whether the default changes the drawn value, or the
// sequence cannot be determined.
func (k Catalog) Own(ctx context.Context, c store.Column) (own *Name, worked bool, err error) {
	e := k.Statements
	args := Args{Column: c, Table: c.TableIn(k.store.Dialect)}
	row, err := k.store.Conn.Query(ctx, e.own.Text, e.own.Bind(args))
	if err != nil || row == nil {
		return nil, false, k.Failed(ctx, c.String(), err, e.own, args)
	}
	schema, name, worked := e.reads(k.store.Dialect, row)
	if name == "" || worked {
		return nil, worked, nil
	}
	if own, err = k.Find(ctx, schema, name); err == nil && own == nil {
		worked = true // the user cannot see the sequence
	}
	return own, worked, err
}

// Failed returns the error for a query about a sequence that has failed with err, nil
// if err is nil.
func (k Catalog) Failed(ctx context.Context, name string, err error, text Text, args Args) error {
	if err == nil {
		return nil
	}
	return k.store.Failed(name, k.store.Judge(ctx, store.ErrNoSequence, err, text.Text, text.Bind(args)))
}
