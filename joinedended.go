package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// An error of MySQL may end the transaction that it comes in, and what is sent
// behind it commits by itself, while database/sql and the application take the
// transaction to be open. A number that is drawn then would be reserved by two
// statements that nothing holds together: two could get the same.
//
// On which connection such an error came is not always seen: a statement that gets
// no keys is the driver's own. So it is counted, and each connection looks before
// it draws again in a transaction.

// probeSavepoint is the name of a savepoint that is set to be let go.
const probeSavepoint = "keyfill_probe"

// errEnded is for an INSERT in a transaction that is none any more.
var errEnded = errors.New("keyfill: the engine has ended the transaction at an error, such as a deadlock: roll it back, and begin again")

// watch takes in the error of a statement of the application.
func (m *Mount) watch(err error) {
	if err == nil || err == driver.ErrSkip {
		return
	}
	t := &m.known().dialect.Transactions
	if t.Probe == "" {
		return
	}
	if sqlcode.ClassOf(m.known().dialect, err).Transient() {
		m.victims.Add(1)
	}
}

// alive returns an error where the transaction that is taken to be open has ended.
func (g *guard) alive(ctx context.Context) error {
	victims := g.mount.victims.Load()
	if g.tx != txInside || g.victims == victims {
		return nil
	}
	t := &g.mount.known().dialect.Transactions
	for _, text := range []string{t.Set, t.Probe} {
		_, err := dbconn.Exec(ctx, g.conn, strings.Replace(text, "%", probeSavepoint, 1), nil)
		switch {
		case err == nil:
		case isNumber(err, t.Ended):
			g.unknown()
			return errEnded
		default:
			return err
		}
	}
	g.victims = victims
	return nil
}

// isNumber reports whether an error is the engine's with that number.
func isNumber(err error, number int) bool {
	code, ok := sqlcode.Of(err)
	return ok && code.Number == number
}
