package policy

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// LastInsertID is how the application learns an integer that keyfill filled, in the
// ways in which it would ask for an integer that the engine made.
type LastInsertID string

const (
	// LastInsertIDSession makes the session know the integer: the first key of the
	// statement is sent so that LastInsertId of the driver's own Result and SELECT
	// LAST_INSERT_ID() return it. MySQL and MariaDB only.
	LastInsertIDSession LastInsertID = "session"
	// LastInsertIDResult returns the integer by LastInsertId of the Result alone.
	LastInsertIDResult LastInsertID = "result"
	// LastInsertIDOff leaves LastInsertId to the driver.
	LastInsertIDOff LastInsertID = "off"
)

var lastInsertIDWords = []string{
	string(LastInsertIDSession), string(LastInsertIDResult), string(LastInsertIDOff),
}

// lastInsertIDWhat is what messages call a value of last_insert_id.
const lastInsertIDWhat = "word for last_insert_id:"

// lastInsertIDOf returns where an application finds a key that the engine has made: in
// the session's LAST_INSERT_ID() in MySQL (8.4 Reference Manual, 14.15) and MariaDB; in
// the Result if the driver reads the number of the last row; and otherwise nowhere,
// since LastInsertId of the other drivers always fails.
func lastInsertIDOf(d *dialect.Dialect) LastInsertID {
	switch {
	case slices.Contains(sessionDialects, d.Name):
		return LastInsertIDSession
	case d.LastRowID:
		return LastInsertIDResult
	}
	return LastInsertIDOff
}

// sessionDialects are the dialects with a LAST_INSERT_ID(expression) that an INSERT may
// contain.
var sessionDialects = []string{dialect.MySQL().Name, dialect.MariaDB().Name}
