// Package mysql registers the driver "mysql-keyfill" with database/sql: keyfill
// around go-sql-driver/mysql, for MySQL and MariaDB.
//
//	import _ "github.com/keyfill/keyfill/auto/mysql"
//
//	db, err := sql.Open("mysql-keyfill", dsn)
//
// The policy is read at sql.Open, from the file that $KEYFILL_CONFIG names,
// else from ./keyfill.yaml. Where there is neither, sql.Open fails.
package mysql

import (
	_ "github.com/go-sql-driver/mysql" // registers "mysql"

	"github.com/keyfill/keyfill"
)

// It panics only where the name is taken, which no program gets past unseen.
func init() {
	if _, err := keyfill.RegisterByName("mysql-keyfill", "mysql", keyfill.Options{}); err != nil {
		panic(err)
	}
}
