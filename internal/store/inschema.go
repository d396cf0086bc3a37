package store

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// In returns a copy of the store whose statements name the schema of keyfill's tables, for
// a connection that does not find the tables without the schema's name. s is not changed. A
// [sequence.KeyTable] and a procedure keep the names that the policy gives them.
func (s *Store) In(schema string) *Store {
	return s.on(qualify(s.Conn, s.Dialect, schema))
}

// NamedSchema returns the schema that a store of [Store.In] names; it is empty for
// other stores.
func (s *Store) NamedSchema() string {
	if q, ok := s.Conn.(qualified); ok {
		return q.schema
	}
	return ""
}

// qualify returns a connection that adds the schema to the names of keyfill's tables in
// each statement.
func qualify(c Conn, d *dialect.Dialect, schema string) Conn {
	name := d.QuoteIdent(schema) + "."
	return qualified{c, schema, strings.NewReplacer(
		"keyfill_sequences", name+"keyfill_sequences",
		"keyfill_workers", name+"keyfill_workers",
		"keyfill_series", name+"keyfill_series",
	)}
}

// qualified is a Conn that adds a schema to the names of keyfill's tables in each
// statement.
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
