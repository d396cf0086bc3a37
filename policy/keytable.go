package policy

import "slices"

// KeyTable is an existing table that holds the states of sources, as other
// programs have made it and still use it. Its names are written as in SQL.
type KeyTable struct {
	Name    string
	Key     string // the column that names the source of a row; "" when the table has one row
	Row     string // what stands in Key; "" stands for the name of the state
	Value   string // the column of the number; of a coprime, of the last key as one
	Stored  string // [StoredNext] or [StoredLast]
	Version string // the column that counts changes, for [LockOptimistic]; "" when there is none
}

var storedWords = []string{StoredNext, StoredLast}

// checkKeyTable checks the table of the source at p.
func (m *mistakes) checkKeyTable(p place, s Source) {
	at, t := p.in("table"), s.Table
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
	m.checkKeyColumns(at, s)
	m.checkKeyRow(at, s)
	if s.EnsureSchema {
		m.wrong(p.in("ensure_schema"), "it makes keyfill's own tables, and this one is yours; leave it out")
	}
	if s.Create != nil {
		m.wrong(p.in("create"), "keyfill makes no row in your table; leave it out, and run the INSERT that the error about a missing row prints")
	}
	if s.Start != 0 && s.Kind != KindCoprime {
		m.wrong(p.in("start"), "the row of your table says where to go on; leave it out")
	}
}

// checkKeyColumns checks the columns of the table at p.
func (m *mistakes) checkKeyColumns(p place, s Source) {
	t := s.Table
	var seen []string
	for _, f := range []struct{ name, value string }{{"key", t.Key}, {"value", t.Value}, {"version", t.Version}} {
		if f.value != "" && slices.Contains(seen, f.value) {
			m.wrong(p.in(f.name), "%s twice; leave one of the two", show(f.value))
		}
		seen = append(seen, f.value)
	}
	if t.Version != "" && s.Lock != LockOptimistic && s.Kind != KindCoprime {
		m.wrong(p.in("version"), "it is compared with lock: optimistic; say that too, or leave it out")
	}
}

// checkKeyRow checks which row of the table at p is the source's.
func (m *mistakes) checkKeyRow(p place, s Source) {
	t := s.Table
	name, _ := parseTemplate(s.Name) // which is checked elsewhere
	several := name.has(wordSchema) || name.has(wordTable) || name.has(wordValue)
	switch {
	case t.Row != "" && t.Key == "":
		m.wrong(p.in("row"), "row stands in the column that key names, and key is missing; say key, or leave row out for a table of one row")
	case t.Row != "" && several:
		m.wrong(p.in("row"), "by its name the source has several states, which cannot share a row; leave it out, and the name is the row's")
	case t.Key == "" && t.Name != "" && several:
		m.wrong(p, "by its name the source has several states, and a table without key has one row; say key")
	}
}

// suitKeyTable checks the names of the table at p in a dialect.
func (n namer) suitKeyTable(m *mistakes, p place, t KeyTable) {
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

// keyRow is a row of a table of the application's.
type keyRow struct {
	store, table, row string
}

// rowOf returns the row of a source whose state is called name; false when that
// is in keyfill's own table.
func (n namer) rowOf(s Source, name string) (keyRow, bool) {
	if s.Table == nil {
		return keyRow{}, false
	}
	parts, _ := n.parse(s.Table.Name) // which was checked
	var texts []string
	for _, part := range parts {
		texts = append(texts, part.text)
	}
	r := keyRow{store: s.Store, table: n.join(texts...)}
	switch {
	case s.Table.Key == "":
	case s.Table.Row != "":
		r.row = s.Table.Row
	default:
		r.row = name
	}
	return r, true
}

// checkRows refuses rows that two states would share: each would begin above
// the keys of its own columns alone.
func (k *compiler) checkRows() {
	states := make(map[keyRow]string)
	for _, u := range k.uses {
		key, s := *u.key(), u.key().Source
		if s.Table == nil {
			continue
		}
		if u.isGlob() && (s.Table.Key == "" || s.Table.Row != "") && key.name == nil {
			k.wrong(u.at.in("source"), "the tables of a glob would share a row; say key and leave row out, or name the source under sources:")
			continue
		}
		if u.isGlob() && key.name == nil {
			continue
		}
		k.policy.nameState(u.entry, &key, k.fullName(u.entry))
		state := key.name.String()
		row, _ := k.names.rowOf(s, state)
		if other, ok := states[row]; ok && other != state {
			k.wrong(u.at.in("source"), "its row in the table is also the row of the state %s; name one source under sources: and let both use it", showState(other))
		}
		states[row] = state
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
