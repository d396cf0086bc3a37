package engine

import "strings"

// The messages of the errors of keyfill_reserve, the same for all engines.
const (
	procedureCount = "keyfill_reserve: the count must be an integer of at least 1"
	procedureRow   = "keyfill_reserve: not one row of that name in keyfill_sequences"
)

// withWords replaces the markers {count} and {row} in the text of a procedure by the
// messages of its errors.
func withWords(text string) string {
	return strings.NewReplacer("{count}", procedureCount, "{row}", procedureRow).Replace(text)
}
