package rewrite

import "strings"

// parts returns the statements of the text; nil where they are not executed one by one.
// What stands in front of a statement, as a comment, belongs to the one before it.
func (p *parser) parts() []string {
	if len(p.starts) == 0 {
		return nil
	}
	parts := make([]string, 0, len(p.starts)+1)
	from := 0
	for _, next := range p.starts {
		parts = append(parts, p.q[from:next])
		from = next
	}
	return append(parts, p.q[from:])
}

// endOnce leaves out the semicolons behind the last statement where something else stands
// there and drivers execute the statements one by one: for a comment behind a semicolon
// mattn/go-sqlite3 executes an empty statement, and its result, of no rows, takes the place
// of the INSERT's.
func (p *parser) endOnce() {
	if len(p.semicolons) == 0 || strings.TrimSpace(p.q[p.semicolons[0]+1:]) == "" {
		return
	}
	for _, at := range p.semicolons {
		p.edits = append(p.edits, edit{start: at, end: at + 1, slot: -1})
	}
}
