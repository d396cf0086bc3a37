package rewrite

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
