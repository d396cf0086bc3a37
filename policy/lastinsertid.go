package policy

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// LastInsertID says how the application learns an integer that was filled,
// where it asks as for one that the engine made.
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

// lastInsertID returns how the key at p, whose other rules are in rk, is learnt.
func (k *compiler) lastInsertID(p place, key Key, rk *RuleKey) LastInsertID {
	if !rk.Integer {
		return LastInsertIDOff
	}
	normal, at := lastInsertIDOf(k.names.d), p.in("last_insert_id")
	switch {
	case key.LastInsertID == LastInsertIDSession && normal != LastInsertIDSession:
		k.wrong(at, "%s has no LAST_INSERT_ID() that a statement can set; say result or off", k.names.d.Title)
	case key.LastInsertID == LastInsertIDSession && rk.Layout != "":
		k.wrong(at, "LAST_INSERT_ID() takes no key that is sent as %s; say result or off", rk.Layout)
	case key.LastInsertID != "":
		return key.LastInsertID
	case p.item > 0 || rk.Layout != "": // an entry of keys, or text
		return LastInsertIDOff
	}
	return normal
}

// checkLearnt refuses a second key of one table that LastInsertId would give.
func (k *compiler) checkLearnt(uses []keyUse) {
	first := ""
	for _, u := range uses {
		switch key := u.key(); {
		case key.LastInsertID == LastInsertIDOff:
		case first == "":
			first = key.Column
		default:
			k.wrong(u.at.in("last_insert_id"), "a statement has one LastInsertId, and it is the key of %s; say last_insert_id: off for one of the two", show(first))
		}
	}
}
