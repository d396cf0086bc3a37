package plans

import (
	"strings"
)

// parts returns the statements of the text; nil unless they are executed one by one. A
// comment between two statements belongs to the first one.
func (p *Draft) parts() []string {
	if len(p.Starts) == 0 {
		return nil
	}
	parts := make([]string, 0, len(p.Starts)+1)
	from := 0
	for _, next := range p.Starts {
		parts = append(parts, p.Text[from:next])
		from = next
	}
	return append(parts, p.Text[from:])
}

// endOnce removes the semicolons after the last statement if a comment follows them and
// drivers execute the statements one by one: for a comment after a semicolon
// mattn/go-sqlite3 executes an empty statement, and its result, of no rows, replaces the
// INSERT's.
func (p *Draft) endOnce() {
	if len(p.Semicolons) == 0 || strings.TrimSpace(p.Text[p.Semicolons[0]+1:]) == "" {
		return
	}
	for _, at := range p.Semicolons {
		p.Edits = append(p.Edits, Edit{Start: at, End: at + 1, Slot: -1})
	}
}
