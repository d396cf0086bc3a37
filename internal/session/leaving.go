package session

import (
	"context"
	"database/sql/driver"

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

// leaving is sends for a text that leaves what is known. What was not asked yet may
// have changed, for all that is known.
func (c *Conn) leaving() {
	c.Settings.changed = c.Settings.changed || !c.Settings.Asked
	c.Place.Changed = c.Place.Changed || !c.Place.Asked
}

// ExecLeaving is ExecContext for a text that leaves what is known of the session.
func (c *Conn) ExecLeaving(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.leaving()
	return c.exec(ctx, text, args)
}

// QueryLeaving is QueryContext for a text that leaves what is known of the session.
func (c *Conn) QueryLeaving(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	c.leaving()
	return c.query(ctx, text, args)
}

// PrepareLeaving is PrepareContext for a text that leaves what is known of the session.
func (c *Conn) PrepareLeaving(ctx context.Context, text string) (driver.Stmt, error) {
	if c.discard {
		return nil, driver.ErrBadConn
	}
	return c.prepareChecked(ctx, text)
}
