package session

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// Quiet has the parts of a session's state that a quiet text leaves unchanged: the columns
// of tables, the meaning of names, the settings, the current schema, the catalog.
const Quiet = words.TablesLeft | words.PlaceLeft | words.SettingsLeft | words.CatalogLeft | words.TransactionLeft | words.RowsLeft

// IsQuiet reports whether a text changes nothing that keyfill knows about a session,
// whenever it runs. The result depends on the text alone, so callers remember it for texts
// that are sent again and again: ExecQuiet, QueryQuiet and PrepareQuiet do not search such
// texts.
func IsQuiet(d *dialect.Dialect, text string) bool { return effects.Leaves(d, text)&Quiet == Quiet }

// LeavesSettings reports whether a text leaves the settings of the session unchanged. After
// any other text the session is asked again, which costs one question.
func LeavesSettings(d *dialect.Dialect, query string) bool {
	return effects.Leaves(d, query)&words.SettingsLeft != 0
}
