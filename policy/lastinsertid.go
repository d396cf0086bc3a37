package policy

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// LastInsertID is how the application learns an integer that was filled, where it asks as
// for an integer that the engine made.
type LastInsertID string

const (
	// LastInsertIDSession has the session know it: the first key of the
	// statement is sent so that LastInsertId of the driver's own Result and
	// SELECT LAST_INSERT_ID() give it. MySQL and MariaDB only.
	LastInsertIDSession LastInsertID = "session"
	// LastInsertIDResult gives it by LastInsertId of the Result alone.
	LastInsertIDResult LastInsertID = "result"
	// LastInsertIDOff leaves LastInsertId to the driver.
	LastInsertIDOff LastInsertID = "off"
)

var lastInsertIDWords = []string{
	string(LastInsertIDSession), string(LastInsertIDResult), string(LastInsertIDOff),
}

// lastInsertIDWhat names such a word in messages.
const lastInsertIDWhat = "word for last_insert_id:"

// lastInsertIDOf returns where an application finds the key that the engine has
// made: in the session's LAST_INSERT_ID() in MySQL (8.4 Reference Manual, 14.15)
// and MariaDB, in the Result where drivers read the number of the last row, and
// nowhere else, since LastInsertId of the other drivers is always an error.
func lastInsertIDOf(d *dialect.Dialect) LastInsertID {
	switch {
	case slices.Contains(sessionDialects, d.Name):
		return LastInsertIDSession
	case d.LastRowID:
		return LastInsertIDResult
	}
	return LastInsertIDOff
}

// sessionDialects have a LAST_INSERT_ID(expression) that an INSERT may hold.
var sessionDialects = []string{dialect.MySQL().Name, dialect.MariaDB().Name}
