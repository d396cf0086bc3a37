// Package postgres opens the databases of lib/pq through keyfill: see package filled.
package postgres

import (
	_ "github.com/lib/pq" // registers "postgres"

	"github.com/keyfill/keyfill/suites/filled"
)

func init() { filled.Driver("postgres", "postgres") }
