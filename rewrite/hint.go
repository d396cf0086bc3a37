package rewrite

import "strings"

// isHint reports whether the current token is a comment that the engine may run
// and that holds nothing but when the INSERT runs, so that what is inserted is the
// same if it is read and if it is not: MySQL 8.4, section 15.2.7, LOW_PRIORITY and
// HIGH_PRIORITY.
func (p *parser) isHint() bool {
	if p.tok.kind != tokExec {
		return false
	}
	text, closed := strings.CutSuffix(p.text(p.tok), "*/")
	_, text, _ = strings.Cut(text, "!")
	words := strings.Fields(strings.TrimLeft(text, "0123456789"))
	for _, w := range words {
		if !equalWord(w, "low_priority") && !equalWord(w, "high_priority") {
			return false
		}
	}
	return closed && len(words) > 0
}
