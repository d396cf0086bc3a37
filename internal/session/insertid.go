package session

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// A session of MySQL or MariaDB may SET INSERT_ID. The next row that the engine numbers
// then gets this number, in whatever table ("insert_id", Server System Variables).

// insertID notes whether a session's INSERT_ID may be set.
type insertID struct {
	May    bool // whether a number may be set that no row has got yet
	always bool // whether a text was prepared that may set a number whenever it runs
}

// sends notes whether the text, which is about to be executed, may set INSERT_ID.
func (i *insertID) sends(t *text) {
	if !i.always && mayPend(t) {
		word, _ := single(t.dialect, t.query)
		i.May, i.always = true, !isAny(word, "set")
	}
}

// prepares notes whether the text, which is about to be prepared, may set INSERT_ID.
func (i *insertID) prepares(t *text) {
	if mayPend(t) {
		i.May, i.always = true, true
	}
}

// mayPend reports whether a text may set INSERT_ID.
func mayPend(t *text) bool {
	return t.dialect.Family == dialect.FamilyMySQL && namesInsertID(t.query) && !t.leaves(words.SettingsLeft)
}

// namesInsertID reports whether a text has insert_id as a name, and not as the end of
// LAST_INSERT_ID.
func namesInsertID(query string) bool {
	const name, stem = "insert_id", len("insert")
	for at := 0; ; at++ { // at is the offset of the next underscore
		n := strings.IndexByte(query[at:], '_')
		if n < 0 {
			return false
		}
		at += n
		start := at - stem
		if start >= 0 && start+len(name) <= len(query) && strings.EqualFold(query[start:start+len(name)], name) && (start == 0 || query[start-1] != '_') {
			return true
		}
	}
}

// Pending returns the number that the session gives to the next row which the engine
// numbers; zero if no number is set. It asks the engine only if some text may have set one.
func (i *insertID) Pending(ctx context.Context, conn driver.Conn) (int64, error) {
	if !i.May {
		return 0, nil
	}
	rows, err := catalog.Conn(conn).Rows(ctx, "SELECT @@insert_id")
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
		return 0, err
	}
	number, _ := IntegerOf(rows[0][0])
	i.May = i.always || number != 0
	return number, nil
}

// Take removes the number that is set, so that later rows do not get it. MariaDB removes
// the number if INSERT_ID is set to 0.
func (i *insertID) Take(ctx context.Context, conn driver.Conn) error {
	_, err := dbconn.Exec(ctx, conn, "SET INSERT_ID = 0", nil)
	return err
}
