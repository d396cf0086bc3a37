package executor

import (
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/rowcount"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// A key that keyfill and the engine make together for each row of a query (a prefix
// from keyfill, the rest from the engine) needs no count of the rows. But the server
// must support it: if it logs statements, replicas would make other keys, and some
// functions exist only in later versions. The server is asked once.

// CountsKeys returns a refusal if the server cannot make the keys of a plan. An error
// is the driver's own.
func CountsKeys(ctx context.Context, c *execution.Conn, p *plans.Plan) error {
	n := &p.Dialect.Numbering
	switch {
	case !p.Tails() || c.DB.Detached:
		return nil
	case n.Tails.Major > 0 && CallsLater(p):
		return isLater(ctx, c, p)
	case !n.Carries || c.LogsRows && !p.Merges():
		return nil
	}
	query := "SELECT " + strings.Join(n.Server, ", ")
	if p.Merges() {
		query += ", " + rowcount.Views(p)
	}
	row, err := c.QueryRow(ctx, query, nil)
	if err != nil {
		return err
	}
	reason := Unnumbered(p.Dialect, row[:len(n.Server)])
	if reason == rewrite.ErrOldServer && !p.Merges() {
		reason = "" // such keys use UUID_SHORT(), which older servers have too
	}
	if p.Merges() && reason == "" {
		if views, ok := session.IntegerOf(row[len(n.Server)]); !ok || views > 0 {
			reason = rewrite.ErrSelectValues
		}
	}
	if reason != "" {
		return p.Refused(reason)
	}
	c.LogsRows = true
	return nil
}

// isLater returns a refusal if the server is older than the functions that the keys
// call.
func isLater(ctx context.Context, c *execution.Conn, p *plans.Plan) error {
	n := &p.Dialect.Numbering
	version := c.DB.ServerVersion.Load()
	if version == nil {
		row, err := c.QueryRow(ctx, "SELECT "+n.Server[0], nil)
		if err != nil {
			return err
		}
		version = &[2]int{}
		version[0], version[1], _ = dbconn.MajorMinor(session.TextOf(row[0]))
		c.DB.ServerVersion.Store(version)
	}
	if version[0] < n.Tails.Major || version[0] == n.Tails.Major && version[1] < n.Tails.Minor {
		return p.Refused(rewrite.ErrOldServer)
	}
	return nil
}

// CallsLater reports whether the expression of a key calls a function that only later
// versions have.
func CallsLater(p *plans.Plan) bool {
	return p.Tails() && slices.ContainsFunc(p.Draws, func(d plans.Draw) bool {
		return table.Of(&p.Inserts[d.Insert]).KeyColumns[d.Key].Layout.Bytes()
	})
}
