package rewrite

import "strings"

// parts returns the statements of the text; nil where they are not executed one by one.
// A comment between two statements belongs to the first one.
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

// endOnce leaves out the semicolons after the last statement if a comment follows them and
// drivers execute the statements one by one: for a comment after a semicolon
// mattn/go-sqlite3 executes an empty statement, and its result, of no rows, replaces the
// INSERT's.
func (p *parser) endOnce() {
	if len(p.semicolons) == 0 || strings.TrimSpace(p.q[p.semicolons[0]+1:]) == "" {
		return
	}
	for _, at := range p.semicolons {
		p.edits = append(p.edits, edit{start: at, end: at + 1, slot: -1})
	}
}
