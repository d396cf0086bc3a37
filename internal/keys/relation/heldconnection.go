package relation

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/keysource"
)

// errHeld describes why a store may not have answered an INSERT in a transaction.
var errHeld = anchor.New("held-connection", "the INSERT's own transaction keeps the connection that keyfill waits for: let the server take two connections more than SetMaxOpenConns (docs/pool.md)")

// LentConn returns the connection of g, for a query when the server accepts no more
// connections of keyfill. It returns nil if g is nil, or if a query on that connection
// could have an effect or another result than on a connection of keyfill's own.
func LentConn(g *Session) driver.Conn {
	if g == nil || !session.IsAsOpened(&g.Conn) {
		return nil
	}
	return g.Own()
}

// lender returns a function that returns LentConn(g).
func lender(g *Session) func() driver.Conn { return func() driver.Conn { return LentConn(g) } }

// Held adds a possible cause to the error of a store that has not answered: the
// statement's transaction keeps a connection of the same server.
func (g *Session) Held(err error) error {
	if err == nil || g.Tx == session.Outside || g.Tables.StatesOnConnection() || !errors.Is(err, keysource.ErrStoreDown) {
		return err
	}
	return fmt.Errorf("%w; %w", err, errHeld)
}
