// Package sqlite registers the driver "sqlite-keyfill" with database/sql: keyfill
// around modernc.org/sqlite.
//
//	import _ "github.com/keyfill/keyfill/auto/sqlite"
//
//	db, err := sql.Open("sqlite-keyfill", dsn)
//
// sql.Open reads the policy from the file that $KEYFILL_CONFIG names, else from
// ./keyfill.yaml. Where there is neither, sql.Open fails. Reports go to
// slog.Default. A program that needs other options calls
// keyfill.RegisterByName instead.
package sqlite

import (
	_ "modernc.org/sqlite" // registers "sqlite"

	"github.com/keyfill/keyfill"
)

// init panics if the name is registered already, so that the program fails when it starts.
func init() {
	if _, err := keyfill.RegisterByName("sqlite-keyfill", "sqlite", keyfill.Options{}); err != nil {
		panic(err)
	}
}
