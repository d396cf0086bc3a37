package store

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// In PostgreSQL the search path is empty if a program sets it so, because it names the
// schema of each table. keyfill's statements then name the schema that has keyfill's
// tables, if exactly one has them. If the path is not empty, only the schemas of the
// path count, since another program may have keyfill tables of its own.

// emptyPath is a pool whose statements name the schema of keyfill's tables, once a
// statement has not found the tables and the search path was empty.
type emptyPath struct {
	pool
	holders string // the query of engine.PathQueries.Holders

	mu     sync.Mutex
	schema string // the schema that the statements name; empty if they name none
}

// in returns the connection for the next statement: it adds the schema's name if that
// is known.
func (p *emptyPath) in() Conn {
	if schema := p.alone(); schema != "" {
		return qualify(p.pool, p.dialect, schema)
	}
	return p.pool
}

// alone returns the schema that keyfill's statements name, since only that schema has
// keyfill's tables; empty if they name none.
func (p *emptyPath) alone() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.schema
}

// finds looks for the schema of keyfill's tables after a statement has failed with err,
// and reports whether the statement is to be sent again, with that schema.
func (p *emptyPath) finds(ctx context.Context, query string, err error) bool {
	if err == nil || sqlcode.ClassOf(p.dialect, err) != dialect.ErrorNoObject || !strings.Contains(query, "keyfill_") {
		return false
	}
	found, err := p.pool.Rows(ctx, p.holders, nil)
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.schema
	p.schema = ""
	if len(found) == 1 {
		p.schema = Text(found[0][0])
	}
	return p.schema != "" && p.schema != before
}

func (p *emptyPath) Exec(ctx context.Context, query string, args []any) (int64, error) {
	changed, err := p.in().Exec(ctx, query, args)
	if p.finds(ctx, query, err) {
		return p.in().Exec(ctx, query, args)
	}
	return changed, err
}

func (p *emptyPath) ExecID(ctx context.Context, query string, args []any) (id, changed int64, err error) {
	id, changed, err = p.in().ExecID(ctx, query, args)
	if p.finds(ctx, query, err) {
		return p.in().ExecID(ctx, query, args)
	}
	return id, changed, err
}

func (p *emptyPath) Query(ctx context.Context, query string, args []any) ([]any, error) {
	row, err := p.in().Query(ctx, query, args)
	if p.finds(ctx, query, err) {
		return p.in().Query(ctx, query, args)
	}
	return row, err
}

func (p *emptyPath) Rows(ctx context.Context, query string, args []any) ([][]any, error) {
	all, err := p.in().Rows(ctx, query, args)
	if p.finds(ctx, query, err) {
		return p.in().Rows(ctx, query, args)
	}
	return all, err
}

func (p *emptyPath) Transact(ctx context.Context, f func(Conn) error) error {
	err := p.in().Transact(ctx, f)
	if p.finds(ctx, "keyfill_", err) {
		return p.in().Transact(ctx, f)
	}
	return err
}

// Alone returns the schema of keyfill's tables if a session has to name it because its
// search path is empty; otherwise it returns the empty string.
func (s *Store) Alone(ctx context.Context) string {
	p, ok := s.Conn.(*emptyPath)
	if !ok {
		return ""
	}
	if err := s.Probe(ctx, engine.SequencesTable); err != nil {
		return ""
	}
	return p.alone()
}

// nowhere returns an error if keyfill's tables were not found because the search path
// is empty. It returns nil if it cannot find out.
func (s *Store) nowhere(ctx context.Context, err error) error {
	if s.Engine.Path.PathLength == "" || sqlcode.ClassOf(s.Dialect, err) != dialect.ErrorNoObject || s.Inside {
		return nil
	}
	row, failed := s.Conn.Query(ctx, s.Engine.Path.PathLength, nil)
	if failed != nil || len(row) != 1 {
		return nil
	}
	if n, failed := Integer(row[0]); failed != nil || n > 0 {
		return nil
	}
	found, failed := s.Conn.Rows(ctx, s.Engine.Path.Holders, nil)
	if failed != nil {
		return nil
	}
	names := make([]string, len(found))
	for i, row := range found {
		names[i] = s.Dialect.QuoteIdent(Text(row[0]))
	}
	where := "no schema has them: create them in one, or name a store: whose DSN has a search_path"
	if len(names) > 0 {
		where = fmt.Sprintf("the schemas %s have them: name a store: whose DSN has one of these as its search_path, or drop the tables that are not used", strings.Join(names, " and "))
	}
	return &Refused{ErrTables, anchor.Errorf("state-tables", "the search_path is empty, and %s", where)}
}
