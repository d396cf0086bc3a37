package store

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// In returns the tables of keyfill's that are in a schema, for a connection that
// does not find them without one. It changes nothing of s. A [KeyTable] and a
// procedure are found by the names that they have.
func (s *Store) In(schema string) *Store {
	return s.on(qualify(s.conn, s.dialect, schema))
}

// namedSchema returns the schema of a store of [Store.In], "" for others.
func (r *Store) namedSchema() string {
	if q, ok := r.conn.(qualified); ok {
		return q.schema
	}
	return ""
}

// qualify returns a connection whose statements name the schema of keyfill's tables.
func qualify(c conn, d *dialect.Dialect, schema string) conn {
	name := d.QuoteIdent(schema) + "."
	return qualified{c, schema, strings.NewReplacer(
		"keyfill_sequences", name+"keyfill_sequences",
		"keyfill_workers", name+"keyfill_workers",
		"keyfill_series", name+"keyfill_series",
	)}
}

// qualified is a conn whose statements name the schema of keyfill's tables.
type qualified struct {
	inner  conn
	schema string
	names  *strings.Replacer
}

func (q qualified) exec(ctx context.Context, query string, args []any) (int64, error) {
	return q.inner.exec(ctx, q.names.Replace(query), args)
}

func (q qualified) execID(ctx context.Context, query string, args []any) (id, changed int64, err error) {
	return q.inner.execID(ctx, q.names.Replace(query), args)
}

func (q qualified) query(ctx context.Context, query string, args []any) ([]any, error) {
	return q.inner.query(ctx, q.names.Replace(query), args)
}

func (q qualified) rows(ctx context.Context, query string, args []any) ([][]any, error) {
	return q.inner.rows(ctx, q.names.Replace(query), args)
}

func (q qualified) transact(ctx context.Context, f func(conn) error) error {
	return q.inner.transact(ctx, func(c conn) error { return f(qualified{c, q.schema, q.names}) })
}
