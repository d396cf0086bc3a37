package session

import (
	"context"

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
func (k *knownSettings) sends(t *text) {
	if !k.Asked {
		k.changed = true // nobody knows what they were before
	} else if !t.leaves(rewrite.SettingsLeft) {
		k.Asked, k.changed = false, true
	}
}

// prepares notes that a text is about to be prepared.
func (k *knownSettings) prepares(t *text) {
	if !k.unsure && t.dialect.Setting != nil && !t.leaves(rewrite.SettingsLeft) {
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

// SettingsNow returns the settings of the connection's session; false where it gives
// no answer that can be read. An error is the driver's own.
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
