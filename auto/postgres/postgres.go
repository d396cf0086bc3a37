// Package postgres registers the driver "postgres-keyfill" with database/sql: keyfill
// around lib/pq, for PostgreSQL.
//
//	import _ "github.com/keyfill/keyfill/auto/postgres"
//
//	db, err := sql.Open("postgres-keyfill", dsn)
//
// sql.Open reads the policy from the file that $KEYFILL_CONFIG names, else from
// ./keyfill.yaml. Where there is neither, sql.Open fails. Reports go to
// slog.Default. A program that needs other options calls
// keyfill.RegisterByName instead.
package postgres

import (
	_ "github.com/lib/pq" // registers "postgres"

	"github.com/keyfill/keyfill"
)

// init panics if the name is registered already, so that the program fails when it starts.
func init() {
	if _, err := keyfill.RegisterByName("postgres-keyfill", "postgres", keyfill.Options{}); err != nil {
		panic(err)
	}
}
