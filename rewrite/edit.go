package rewrite

// edit is a span of the text that is replaced; an empty span is an insertion.
// Edits are queued in the order of the text and do not overlap.
type edit struct {
	start, end int
	text       string // what is written, in front of the key if there is one
	slot       int    // index of the slot whose key follows the text; -1 for none
}
