package session

import (
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// untouched has the parts of a session that a text must leave unchanged, or else touched
// becomes true: settings, the role, the meaning of names, temporary tables.
const untouched = words.PlaceLeft | words.SettingsLeft | words.NamesLeft | words.RowsLeft

// touched is true after a text was sent or prepared that may have changed the session since
// the driver opened it. It is only followed on engines for which IsAsOpened needs it.
type touched bool

// sends sets k if the text, about to be sent or prepared, may change the session.
func (k *touched) sends(t *text) {
	*k = *k || touched(t.dialect.LeavesNoTrace && !t.leaves(untouched))
}

// IsAsOpened reports whether no transaction is open on the connection, and its session is
// as it was when the driver opened it, so that a statement means the same as on any
// connection of the same connector. It reports false if that is not known.
//
// It is true on PostgreSQL alone: on MySQL and MariaDB the next statement would read another
// FOUND_ROWS() or ROW_COUNT().
func IsAsOpened(c *Conn) bool {
	_, native := c.Raw.(NativeConn)
	return c.dialect().LeavesNoTrace && c.Tx == Outside && !c.Ended && !c.begun && !c.left &&
		!bool(c.touched) && !c.Unwrapped && !c.unwrapped && !native && !c.discard && !c.Altered.On && !c.Temporary.Any()
}
