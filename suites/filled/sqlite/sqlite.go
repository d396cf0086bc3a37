// Package sqlite opens the databases of modernc.org/sqlite through keyfill: see package filled.
package sqlite

import (
	_ "modernc.org/sqlite" // registers "sqlite"

	"github.com/keyfill/keyfill/suites/filled"
)

func init() { filled.Driver("sqlite", "sqlite") }
