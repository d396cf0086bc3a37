package session

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/rewrite"
)

// Some settings of a session decide where a string ends, such as sql_mode's
// NO_BACKSLASH_ESCAPES. Where the policy does not say which settings hold, and they
// decide what becomes of an INSERT, its own connection is asked.

// knownSettings are the settings that a session has answered. They hold until something
// is sent that may change them.
type knownSettings struct {
	set   dialect.Settings
	Asked bool // set holds

	// changed says that something was sent that may have changed them: the end
	// of a transaction may take it back.
	changed bool

	// unsure says that such a statement was prepared. The session does not see when
	// it runs.
	unsure bool
}

// sends notes that a text is about to be executed.
func (k *knownSettings) sends(d *dialect.Dialect, query string) {
	if !k.Asked {
		k.changed = true // nobody knows what they were before
	} else if !LeavesSettings(d, query) {
		k.Asked, k.changed = false, true
	}
}

// prepares notes that a text is about to be prepared.
func (k *knownSettings) prepares(d *dialect.Dialect, query string) {
	if !k.unsure && d.Setting != nil && !LeavesSettings(d, query) {
		k.Asked, k.unsure = false, true
	}
}

// ends notes that a transaction has ended: PostgreSQL takes back what was SET
// in one that is rolled back, and SET LOCAL in any.
func (k *knownSettings) ends() {
	if k.changed {
		k.Asked, k.changed = false, false
	}
}

// LeavesSettings reports whether a text leaves the settings of the session: a
// single INSERT, REPLACE, UPDATE, DELETE or SELECT, which can change them only by
// a function. A function of MySQL or MariaDB puts sql_mode back (8.4 manual, section
// 15.1.17; seen on MariaDB 10.11). PostgreSQL's set_config does not, and a trigger that calls
// it is not seen. After any other text the session is asked again, which costs one question.
func LeavesSettings(d *dialect.Dialect, query string) bool {
	word, rest := single(d, query)
	switch {
	case word == "":
		return false
	case d.Family == dialect.FamilyMySQL:
		return isAny(word, "insert", "replace", "update", "delete", "select")
	case isAny(word, "insert"):
		return d.Family != dialect.FamilyPostgreSQL || rewrite.LeavesPlace(d, query)
	}
	return isAny(word, "update", "delete", "select") && !strings.Contains(rest, "(")
}

// SettingsNow returns the settings of the connection's session; false where it gives
// no answer that can be read. An error is the driver's own.
func (c *Conn) SettingsNow(ctx context.Context, s *dialect.Setting) (set dialect.Settings, known bool, err error) {
	k := &c.Settings
	if k.Asked {
		return k.set, true, nil
	}
	rows, err := catalog.Conn(c.Raw).Rows(ctx, s.Query)
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
		return 0, false, err
	}
	switch answer := rows[0][0].(type) {
	case string:
		k.set = s.Read(answer)
	case []byte:
		k.set = s.Read(string(answer))
	default:
		return 0, false, nil
	}
	k.Asked = !k.unsure
	return k.set, true, nil
}
