package engine

import "strings"

// procedureWords stand in the texts of all engines.
const (
	procedureCount = "keyfill_reserve: the count must be an integer of at least 1"
	procedureRow   = "keyfill_reserve: not one row of that name in keyfill_sequences"
)

// withWords puts the messages into the text of a procedure.
func withWords(text string) string {
	return strings.NewReplacer("{count}", procedureCount, "{row}", procedureRow).Replace(text)
}
