package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// HiddenTables returns an error if keyfill's tables exist, although err says that they are
// missing: they are in a schema that the user may not use, or the search path is empty. New
// tables in another schema would give the same numbers again. It returns nil if it cannot
// find out.
func (s *Store) HiddenTables(ctx context.Context, err error) error {
	if s.Engine.Path.HiddenSchema == "" || sqlcode.ClassOf(s.Dialect, err) != dialect.ErrorNoObject || s.Inside {
		return nil
	}
	row, failed := s.Conn.Query(ctx, s.Engine.Path.HiddenSchema, nil)
	if failed != nil || len(row) != 2 {
		return s.nowhere(ctx, err)
	}
	schema, user := s.Dialect.QuoteIdent(Text(row[0])), s.Dialect.QuoteIdent(Text(row[1]))
	grants := fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %s",
		schema, user, schema+"."+strings.Join(engine.Tables[:], ", "+schema+"."), user)
	return &Refused{ErrRights, anchor.Errorf("state-tables", "the schema %s of the search path holds them, which the user may not use: run %s", schema, grants)}
}
