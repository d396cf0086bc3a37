// Package oracle registers the driver "oracle-keyfill" with database/sql: keyfill
// around go-ora, for Oracle.
//
//	import _ "github.com/keyfill/keyfill/auto/oracle"
//
//	db, err := sql.Open("oracle-keyfill", dsn)
//
// sql.Open reads the policy from the file that $KEYFILL_CONFIG names, else from
// ./keyfill.yaml. Where there is neither, sql.Open fails. Reports go to
// slog.Default. A program that needs other options calls
// keyfill.RegisterByName instead.
package oracle

import (
	_ "github.com/sijms/go-ora/v2" // registers "oracle"

	"github.com/keyfill/keyfill"
)

// init panics if the name is registered already, so that the program fails when it starts.
func init() {
	if _, err := keyfill.RegisterByName("oracle-keyfill", "oracle", keyfill.Options{}); err != nil {
		panic(err)
	}
}
