package policy

import "slices"

var tableField = of("table", "An existing table that holds the state, as other programs have made it. Left out, it is keyfill's own table.",
	optional(keyTableShape()), func(s *Source) **KeyTable { return &s.Table }).
	as(schema{"name": "KEYS", "key": "tableName", "value": "serial", "stored": "last"}).
	ruled(fieldRules{check: checkKeyTable, suit: namer.suitKeyTable})

var storedWords = []string{StoredNext, StoredLast}

// checkKeyTable checks the table of the source at p.
func checkKeyTable(m *mistakes, p place, s Source) {
	at, t := p.in("table"), s.Table
	if t == nil {
		return
	}
	for _, f := range []struct{ name, value, why string }{
		{"name", t.Name, "which table is it?"},
		{"value", t.Value, "which column holds the number?"},
		{"stored", t.Stored, "is the number in value the next one that is free, or the last one that was used? say next or last, as the other programs have it"},
	} {
		if f.value == "" {
			m.wrong(at, "%s is missing: %s", f.name, f.why)
		}
	}
	if t.Stored != "" && !slices.Contains(storedWords, t.Stored) {
		m.wrongField(at.in("stored"), unknownWord(fieldWhat("stored"), t.Stored, storedWords))
	}
	checkKeyColumns(m, at, s)
	checkKeyRow(m, at, s)
	if s.EnsureSchema {
		m.wrong(p.in("ensure_schema"), "ensure_schema creates keyfill's own tables, not a key table of yours; leave ensure_schema out")
	}
	if s.Create != nil {
		m.wrong(p.in("create"), "keyfill makes no row in your table; leave it out, and run the INSERT that the error about a missing row prints")
	}
	if s.Start != 0 && s.Kind != KindCoprime {
		m.wrong(p.in("start"), "the row of your key table says where to go on; leave this field out")
	}
}

// checkKeyColumns checks the columns of the table at p.
func checkKeyColumns(m *mistakes, p place, s Source) {
	t := s.Table
	var seen []string
	for _, f := range []struct{ name, value string }{{"key", t.Key}, {"value", t.Value}, {"version", t.Version}} {
		if f.value != "" && slices.Contains(seen, f.value) {
			m.wrong(p.in(f.name), "%s twice; leave one of the two", show(f.value))
		}
		seen = append(seen, f.value)
	}
	if t.Version != "" && s.Lock != LockOptimistic && s.Kind != KindCoprime {
		m.wrong(p.in("version"), "keyfill compares the version only with lock: optimistic; write that too, or leave version out")
	}
}

// checkKeyRow checks the fields that say which row of the table at p is the source's.
func checkKeyRow(m *mistakes, p place, s Source) {
	t := s.Table
	name, _ := parseTemplate(s.Name) // mistakes in the name are reported elsewhere
	several := name.has(wordSchema) || name.has(wordTable) || name.has(wordValue)
	switch {
	case t.Row != "" && t.Key == "":
		m.wrong(p.in("row"), "row is a value of the column that key names, and key is missing; write key, or leave row out for a table of one row")
	case t.Row != "" && several:
		m.wrong(p.in("row"), "the name makes several states, which cannot share a row; leave this field out, and each state's name is the name of its row")
	case t.Key == "" && t.Name != "" && several:
		m.wrong(p, "the name makes several states, but a key table without key has one row; write key")
	}
}

// suitKeyTable checks the names in the table of the source at p for a dialect.
func (n namer) suitKeyTable(m *mistakes, p place, s Source) {
	if s.Table == nil {
		return
	}
	p, t := p.in("table"), s.Table
	n.suitName(m, p.in("name"), t.Name)
	seen := make(map[string]bool)
	for _, f := range []struct{ name, value string }{{"key", t.Key}, {"value", t.Value}, {"version", t.Version}} {
		if f.value == "" {
			continue
		}
		folded := n.suitColumn(m, p.in(f.name), f.value)
		if seen[folded] && folded != "" {
			m.wrong(p.in(f.name), "%s twice; leave one of the two", show(f.value))
		}
		seen[folded] = true
	}
}

func keyTableShape() shape[KeyTable] {
	s := object(keyTableFields)
	s.schema = s.schema.with("required", []string{"name", "value", "stored"})
	return s
}

var keyTableFields = []field[KeyTable]{
	bind("name", "The table.", text, func(t *KeyTable) *string { return &t.Name }).as("KEYS"),
	bind("key", "The column that says which source a row belongs to. Left out, the table has one row.",
		text, func(t *KeyTable) *string { return &t.Key }).as("tableName"),
	bind("row", "The text in the column that key names. Left out, it is the name of the source's state.",
		text, func(t *KeyTable) *string { return &t.Row }).as("orders"),
	bind("value", "The column of the number; for a coprime, of the last key as a number.",
		text, func(t *KeyTable) *string { return &t.Value }).as("serial"),
	bind("stored", "What the number in value is. next: the next one that is free; last: the last one that was used.",
		word[string](fieldWhat("stored"), storedWords), func(t *KeyTable) *string { return &t.Stored }).as("last"),
	bind("version", "The column that counts changes, with lock: optimistic. Left out, the number alone shows a change.",
		text, func(t *KeyTable) *string { return &t.Version }).as("ts"),
}
