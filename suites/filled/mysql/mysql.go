// Package mysql opens the databases of go-sql-driver/mysql through keyfill: see package filled.
package mysql

import (
	_ "github.com/go-sql-driver/mysql" // registers "mysql"

	"github.com/keyfill/keyfill/suites/filled"
)

func init() { filled.Driver("mysql", "mysql") }
