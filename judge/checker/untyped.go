package checker

import "slices"

// A plain select list of INSERT … SELECT gives its literals and placeholders the types of
// the columns that they go to. In a common table expression they do not get these types, so
// a fill may select them outside of the expression.

// Query is the caller's query of an INSERT … SELECT.
type Query struct {
	// Text is the caller's text, changed so that its query may be a common table
	// expression: placeholders that are a value of the select list are NULL (PostgreSQL),
	// and ORDER BY has an OFFSET (Transact-SQL).
	Text string
	// Lone are the values of the select list that are only a literal, NULL or a
	// placeholder, by their index.
	Lone map[int]string
	// Loose reports whether the number of columns that the query returns is not known.
	Loose bool
}

// QueryOf reads the query of a text with one INSERT … SELECT. It fails as [Read]
// does.
func QueryOf(dialect, query string) (*Query, error) {
	_, items, _, err := itemsOf(dialect, query)
	if err != nil {
		return nil, err
	}
	q := &Query{Text: query, Lone: map[int]string{}, Loose: true}
	at := slices.IndexFunc(items, func(i item) bool { return i.is("INSERT", "REPLACE") })
	if at < 0 {
		return q, nil
	}
	if items = behindSelect(items[at:]); items == nil {
		return q, nil
	}
	if len(items) > 0 && items[0].is("ALL") {
		items = items[1:]
	}
	if slices.ContainsFunc(items, func(i item) bool {
		return i.is("UNION", "EXCEPT", "INTERSECT", "MINUS", "ROLLUP", "CUBE", "GROUPING")
	}) || len(items) > 0 && items[0].is("DISTINCT", "UNIQUE") && !(len(items) > 1 && items[1].is("ON")) {
		q.Loose = q.list(items, nil)
	} else {
		edits := map[int]string{}
		q.Loose = q.list(items, edits)
		if dialect == "postgres" {
			q.Text = replaced(query, items, edits)
		}
	}
	if dialect == "sqlserver" {
		q.Text = offset(query, items)
	}
	return q, nil
}

// behindSelect returns the tokens after the first SELECT, which may be in brackets of its
// own, or nil.
func behindSelect(items []item) []item {
	for i := range items {
		switch {
		case items[i].is("SELECT"):
			return items[i+1:]
		case items[i].open == '(' && len(items[i].group) > 0 && (items[i].group[0].is("SELECT") || items[i].group[0].open == '('):
			return behindSelect(items[i].group)
		case items[i].open == '(' && len(items[i].group) > 0 && items[i].group[0].is("WITH"):
			group := items[i].group
			if at := slices.IndexFunc(group, func(i item) bool { return i.is("SELECT") }); at >= 0 {
				return group[at+1:] // the items after SELECT; the definitions of WITH are in brackets of their own
			}
		}
	}
	return nil
}

// list reads the select list and reports whether a star is in it. For values that are only
// a literal, NULL or a placeholder it notes the text, and in edits, by their offset, the
// NULL that replaces a placeholder.
func (q *Query) list(items []item, edits map[int]string) (star bool) {
	end := len(items)
	for i := range items {
		if ends(items, i) {
			end = i
			break
		}
	}
	n := 0
	for _, value := range split(items[:end], ",") {
		if len(value) > 0 && value[len(value)-1].isMark("*") && (len(value) == 1 || value[len(value)-2].isMark(".")) {
			star = true
		}
		if edits != nil && len(value) > 0 && aliased(value) {
			if v, ok := alone(value[0]); ok {
				q.Lone[n] = v.text
				if v.kind == param {
					edits[v.start] = "NULL"
				}
			}
		}
		n++
	}
	return star
}

// alone returns the literal, NULL or placeholder that an item consists of, with or without
// brackets around it; false if the item is more than that.
func alone(i item) (item, bool) {
	for i.open == '(' && len(i.group) == 1 {
		i = i.group[0]
	}
	return i, i.open == 0 && (i.kind == text || i.kind == param || i.is("NULL"))
}

// aliased reports whether a value is one item, with or without an alias.
func aliased(value []item) bool {
	switch len(value) {
	case 1:
		return true
	case 2:
		return value[1].isName()
	case 3:
		return value[1].is("AS") && value[2].isName()
	}
	return false
}

// replaced replaces tokens by texts.
func replaced(query string, items []item, edits map[int]string) string {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].open != 0 {
			query = replaced(query, items[i].group, edits)
			continue
		}
		if with, ok := edits[items[i].start]; ok && items[i].kind == param {
			query = query[:items[i].start] + with + query[items[i].start+len(items[i].text):]
		}
	}
	return query
}

// offset writes OFFSET after an ORDER BY of Transact-SQL that has none.
func offset(query string, items []item) string {
	if !slices.ContainsFunc(items, func(i item) bool { return i.is("ORDER") }) ||
		slices.ContainsFunc(items, func(i item) bool { return i.is("OFFSET", "FETCH") }) || len(items) > 0 && items[0].is("TOP") {
		return query
	}
	for _, i := range items {
		if i.is("OPTION") || i.isMark(";") {
			return query[:i.start] + " OFFSET 0 ROWS " + query[i.start:]
		}
	}
	return query + " OFFSET 0 ROWS"
}

// ends reports whether a clause begins at an item of a select list.
func ends(items []item, i int) bool {
	if i > 0 && (items[i-1].isMark(".") || items[i-1].is("AS") ||
		items[i].is("FROM") && items[i-1].is("DISTINCT") || items[i].is("GROUP") && items[i-1].is("WITHIN")) {
		return false
	}
	return items[i].is("FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR", "UNION",
		"EXCEPT", "INTERSECT", "MINUS", "ON", "RETURNING", "OPTION", "INTO") || items[i].isMark(";")
}
