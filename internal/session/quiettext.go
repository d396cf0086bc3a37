package session

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// IsQuiet reports whether a text changes nothing that is known of a session, whenever it
// runs: the columns of tables and what their names mean, the settings, the place, the
// catalog. The answer depends on the text alone, so that it is remembered for texts that
// are sent again and again: ExecQuiet, QueryQuiet and PrepareQuiet do not search them.
func IsQuiet(d *dialect.Dialect, text string) bool {
	return isPlain(d, text) && rewrite.LeavesTables(d, text) && LeavesSettings(d, text) &&
		rewrite.LeavesPlace(d, text) && leavesCatalog(d, text) && !containsFold(text, "rename")
}
