package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/retry"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// The errors of Keys and Reserve when a program cannot get keys before its INSERT.
// Package keyfill describes each under the same name.
var (
	ErrJoined    = anchor.Last("beforehand", "keyfill: the keys are drawn in the transaction of their INSERT, not before it: send the INSERT without a key")
	ErrOwnMemory = anchor.Last("beforehand", "keyfill: no connection but the application's own sees a database in memory: let its INSERTs draw the keys, or use a file")
	ErrNoNumbers = anchor.Last("beforehand", "keyfill: the source makes no consecutive integers: ask for Keys")
)

// Connect opens a connection of the driver, and queries the facts that its use needs.
func (db *Database) Connect(ctx context.Context, parent driver.Connector) (*Conn, error) {
	c := new(Conn)
	if err := retry.Connect(ctx, &c.Conn, &db.Database, parent); err != nil {
		return nil, err
	}
	return c, nil
}

// KeysFor returns n new keys for the first key column of a table, whose name is written
// as in the policy.
func (db *Database) KeysFor(ctx context.Context, name string, n int) ([]driver.Value, error) {
	var made []driver.Value
	err := db.forTable(ctx, name, func(_ *table.Table, dr keys.Drawing) error {
		var err error
		made, err = dr.Append(ctx, nil, n)
		return err
	})
	return made, err
}

// KeyColumnOf returns the first key column of a table, whose name is written as in the
// policy. anytime reports whether KeysFor can return its keys at any moment, also while
// the caller has a transaction open. The column is empty if the policy does not fill
// the table.
func (db *Database) KeyColumnOf(name string) (column string, anytime bool) {
	t, err := db.AnyEngine().TableNamed(name)
	if err != nil {
		return "", false
	}
	k := &t.KeyColumns[0]
	waits := k.Source == nil && k.OnConnection // on SQLite, drawing keys waits for transactions that write
	return k.Name, db.ModeOf(t) == policy.ModeFill && k.Rule.Fill.Has(policy.FillMissing) && !k.InTransaction && k.Rule.From == nil && !waits
}

// KeyColumnsOf returns the columns of a table that get a key in an INSERT that does not name
// them. name is written as in the policy.
func (db *Database) KeyColumnsOf(name string) []string {
	t, err := db.AnyEngine().TableNamed(name)
	if err != nil || db.ModeOf(t) != policy.ModeFill {
		return nil
	}
	var columns []string
	for i := range t.KeyColumns {
		if k := &t.KeyColumns[i]; k.Rule.Fill.Has(policy.FillMissing) {
			columns = append(columns, k.Name)
		}
	}
	return columns
}

// ReserveFor returns the first of n consecutive integers for the first key column of a
// table, whose name is written as in the policy.
func (db *Database) ReserveFor(ctx context.Context, name string, n int) (int64, error) {
	var first int64
	err := db.forTable(ctx, name, func(t *table.Table, dr keys.Drawing) error {
		if !t.KeyColumns[0].Rule.Contiguous {
			return ErrNoNumbers
		}
		var err error
		_, first, err = dr.Reserve(ctx, int64(n))
		return err
	})
	return first, err
}

// forTable calls f for the table with this name, with a connection if the source of its
// keys needs one.
func (db *Database) forTable(ctx context.Context, name string, f func(*table.Table, keys.Drawing) error) error {
	// If the engine may be MySQL or MariaDB, either of the two is used: names, layouts and
	// stored counters are the same, and only the requirements on a column differ.
	t, err := db.AnyEngine().TableNamed(name)
	if err != nil {
		return db.AnyEngine().NewError(name, "", -1, err)
	}
	if t, err = db.TableAtHome(ctx, t); err != nil {
		return db.AnyEngine().NewError(name, "", -1, err)
	}
	k := &t.KeyColumns[0]
	switch {
	case k.Rule.From != nil:
		return t.KeyError(0, keysource.ErrNeedsRow)
	case k.InTransaction || k.IsWithin():
		return t.KeyError(0, ErrJoined)
	}
	if k.Source == nil && db.StatesOnConnection() {
		err = db.withOwnConn(ctx, func(c *keys.Conn) error { return f(t, c.DrawingFor(t, 0)) })
	} else {
		err = f(t, db.DrawingFor(t, 0))
	}
	if err != nil {
		return t.KeyError(0, err)
	}
	return nil
}

// WithOwnSession calls f with the session of a new connection of keyfill's own.
func (db *Database) WithOwnSession(ctx context.Context, f func(*relation.Session) error) error {
	return db.withOwnConn(ctx, func(c *keys.Conn) error { return f(&c.Session) })
}

// withOwnConn calls f with a new connection of keyfill's own.
func (db *Database) withOwnConn(ctx context.Context, f func(*keys.Conn) error) error {
	c := new(execution.Conn)
	err := retry.Connect(ctx, c, &db.Database, db.OwnConnector())
	if err != nil {
		return err
	}
	if c.DetectOwnMemory(ctx); c.InMemory {
		err = ErrOwnMemory
	} else {
		err = f(&c.Conn)
	}
	if closeErr := c.Conn.Close(); err == nil {
		err = closeErr
	}
	return err
}
