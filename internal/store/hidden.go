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

// hiddenPostgreSQL asks which schema of the search path holds keyfill's tables and may not
// be used by the current user, which does not find them: PostgreSQL 18 documentation, section
// 5.10.3. The setting has the names as they were written.
const hiddenPostgreSQL = `SELECT CAST(n.nspname AS text), CAST(current_user AS text)
FROM pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.current_setting('search_path'), ',')) WITH ORDINALITY AS w (name, place)
JOIN pg_catalog.pg_namespace n ON pg_catalog.btrim(w.name) IN (n.nspname, pg_catalog.quote_ident(n.nspname), '"' || n.nspname || '"')
OR pg_catalog.lower(pg_catalog.btrim(w.name)) = n.nspname OR pg_catalog.btrim(w.name) IN ('$user', '"$user"') AND n.nspname = current_user
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = 'keyfill_sequences' AND c.relkind IN ('r', 'p')
WHERE NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE')
ORDER BY w.place LIMIT 1`

// HiddenTables returns an error where keyfill's tables are not missing, as err says, but in a
// schema that the user may not use: others made beside them would give the same numbers.
// Where that cannot be asked nothing is known of it.
func (r *Store) HiddenTables(ctx context.Context, err error) error {
	if r.Dialect.Family != dialect.FamilyPostgreSQL || sqlcode.ClassOf(r.Dialect, err) != dialect.ErrorNoObject || r.Inside {
		return nil
	}
	row, failed := r.Conn.Query(ctx, hiddenPostgreSQL, nil)
	if failed != nil || len(row) != 2 {
		return r.nowhere(ctx, err)
	}
	schema, user := r.Dialect.QuoteIdent(Text(row[0])), r.Dialect.QuoteIdent(Text(row[1]))
	grants := fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %s",
		schema, user, schema+"."+strings.Join(engine.Tables[:], ", "+schema+"."), user)
	return &Refused{ErrRights, anchor.Errorf("state-tables", "the schema %s of the search path holds them, which the user may not use: run %s", schema, grants)}
}
