// Package sqlserver registers the driver "sqlserver-keyfill" with database/sql: keyfill
// around go-mssqldb, for SQL Server.
//
//	import _ "github.com/keyfill/keyfill/auto/sqlserver"
//
//	db, err := sql.Open("sqlserver-keyfill", dsn)
//
// sql.Open reads the policy from the file that $KEYFILL_CONFIG names, else from
// ./keyfill.yaml. Where there is neither, sql.Open fails. Reports go to
// slog.Default. A program that needs other options calls
// keyfill.RegisterByName instead.
package sqlserver

import (
	_ "github.com/microsoft/go-mssqldb" // registers "sqlserver"

	"github.com/keyfill/keyfill"
)

// init panics if the name is registered already, so that the program fails when it starts.
func init() {
	if _, err := keyfill.RegisterByName("sqlserver-keyfill", "sqlserver", keyfill.Options{}); err != nil {
		panic(err)
	}
}
