// Package sqlite3 registers the driver "sqlite3-keyfill" with database/sql: keyfill
// around mattn/go-sqlite3, which needs cgo and a C compiler.
//
//	import _ "github.com/keyfill/keyfill/auto/sqlite3"
//
//	db, err := sql.Open("sqlite3-keyfill", dsn)
//
// sql.Open reads the policy from the file that $KEYFILL_CONFIG names, else from
// ./keyfill.yaml. Where there is neither, sql.Open fails. Reports go to
// slog.Default. A program that needs other options calls
// keyfill.RegisterByName instead.
package sqlite3

import (
	_ "github.com/mattn/go-sqlite3" // registers "sqlite3"

	"github.com/keyfill/keyfill"
)

// init panics if the name is registered already, so that the program fails when it starts.
func init() {
	if _, err := keyfill.RegisterByName("sqlite3-keyfill", "sqlite3", keyfill.Options{}); err != nil {
		panic(err)
	}
}
