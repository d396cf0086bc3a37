package check

import (
	"context"
	"errors"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// LookAtServer is what the rules about the server and its clock find.
func LookAtServer(ctx context.Context, d *dialect.Dialect, q catalog.Querier) ([]Finding, error) {
	c := &checker{ctx: ctx, d: d, q: &counted{q: q}, o: Options{Now: time.Now}}
	err := errors.Join(c.lookAtServer(), c.lookAtClock())
	return c.findings, err
}

// MissTable is what is found for an entry, where the database has these tables instead.
func MissTable(d *dialect.Dialect, entry policy.Entry, tables ...string) Finding {
	c := &checker{d: d, over: &catalog.Overview{}}
	for _, name := range tables {
		c.over.Tables = append(c.over.Tables, &catalog.Listed{Table: &catalog.Table{Name: name}, Visible: true})
	}
	c.missTable(entry)
	return c.findings[0]
}

// The pure parts.
var (
	Sorted     = sorted
	IsKeyName  = isKeyName
	LastQuoted = lastQuoted
	StateRule  = stateRule
)

// TextLiteral is a text as a statement for an engine has it.
func TextLiteral(d *dialect.Dialect, text string) string { return (&checker{d: d}).textLiteral(text) }
