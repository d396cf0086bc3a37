package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// ErrNotOne is returned by [Mount.Keys] and [Mount.Reserve] for the mount of a
// registered name through which no database, or more than one, is open.
var ErrNotOne = errors.New("keyfill: not exactly one database is open through this name: ask the mount of one, From(db)")

// ErrNoNumbers is returned by [Mount.Reserve] for a table whose keys are not
// consecutive integers.
var ErrNoNumbers = errors.New("keyfill: the source makes no consecutive integers: ask for Keys")

// ErrOwnMemory is returned by [Mount.Keys] and [Mount.Reserve] for a database
// in memory, which no connection but the application's own can see.
var ErrOwnMemory = errors.New("keyfill: no connection but the application's own sees a database in memory: let its INSERTs draw the keys, or use a file")

// ErrJoined is returned by [Mount.Keys] and [Mount.Reserve] for keys that are
// drawn in the transaction of their INSERT. The policy says so of a source with
// transaction: joined or scope:, and of the kind maxplusone.
var ErrJoined = errors.New("keyfill: the keys are drawn in the transaction of their INSERT, not before it: send the INSERT without a key")

// maxKeys is how many keys may be asked for at once.
const maxKeys = 1_000_000

// Keys returns n new keys for a table's first key column, in ascending order
// where the source is ordered, and in the form in which the driver takes them: a
// string or 16 bytes for a UUID, as the layout says, a string for a text key, an
// int64 for an integer. A program asks for keys to insert parents and children
// in one batch, or to show a key before its row is stored. An INSERT that brings
// them is kept. name is the table's name as in the policy, of a table that the
// policy names or a glob matches. {value:…} in the name of its state comes from
// ctx: see [WithValue].
//
// On SQLite keyfill reserves integers on a connection of its own, which waits
// for every transaction that writes: do not call Keys inside one. It fails with
// [ErrOwnMemory] for a database in memory.
//
// A key that no INSERT brings is a gap. The caller owns the slice and its values.
//
// It fails with [ErrNotOne] on the mount of a registered name unless one
// database is open. It fails with an [*Error] when n is not from 1 to 1,000,000,
// when the table is not configured, when the source fails, and, as [ErrJoined],
// when the keys belong to the transaction of their INSERT.
func (m *Mount) Keys(ctx context.Context, name string, n int) ([]driver.Value, error) {
	db, err := m.only(name, n)
	if err != nil {
		return nil, err
	}
	var keys []driver.Value
	err = db.forTable(ctx, name, func(t *table, g *guard) error {
		var err error
		keys, err = db.next(ctx, g, nil, t, 0, n)
		return err
	})
	return keys, err
}

// Reserve returns the first of n consecutive integers for a table's first key
// column, each from 1 to 2⁶³−1 or to the column's max_bits. An INSERT that brings
// them is kept. It waits and fails as [Mount.Keys] does, and besides with
// [ErrNoNumbers] where the keys are not consecutive integers.
func (m *Mount) Reserve(ctx context.Context, name string, n int) (int64, error) {
	db, err := m.only(name, n)
	if err != nil {
		return 0, err
	}
	var first int64
	err = db.forTable(ctx, name, func(t *table, g *guard) error {
		if !t.keys[0].rule.Contiguous {
			return ErrNoNumbers
		}
		var err error
		first, err = db.reserve(ctx, g, t, 0, int64(n))
		return err
	})
	return first, err
}

// only returns the database, if there is one alone.
func (m *Mount) only(table string, n int) (*database, error) {
	all, _ := m.databases()
	if len(all) != 1 {
		return nil, ErrNotOne
	}
	if n < 1 || n > maxKeys {
		return nil, &Error{Table: table, Offset: -1, Err: fmt.Errorf("%d keys: ask for 1 to %d", n, maxKeys)}
	}
	return all[0], nil
}

// forTable calls f for a table of a name, with a connection where its source
// needs one.
func (db *database) forTable(ctx context.Context, name string, f func(*table, *guard) error) error {
	// Names, layouts and states are alike in MySQL and MariaDB; what the catalog
	// is to say of a column is not.
	t, err := db.known().named(name)
	if err != nil {
		return &Error{Table: name, Offset: -1, Err: err}
	}
	if t, err = db.real(ctx, t); err != nil {
		return &Error{Table: name, Offset: -1, Err: err}
	}
	k := &t.keys[0]
	if db.belongs(k) {
		return t.keyError(0, ErrJoined)
	}
	if k.source == nil && db.onConnection() && db.standIn == nil {
		err = db.withGuard(ctx, func(g *guard) error { return f(t, g) })
	} else {
		err = f(t, nil)
	}
	if err != nil {
		return t.keyError(0, err)
	}
	return nil
}

// withGuard calls f with a connection of its own.
func (db *database) withGuard(ctx context.Context, f func(*guard) error) error {
	g, err := db.connect(ctx, db.sources.stores.own)
	if err != nil {
		return err
	}
	if db.acquaint(ctx, g); g.counters != nil {
		err = ErrOwnMemory
	} else {
		err = f(g)
	}
	if closeErr := g.Close(); err == nil {
		err = closeErr
	}
	return err
}
