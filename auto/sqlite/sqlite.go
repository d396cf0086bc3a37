// Package sqlite registers the driver "sqlite-keyfill" with database/sql: keyfill
// around modernc.org/sqlite.
//
//	import _ "github.com/keyfill/keyfill/auto/sqlite"
//
//	db, err := sql.Open("sqlite-keyfill", dsn)
//
// The policy is read at sql.Open, from the file that $KEYFILL_CONFIG names,
// else from ./keyfill.yaml. Where there is neither, sql.Open fails.
package sqlite

import (
	_ "modernc.org/sqlite" // registers "sqlite"

	"github.com/keyfill/keyfill"
)

// It panics only where the name is taken, which no program gets past unseen.
func init() {
	if _, err := keyfill.RegisterByName("sqlite-keyfill", "sqlite", keyfill.Options{}); err != nil {
		panic(err)
	}
}
