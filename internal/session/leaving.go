package session

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// Leaves reports whether a text, whenever it runs, leaves everything as it is that is
// known of a session: the columns of tables and what their names mean, the settings, the
// place, the catalog. The answer depends on the text alone, so that it is remembered for
// texts that are sent again and again: ExecLeaving, QueryLeaving and PrepareLeaving do
// not search them.
func Leaves(d *dialect.Dialect, text string) bool {
	return isPlain(d, text) && rewrite.LeavesTables(d, text) && leavesSettings(d, text) &&
		rewrite.LeavesPlace(d, text) && leavesCatalog(d, text) && !containsFold(text, "rename")
}
