// Package postgres registers the driver "postgres-keyfill" with database/sql: keyfill
// around lib/pq, for PostgreSQL.
//
//	import _ "github.com/keyfill/keyfill/auto/postgres"
//
//	db, err := sql.Open("postgres-keyfill", dsn)
//
// The policy is read at sql.Open, from the file that $KEYFILL_CONFIG names,
// else from ./keyfill.yaml. Where there is neither, sql.Open fails.
package postgres

import (
	_ "github.com/lib/pq" // registers "postgres"

	"github.com/keyfill/keyfill"
)

// It panics only where the name is taken, which no program gets past unseen.
func init() {
	if _, err := keyfill.RegisterByName("postgres-keyfill", "postgres", keyfill.Options{}); err != nil {
		panic(err)
	}
}
