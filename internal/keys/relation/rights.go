package relation

import (
	"context"
	"fmt"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// A session that has taken another role (SET ROLE) reserves numbers with that role's
// rights. On PostgreSQL a reservation without the right would abort the transaction, so
// keyfill checks the right first.

// roles caches the roles that may reserve. If a right was taken away, the reservation
// fails. It is safe for concurrent use.
type roles struct{ may sync.Map } // names of roles; limited by the number of the server's roles

// rightsPostgreSQL asks whether the current user may send the UPDATE that reserves
// (store/engine/postgres.go). It gives the functions the OID of the table: given a
// name, they look up the table as a statement does, and would raise the error that must
// be avoided.
const rightsPostgreSQL = `SELECT CAST(CASE WHEN pg_catalog.has_schema_privilege(n.oid, 'USAGE')
AND pg_catalog.bool_and(pg_catalog.has_column_privilege(c.oid, a.attnum, CASE WHEN a.attname = 'updated_at' THEN 'UPDATE' ELSE 'SELECT' END))
AND pg_catalog.bool_and(a.attname <> 'next_value' OR pg_catalog.has_column_privilege(c.oid, a.attnum, 'UPDATE')) THEN 1 ELSE 0 END AS bigint)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
WHERE c.relname = 'keyfill_sequences' AND n.nspname = %s AND a.attname IN ('name', 'next_value', 'incarnation', 'updated_at')
GROUP BY n.oid`

// MayReserve returns an error if the session has taken a role that may not change the
// rows of keyfill_sequences. The role must have been queried before. A key table of the
// application and a procedure have rights of their own, which are not checked.
func MayReserve(ctx context.Context, g *Session) error {
	db := g.Tables
	if db.StatesOnConnection() || db.Dialect().Place.Query == "" {
		return nil
	}
	home, now := db.Places.User.Load(), g.Place.User
	if home == nil || *home == now { // the session has the user with which the database was opened, whose rights are not checked
		return nil
	}
	if _, may := db.asked.roles.may.Load(now); may {
		return nil
	}
	schema, err := db.statesIn(ctx, g)
	if err != nil || schema == "" {
		return err
	}
	rows, err := catalog.Conn(g.Own()).Rows(ctx, fmt.Sprintf(rightsPostgreSQL, literal(db.Dialect(), schema)))
	if err != nil || len(rows) == 0 {
		return err // the reservation reports that the table is missing
	}
	if may, _ := session.IntegerOf(rows[0][0]); may == 0 {
		return fmt.Errorf("%w: grant the role %q USAGE on the schema %q, SELECT on keyfill_sequences, and UPDATE on its next_value and updated_at", store.ErrRights, now, schema)
	}
	db.asked.roles.may.Store(now, true)
	return nil
}

// DoubtRights removes the session's role from the cache of roles that may reserve, if
// err says that it may not.
func DoubtRights(g *Session, err error) {
	if err != nil && g.Place.User != "" && sqlcode.ClassOf(g.Tables.Dialect(), err) == dialect.ErrorNoRight {
		g.Tables.asked.roles.may.Delete(g.Place.User)
	}
}
