package session

//row:changes | what a setting, USE or a temporary table changes | `internal/session/settings.go`, `place.go`, `temporarytable.go`

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// Some settings of a session decide where a string ends, such as sql_mode's
// NO_BACKSLASH_ESCAPES. If the meaning of an INSERT depends on such a setting and the
// policy does not name its value, the INSERT's connection is asked for it.

// knownSettings are the settings that a session has reported. They are valid until
// something is sent that may change them.
type knownSettings struct {
	set   dialect.Settings
	Asked bool // whether set is valid

	// changed is true after a text was sent that may have changed the settings. The end of a
	// transaction may undo that change.
	changed bool

	// unsure is true after a statement was prepared that may change the settings. The session
	// does not see when that statement runs.
	unsure bool

	// begins caches whether transactions of the session begin as read-only, and whether the
	// session was asked for that.
	begins struct{ asked, readOnly bool }
}

// sends forgets the settings if the text, which is about to be executed, may change them.
func (k *knownSettings) sends(t *text) {
	if k.begins.asked && !t.leaves(words.SettingsLeft) {
		k.begins.asked, k.changed = false, true
	}
	if !k.Asked {
		k.changed = true // the settings were not asked for, so an earlier text may have changed them
	} else if !t.leaves(words.SettingsLeft) {
		k.Asked, k.changed = false, true
	}
}

// prepares forgets the settings for good if the text, which is about to be prepared, may
// change them.
func (k *knownSettings) prepares(t *text) {
	if !k.unsure && t.dialect.Setting != nil && !t.leaves(words.SettingsLeft) {
		k.Asked, k.unsure = false, true
	}
}

// ends notes that a transaction has ended. PostgreSQL then undoes a SET if the transaction
// was rolled back, and SET LOCAL always.
func (k *knownSettings) ends() {
	if k.changed {
		k.Asked, k.changed = false, false
		k.begins.asked = false
	}
}

// BeginOwn begins a transaction of keyfill's own on the application's connection. The
// transaction is read-only if the session begins its transactions as read-only.
func BeginOwn(ctx context.Context, c *Conn, opts driver.TxOptions) (driver.Tx, error) {
	if c.server.Driver.BeginsReadWrite {
		k := &c.Settings
		if !k.begins.asked || k.unsure {
			row, err := c.QueryRow(ctx, "SELECT current_setting('default_transaction_read_only')", nil)
			if err != nil {
				return nil, err
			}
			k.begins.asked, k.begins.readOnly = true, TextOf(row[0]) == "on"
		}
		opts.ReadOnly = k.begins.readOnly
	}
	return c.BeginDriver(ctx, opts)
}

// SettingsNow returns the settings of the connection's session. known is false if the
// session's answer cannot be read. An error is the driver's own.
func (c *Conn) SettingsNow(ctx context.Context, s *dialect.Setting) (set dialect.Settings, known bool, err error) {
	k := &c.Settings
	if k.Asked {
		return k.set, true, nil
	}
	rows, err := catalog.Conn(c.Own()).Rows(ctx, s.Query)
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
		return 0, false, err
	}
	switch answer := rows[0][0].(type) {
	case string:
		k.set, known = s.ReadAnswer(answer)
	case []byte:
		k.set, known = s.ReadAnswer(string(answer))
	}
	k.Asked = known && !k.unsure
	return k.set, known, nil
}
