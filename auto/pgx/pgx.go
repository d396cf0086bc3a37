// Package pgx registers the driver "pgx-keyfill" with database/sql: keyfill
// around pgx, for PostgreSQL.
//
//	import _ "github.com/keyfill/keyfill/auto/pgx"
//
//	db, err := sql.Open("pgx-keyfill", dsn)
//
// sql.Open reads the policy from the file that $KEYFILL_CONFIG names, else from
// ./keyfill.yaml. Where there is neither, sql.Open fails. Reports go to
// slog.Default. A program that needs other options calls
// keyfill.RegisterByName instead.
package pgx

import (
	_ "github.com/jackc/pgx/v5/stdlib" // registers "pgx"

	"github.com/keyfill/keyfill"
)

// init panics if the name is registered already, so that the program fails when it starts.
func init() {
	if _, err := keyfill.RegisterByName("pgx-keyfill", "pgx", keyfill.Options{}); err != nil {
		panic(err)
	}
}
