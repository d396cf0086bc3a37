package keyfillhttp

import (
	"net/http"
	"time"

	"github.com/keyfill/keyfill"
)

// HandlerOf is Handler for statistics that a test makes up.
func HandlerOf(now time.Time, stats func() (keyfill.Stats, []keyfill.SourceStats)) http.Handler {
	return handler(func() Report {
		tables, sources := stats()
		return reportOf(now, tables, sources)
	})
}

// WriteCount writes a number as the page does.
var WriteCount = count
