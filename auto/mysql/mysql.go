// Package mysql registers the driver "mysql-keyfill" with database/sql: keyfill
// around go-sql-driver/mysql, for MySQL and MariaDB.
//
//	import _ "github.com/keyfill/keyfill/auto/mysql"
//
//	db, err := sql.Open("mysql-keyfill", dsn)
//
// sql.Open reads the policy from the file that $KEYFILL_CONFIG names, else from
// ./keyfill.yaml. Where there is neither, sql.Open fails. Reports go to
// slog.Default. A program that needs other options calls
// keyfill.RegisterByName instead.
package mysql

import (
	_ "github.com/go-sql-driver/mysql" // registers "mysql"

	"github.com/keyfill/keyfill"
)

// init panics if the name is registered already, so that the program fails when it starts.
func init() {
	if _, err := keyfill.RegisterByName("mysql-keyfill", "mysql", keyfill.Options{}); err != nil {
		panic(err)
	}
}
