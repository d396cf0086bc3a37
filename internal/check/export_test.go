package check

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// LookAtServer is what the rules about the server and its clock find.
func LookAtServer(ctx context.Context, d *dialect.Dialect, q catalog.Querier) ([]Finding, error) {
	c := &checker{ctx: ctx, d: d, engine: engines[d.Family], q: &counted{q: q}, o: Options{Now: time.Now}}
	err := errors.Join(c.lookAtServer(), c.lookAtClock())
	return c.findings, err
}

// MissTable is what is found for an entry, where the database has these tables instead.
func MissTable(d *dialect.Dialect, entry policy.Entry, tables ...string) Finding {
	c := &checker{d: d, engine: engines[d.Family], over: &catalog.Overview{}}
	for _, name := range tables {
		c.over.Tables = append(c.over.Tables, &catalog.Listed{Table: &catalog.Table{Name: name}, Visible: true})
	}
	c.missTable(entry)
	return c.findings[0]
}

// Remedies are what mends a column of a table of an engine, by what is wrong with it.
func Remedies(d *dialect.Dialect, schema, table, column string) map[string]string {
	col := catalog.Column{Name: column, Type: "int", Integer: true, Bits: 31}
	found := &catalog.Listed{Table: &catalog.Table{Schema: schema, Name: table, Columns: []catalog.Column{col}}, Nullable: map[string]bool{column: true}}
	// MySQL is asked for the column's definition, and has no answer here.
	c := &checker{ctx: context.Background(), d: d, engine: engines[d.Family], q: &counted{q: silent{}}, over: &catalog.Overview{}}
	all := map[string]string{
		"narrow":     c.alterType(found, &col, typeFor(c.engine.types, catalog.Key{Integer: true}, &col)),
		"uuid":       c.alterType(found, &col, typeFor(c.engine.types, catalog.Key{Length: 36}, &col)),
		"bytes":      c.alterType(found, &col, typeFor(c.engine.types, catalog.Key{Layout: dialect.SequentialAsBinary}, &col)),
		"text":       c.alterType(found, &col, typeFor(c.engine.types, catalog.Key{Length: 26}, &col)),
		"collation":  c.alterCollation(found, &catalog.Column{Name: column, Type: "varchar(8)", Text: true}),
		"nullable":   c.alterNotNull(found, &col),
		"not-unique": createUnique(d, found, []string{column, "parent"}),
		"default":    c.dropDefault(found, &col),
		"clock":      c.engine.clock,
	}
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

// silent answers each question with no row.
type silent struct{}

func (silent) Rows(context.Context, string, ...any) ([][]any, error) { return nil, nil }

// AskProxy is what a connection to MySQL or MariaDB is asked about a proxy.
var AskProxy = askProxy

// The pure parts.
var (
	Sorted     = sorted
	LastQuoted = lastQuoted
	StateRule  = stateRule
)

// TextLiteral is a text as a statement for an engine has it.
func TextLiteral(d *dialect.Dialect, text string) string {
	return textLiteral(d, text)
}
