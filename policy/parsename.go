package policy

// ParseName splits the name of one table, written as in the file, and folds it
// as [Policy.Match] takes it; schema is "" for a bare name. The error is an
// [*Error]: a glob names no one table.
func (p *Policy) ParseName(name string) (schema, table string, err error) {
	parts, msg := p.names.parse(name)
	if msg != "" {
		return "", "", &Error{Table: name, Msg: msg}
	}
	for _, part := range parts {
		if part.wild {
			return "", "", &Error{Table: name, Msg: "is a glob: name one table"}
		}
	}
	n := len(parts)
	if n > 1 {
		schema = parts[n-2].text
	}
	return schema, parts[n-1].text, nil
}
