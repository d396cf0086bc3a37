package keyfill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// ErrNotOne is returned by [Mount.Keys] and [Mount.Reserve] for the mount of a
// registered name unless exactly one database is open through that name.
var ErrNotOne = anchor.Last("mount", "keyfill: not exactly one database is open through this name: ask the mount of one, From(db)")

// ErrNoNumbers is returned by [Mount.Reserve] for a table whose keys are not
// consecutive integers.
var ErrNoNumbers = fill.ErrNoNumbers

// ErrOwnMemory is returned by [Mount.Keys] and [Mount.Reserve] for a database
// in memory, which no connection but the application's own can see.
var ErrOwnMemory = fill.ErrOwnMemory

// ErrJoined is returned by [Mount.Keys] and [Mount.Reserve] for keys that are drawn in
// the transaction of their INSERT: the source has transaction: joined or scope: in the
// policy, or is of the kind maxplusone. It is also returned for numbers with a period:, which
// are of the period in which their row is inserted.
var ErrJoined = fill.ErrJoined

// ErrNotUnique is returned for a table whose keys are made as its greatest key plus
// one, if no unique index is on the key column alone, or if the keys are no integers:
// an index on (key, version) would let the same key in twice.
var ErrNotUnique = keys.ErrNotUnique

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
	return db.KeysFor(ctx, name, n)
}

// Reserve returns the first of n consecutive integers for a table's first key column, each
// from 1 to 2⁶³−1 or to the column's max_bits. An INSERT that brings them is kept. It waits
// and fails in the same cases as [Mount.Keys]. If the keys are not consecutive integers, it
// fails with [ErrNoNumbers].
func (m *Mount) Reserve(ctx context.Context, name string, n int) (int64, error) {
	db, err := m.only(name, n)
	if err != nil {
		return 0, err
	}
	return db.ReserveFor(ctx, name, n)
}

// KeyColumn returns the first key column of a table, and whether [Mount.Keys] gives its
// keys at any moment, also while the caller has a transaction open. A library that sets
// keys before the INSERT asks it first: another column must not get them. name is as for
// Keys.
//
// The column is written in the form in which the engine compares names: on PostgreSQL in
// lower case and on Oracle in upper case, unless the policy quotes the name, and on the
// other engines, which compare names without regard to case, always in lower case. There
// strings.EqualFold finds the column in the table.
//
// The column is empty for a table that the policy does not fill, and on the mount of a
// registered name unless one database is open. anytime is false where keys belong to the
// transaction of their INSERT, for integers that SQLite keeps in the database itself,
// under the modes dry_run and off, and where fill: leaves missing keys alone.
func (m *Mount) KeyColumn(name string) (column string, anytime bool) {
	all, _ := m.databases()
	if len(all) != 1 {
		return "", false
	}
	return all[0].KeyColumnOf(name)
}

// KeyColumns returns the columns of a table that get a key in an INSERT that does not name
// them, in the order of the policy. A library that stores structs asks it which
// of their fields to read back. They are written as [Mount.KeyColumn] does, and name is as
// for [Mount.Keys].
//
// There are none for a table that the policy does not fill, under the modes dry_run and off,
// and on the mount of a registered name unless one database is open. A column whose fill:
// leaves missing keys alone is not among them. The caller owns the slice.
func (m *Mount) KeyColumns(name string) []string {
	all, _ := m.databases()
	if len(all) != 1 {
		return nil
	}
	return all[0].KeyColumnsOf(name)
}

// only returns the database of the mount, or an error unless there is exactly one.
func (m *Mount) only(table string, n int) (*fill.Database, error) {
	all, _ := m.databases()
	if len(all) != 1 {
		return nil, ErrNotOne
	}
	if n < 1 || n > maxKeys {
		return nil, &Error{Table: table, Offset: -1, Err: anchor.Errorf("count", "%d keys: ask for 1 to %d", n, maxKeys)}
	}
	return all[0], nil
}

// WithValue returns a context under which {value:name} in the name of a source's state (a
// stored counter) means value, so that each tenant, say, has a numbering of its own. An
// INSERT whose source needs a value fails with an [*Error] where the context has none, or
// an empty one.
func WithValue(ctx context.Context, name, value string) context.Context {
	return table.WithValue(ctx, name, value)
}
