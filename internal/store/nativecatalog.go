package store

import (
	"context"
	"math"
	"strings"
)

// nativeFacts holds the facts about a sequence in the catalog.
type nativeFacts struct {
	increment, max int64
	last           int64 // drawn, or cached; 0 where that is not known
	cycles         bool
	cached         bool // by each session
}

// endsWithin reports whether that many values are more than there are left.
func (f *nativeFacts) endsWithin(count int64) bool {
	// A value below 0 counts as 0, since the difference might not fit an int64.
	left := f.max - max(f.last, 0)
	return f.increment > 0 && left/f.increment < count
}

// nativeCatalog asks the catalog of an engine for its sequences.
type nativeCatalog struct {
	store  *Store
	engine *nativeEngine // nil where the engine has no sequences
}

func catalogOf(r *Store) nativeCatalog { return nativeCatalog{r, natives[r.dialect.Name]} }

// find returns the name of a sequence as it is found, nil where there is
// none.
func (k nativeCatalog) find(ctx context.Context, schema, name string) (*nativeName, error) {
	wanted := nameOf(k.store.dialect, schema, name)
	find := k.engine.find
	row, err := k.store.conn.query(ctx, find.text, find.bind(nativeArgs{name: wanted}))
	if err != nil || row == nil {
		return nil, k.failed(ctx, name, err, find, nativeArgs{name: wanted})
	}
	found := nameOf(k.store.dialect, toText(row[0]), toText(row[1]))
	return &found, nil
}

// facts returns what the catalog says of a sequence, nil where it is not
// there any more.
func (k nativeCatalog) facts(ctx context.Context, q nativeName) (*nativeFacts, error) {
	text := k.engine.facts
	text.text = strings.ReplaceAll(text.text, "{sequence}", q.quoted)
	row, err := k.store.conn.query(ctx, text.text, text.bind(nativeArgs{name: q}))
	if err != nil || row == nil {
		return nil, k.failed(ctx, q.shown(), err, text, nativeArgs{name: q})
	}
	var n [5]int64
	for i := range n {
		if row[i] == nil {
			continue
		}
		if n[i], err = toInteger(row[i]); err != nil {
			return nil, k.store.failed(q.shown(), err)
		}
	}
	if n[1] <= 0 {
		n[1] = math.MaxInt64
	}
	return &nativeFacts{increment: n[0], max: n[1], cycles: n[2] != 0, cached: n[3] != 0, last: n[4]}, nil
}

// own returns the sequence that a column draws from by itself, nil where
// it draws from none. worked says that the column changes the value, or that
// the sequence cannot be told.
func (k nativeCatalog) own(ctx context.Context, c Column) (own *nativeName, worked bool, err error) {
	e := k.engine
	args := nativeArgs{column: c, table: c.tableIn(k.store.dialect)}
	row, err := k.store.conn.query(ctx, e.own.text, e.own.bind(args))
	if err != nil || row == nil {
		return nil, false, k.failed(ctx, c.String(), err, e.own, args)
	}
	schema, name, worked := e.reads(k.store.dialect, row)
	if name == "" || worked {
		return nil, worked, nil
	}
	if own, err = k.find(ctx, schema, name); err == nil && own == nil {
		worked = true // it cannot be seen
	}
	return own, worked, err
}

// failed returns the error of a query about a sequence, nil where there is
// none.
func (k nativeCatalog) failed(ctx context.Context, name string, err error, text nativeText, args nativeArgs) error {
	if err == nil {
		return nil
	}
	return k.store.failed(name, k.store.judge(ctx, ErrNoSequence, err, text.text, text.bind(args)))
}
