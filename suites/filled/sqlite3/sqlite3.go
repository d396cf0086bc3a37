// Package sqlite3 opens the databases of mattn/go-sqlite3 through keyfill: see package filled.
package sqlite3

import (
	_ "github.com/mattn/go-sqlite3" // registers "sqlite3"

	"github.com/keyfill/keyfill/suites/filled"
)

func init() { filled.Driver("sqlite3", "sqlite3") }
