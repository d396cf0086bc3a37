package execution

import (
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// Database holds what keyfill knows about one database: its engine, settings and
// sources, the texts that were seen, and the counts of outcomes.
type Database struct {
	*keys.Sources

	Seen  *SeenTexts
	Stats Statistics
	Found FoundRows

	Numbered numbered
}

// Options are the settings from which a database is made.
type Options = table.Options
