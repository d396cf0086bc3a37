package store

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// In returns the tables of keyfill's that are in a schema, for a connection that
// does not find them without one. It changes nothing of s. A [sequence.KeyTable] and a
// procedure are found by the names that they have.
func (s *Store) In(schema string) *Store {
	return s.on(qualify(s.Conn, s.Dialect, schema))
}

// NamedSchema returns the schema of a store of [Store.In], empty for others.
func (s *Store) NamedSchema() string {
	if q, ok := s.Conn.(qualified); ok {
		return q.schema
	}
	return ""
}

// qualify returns a connection whose statements name the schema of keyfill's tables.
func qualify(c Conn, d *dialect.Dialect, schema string) Conn {
	name := d.QuoteIdent(schema) + "."
	return qualified{c, schema, strings.NewReplacer(
		"keyfill_sequences", name+"keyfill_sequences",
		"keyfill_workers", name+"keyfill_workers",
		"keyfill_series", name+"keyfill_series",
	)}
}

// qualified is a conn whose statements name the schema of keyfill's tables.
type qualified struct {
	inner  Conn
	schema string
	names  *strings.Replacer
}

func (q qualified) Exec(ctx context.Context, query string, args []any) (int64, error) {
	return q.inner.Exec(ctx, q.names.Replace(query), args)
}

func (q qualified) ExecID(ctx context.Context, query string, args []any) (id, changed int64, err error) {
	return q.inner.ExecID(ctx, q.names.Replace(query), args)
}

func (q qualified) Query(ctx context.Context, query string, args []any) ([]any, error) {
	return q.inner.Query(ctx, q.names.Replace(query), args)
}

func (q qualified) Rows(ctx context.Context, query string, args []any) ([][]any, error) {
	return q.inner.Rows(ctx, q.names.Replace(query), args)
}

func (q qualified) Transact(ctx context.Context, f func(Conn) error) error {
	return q.inner.Transact(ctx, func(c Conn) error { return f(qualified{c, q.schema, q.names}) })
}
